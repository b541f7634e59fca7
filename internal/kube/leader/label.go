package leader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/bound"
)

// What the pod of the leader carries: Services select the label, and a rollout
// ends pods of a lower cost first, so that the lead is handed over once.
const (
	labelName  = "ironic-throttle.metal3.io/role"
	labelValue = "leader"
	costName   = "controller.kubernetes.io/pod-deletion-cost"
	costValue  = "100"
)

const (
	// labelEvery is how often the label is written where nothing has changed: what another
	// one has written, or a request that came late, does not stay.
	labelEvery   = 15 * time.Second
	labelTimeout = 5 * time.Second // of a request
	// linger is for how long a request goes on that takes the label off and that nobody
	// wants any more: given up, it could arrive when the label is on.
	linger     = time.Second / 2
	firstPause = time.Second // after a failure; it doubles up to labelEvery
)

var (
	errUnwritten  = fmt.Errorf("the label %s of this pod is not written yet", labelName)
	errNotLeading = errors.New("this replica does not lead now")
)

// LabelOptions say which pod is ours.
type LabelOptions struct {
	Config         *rest.Config // leads to the API server
	Namespace, Pod string
	// Leading is asked before the label is put on; nil: always.
	Leading func() bool
	Log     *slog.Logger // nil is silent
}

// Label is that of our pod, by which a Service finds the leader. Its methods may be called
// by several goroutines.
type Label struct {
	opts LabelOptions
	api  rest.Interface

	writing sync.Mutex // held during a request: they arrive in the order in which they are made

	mu    sync.Mutex
	fault error // of the latest request about our pod
}

// NewLabel returns a Label of which nothing is written yet.
func NewLabel(o LabelOptions) (*Label, error) {
	config := rest.CopyConfig(o.Config)
	config.Timeout = 0 // each request has a context that ends
	config.QPS, config.RateLimiter = -1, nil
	config.AcceptContentTypes, config.ContentType = "application/json", "application/json"
	config.NextProtos = []string{"http/1.1"} // as in newClient
	bound.Answers(config, maxAnswer)
	client, err := corev1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("label of the leader: %w", err)
	}
	if o.Leading == nil {
		o.Leading = func() bool { return true }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Label{opts: o, api: client.RESTClient(), fault: errUnwritten}, nil
}

// Fault tells why our pod is not known to have the label, or to be without it, as it
// should; nil where it is.
func (l *Label) Fault() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

// KeepIf keeps the label on our pod while on says so, and off it else, until ctx ends. A change of on is followed
// within labelEvery.
func (l *Label) KeepIf(ctx context.Context, on func() bool) {
	l.keep(ctx, func() error { return l.own(ctx, on()) })
}

// KeepOn keeps the label on our pod until ctx ends. former is who led before, as the Lease
// had it: that one may be dead or cut off, or its Off failed, so its label is taken off too.
func (l *Label) KeepOn(ctx context.Context, former string) {
	theirs := podOf(former)
	if theirs == l.opts.Pod {
		theirs = "" // an earlier process of our pod
	}
	l.keep(ctx, func() error {
		if !l.opts.Leading() {
			return errNotLeading // it passes, or ctx ends
		}
		if err := l.own(ctx, true); err != nil || theirs == "" {
			return err
		}
		if err := l.write(ctx, theirs, false); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("of the pod %s, which led before: %w", theirs, err)
		}
		theirs = ""
		return nil
	})
}

// Off takes the label off our pod, if that can be done soon.
func (l *Label) Off() {
	ctx, cancel := context.WithTimeout(context.Background(), linger)
	defer cancel()
	if err := l.own(ctx, false); err != nil && !apierrors.IsNotFound(err) {
		l.opts.Log.Warn("the label of the leader stays on this pod until the next leader takes it off", "pod", l.opts.Pod, "error", err)
	}
}

// keep writes again and again until ctx ends.
func (l *Label) keep(ctx context.Context, write func() error) {
	var told error
	pause := firstPause
	for {
		err := write()
		if ctx.Err() != nil {
			return
		}
		next := labelEvery
		if err != nil {
			next, pause = pause, min(2*pause, labelEvery)
		} else {
			pause = firstPause
		}
		if !errors.Is(err, errNotLeading) && !sameFault(told, err) {
			l.tell(err)
			told = err
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// sameFault reports whether the log need not speak of b after a. The texts of connections
// that broke differ by their ports.
func sameFault(a, b error) bool {
	return (a == nil) == (b == nil) && apierrors.ReasonForError(a) == apierrors.ReasonForError(b)
}

func (l *Label) tell(err error) {
	if err == nil {
		l.opts.Log.Info("the label of the leader is written again", "pod", l.opts.Pod)
		return
	}
	l.opts.Log.Warn("the label of the leader is not written, and Services may not find it: trying again", "label", labelName, "pod", l.opts.Pod, "error", err)
}

// own writes whether our pod has the label.
func (l *Label) own(ctx context.Context, on bool) error {
	err := l.write(ctx, l.opts.Pod, on)
	if err != nil && ctx.Err() != nil {
		return err // it was given up
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault = err; err != nil {
		l.fault = fmt.Errorf("the label %s of this pod cannot be written: %w", labelName, err)
	}
	return err
}

// write writes whether a pod has the label.
func (l *Label) write(ctx context.Context, pod string, on bool) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	meta := map[string]any{"labels": map[string]any{labelName: nil}, "annotations": map[string]any{costName: nil}}
	ctx, cancel := context.WithTimeout(ctx, labelTimeout)
	defer cancel()
	switch {
	case on:
		meta = map[string]any{"labels": map[string]any{labelName: labelValue}, "annotations": map[string]any{costName: costValue}}
	case pod == l.opts.Pod:
		late, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		stop := context.AfterFunc(ctx, func() { time.AfterFunc(linger, cancel) })
		defer stop()
		ctx = late
	}
	body, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return err
	}
	return l.api.Patch(types.MergePatchType).Namespace(l.opts.Namespace).Resource("pods").Name(pod).
		MaxRetries(0).Body(body).Do(ctx).Error()
}

// Holder is the identity of a process of pod: no other one ever has the same.
func Holder(pod, random string) string { return pod + "_" + random }

// podOf is the pod in an identity that Holder made; "" where there is none, as anything may stand in a Lease.
func podOf(identity string) string {
	if i := strings.LastIndexByte(identity, '_'); i > 0 && len(validation.IsDNS1123Subdomain(identity[:i])) == 0 {
		return identity[:i]
	}
	return ""
}
