package lead

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The leader's pod has the label, which Services select, and a higher deletion cost: a rollout ends it last.
const (
	labelName = "ironic-throttle.metal3.io/role"
	costName  = "controller.kubernetes.io/pod-deletion-cost"
	labelOn   = `{"metadata":{"labels":{"` + labelName + `":"leader"},"annotations":{"` + costName + `":"100"}}}`
	labelOff  = `{"metadata":{"labels":{"` + labelName + `":null},"annotations":{"` + costName + `":null}}}`
)

const (
	labelLook  = time.Second / 4  // how often Leading is asked
	labelAgain = 15 * time.Second // it is written again: somebody else may have changed it, or a request came late
	labelRetry = 2 * time.Second  // after a failure
	labelLast  = time.Second / 2  // for the request that takes the label off at the end
)

// Label keeps the label on our pod while it leads, and off it else. It decides nothing, the fence does.
type Label struct {
	Client         client.Client // whose requests have a time-out
	Namespace, Pod string
	Leading        func() bool
	// Former is the identity of who led before us. That process may be dead or cut off, so its label is taken off too.
	Former func() string
	Log    *slog.Logger

	last atomic.Pointer[error] // of the latest write; nil: there was none
}

// Fault tells why our pod is not known to have the label, or to be without it, as it should; nil where it is.
func (l *Label) Fault() error {
	switch last := l.last.Load(); {
	case last == nil:
		return fmt.Errorf("the label %s of this pod is not written yet", labelName)
	case *last != nil:
		return fmt.Errorf("the label %s of this pod cannot be written: %w", labelName, *last)
	}
	return nil
}

// Run keeps the label until ctx ends, and takes it off then.
func (l *Label) Run(ctx context.Context) {
	look := time.NewTicker(labelLook)
	defer look.Stop()
	is, next := false, time.Time{}
	for ctx.Err() == nil {
		if want, now := l.Leading(), time.Now(); want != is || !now.Before(next) {
			err := l.write(ctx, l.Pod, want)
			former := podOf(l.Former())
			if err == nil && former != "" && former != l.Pod && l.Leading() { // asked again: that one may lead by now
				err = client.IgnoreNotFound(l.write(ctx, former, false))
			}
			if is, next = want, now.Add(labelAgain); err != nil {
				next = now.Add(labelRetry)
			}
			l.note(ctx, err)
		}
		select {
		case <-ctx.Done():
		case <-look.C:
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), labelLast)
	defer cancel()
	if err := l.write(last, l.Pod, false); err != nil && !apierrors.IsNotFound(err) {
		l.Log.Warn("the label of the leader stays on this pod until the next leader takes it off", "pod", l.Pod, "error", err)
	}
}

func (l *Label) write(ctx context.Context, pod string, on bool) error {
	text := labelOff
	if on {
		text = labelOn
	}
	of := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: pod}}
	return l.Client.Patch(ctx, of, client.RawPatch(types.MergePatchType, []byte(text)))
}

// note logs a fault once, and its end.
func (l *Label) note(ctx context.Context, err error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return // we gave it up
	}
	was := l.last.Swap(&err)
	failed := was != nil && *was != nil
	switch {
	case err != nil && !failed:
		l.Log.Warn("the label of the leader is not written, and Services may not find it: trying again",
			"pod", l.Pod, "error", err)
	case err == nil && failed:
		l.Log.Info("the label of the leader is written again", "pod", l.Pod)
	}
}

// Identity is what a process of pod writes as the holder, each time another one.
func Identity(pod string) string { return pod + "_" + strings.ToLower(rand.Text()[:8]) }

// podOf is the pod in an identity, "" = none: anything may stand in a Lease.
func podOf(identity string) string {
	if i := strings.LastIndexByte(identity, '_'); i > 0 && len(validation.IsDNS1123Subdomain(identity[:i])) == 0 {
		return identity[:i]
	}
	return ""
}
