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

// The leader's pod has a label, which Services select, and a higher deletion cost, so that a rollout deletes it last.
const (
	labelName = "ironic-throttle.metal3.io/role"
	costName  = "controller.kubernetes.io/pod-deletion-cost"
	labelOn   = `{"metadata":{"labels":{"` + labelName + `":"leader"},"annotations":{"` + costName + `":"100"}}}`
	labelOff  = `{"metadata":{"labels":{"` + labelName + `":null},"annotations":{"` + costName + `":null}}}`
)

const (
	labelLook  = time.Second / 4  // the time between two calls of Leading
	labelAgain = 15 * time.Second // the time to the next write: somebody may change the label, or a late request may
	labelRetry = 2 * time.Second  // the same after a failure
	labelLast  = time.Second / 2  // the most time for the request that removes the label at the end
)

// Label keeps the label on our pod while this replica leads, and removes it otherwise. Who may answer yes does not
// depend on it, but on the fence.
type Label struct {
	Client         client.Client // its requests must have a time-out
	Namespace, Pod string
	Leading        func() bool
	// Former returns the identity of the leader before us. That process may be dead or cut off, so Run removes its label.
	Former func() string
	Log    *slog.Logger

	last atomic.Pointer[error] // of the latest write; nil: there was none
}

// Fault says why the label of our pod may be wrong; nil: the last write succeeded.
func (l *Label) Fault() error {
	switch last := l.last.Load(); {
	case last == nil:
		return fmt.Errorf("the label %s of this pod is not written yet", labelName)
	case *last != nil:
		return fmt.Errorf("the label %s of this pod cannot be written: %w", labelName, *last)
	}
	return nil
}

// Run keeps the label right until ctx ends, and then removes it.
func (l *Label) Run(ctx context.Context) {
	look := time.NewTicker(labelLook)
	defer look.Stop()
	is, next := false, time.Time{}
	for ctx.Err() == nil {
		if want, now := l.Leading(), time.Now(); want != is || !now.Before(next) {
			err := l.write(ctx, l.Pod, want)
			former := podOf(l.Former())
			if err == nil && former != "" && former != l.Pod && l.Leading() { // again: the former may lead by now
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
		l.Log.Warn("the label of the leader stays on this pod until the next leader removes it", "pod", l.Pod, "error", err)
	}
}

func (l *Label) write(ctx context.Context, pod string, on bool) error {
	text := labelOff
	if on {
		text = labelOn
	}
	labelled := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: pod}}
	return l.Client.Patch(ctx, labelled, client.RawPatch(types.MergePatchType, []byte(text)))
}

// note keeps the result of a write. It logs the first failure, and the next success.
func (l *Label) note(ctx context.Context, err error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return // Run ended the request
	}
	was := l.last.Swap(&err)
	failed := was != nil && *was != nil
	switch {
	case err != nil && !failed:
		l.Log.Warn("the leader's label is not written, so Services may not find it: trying again", "pod", l.Pod, "error", err)
	case err == nil && failed:
		l.Log.Info("the label of the leader is written again", "pod", l.Pod)
	}
}

// Identity returns the holder that a process of pod writes into the Lease. Each call returns another one.
func Identity(pod string) string { return pod + "_" + strings.ToLower(rand.Text()[:8]) }

// podOf returns the pod in an identity; "": none, as somebody may write anything into a Lease.
func podOf(identity string) string {
	if i := strings.LastIndexByte(identity, '_'); i > 0 && len(validation.IsDNS1123Subdomain(identity[:i])) == 0 {
		return identity[:i]
	}
	return ""
}
