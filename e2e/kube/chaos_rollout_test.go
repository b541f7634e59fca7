//go:build e2e

package kube

import (
	"slices"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestARolloutOfThreeUnderLoad changes all pods as the Deployment does: a new one more, and when it is ready an old one
// less, the cheapest first. Then all are ready, which is what `kubectl rollout status` waits for. The lead is handed over
// once, and no slot is lost or given twice.
func TestARolloutOfThreeUnderLoad(t *testing.T) {
	t.Parallel()
	const replicas = 3
	s := raiseStorm(t, replicas)
	s.ready(s.seated())
	l := s.leader()
	s.labelFollows()
	turns := s.turns.count()
	old := s.seated()
	for range replicas {
		added := s.newSeat()
		s.running.Go(func() { s.fill(added) })
		s.running.Go(func() { s.probe(added) })
		s.ready([]*seat{added})
		cheapest := slices.MinFunc(old, func(a, b *seat) int { return s.costOf(a.name) - s.costOf(b.name) })
		old = slices.DeleteFunc(old, func(o *seat) bool { return o == cheapest })
		last := len(old) == 0
		if leads := s.turns.whose() == l.name && cheapest == l.seat; leads && !last {
			t.Error("the leader goes before others do")
		}
		if last {
			s.expectAnother(l)
		}
		s.retire(cheapest)
	}
	next := s.another()
	s.ready(s.seated())
	s.labelFollows()
	t.Logf("the next one gives slots after %s; %d hand-overs", next.took.Round(time.Millisecond), s.turns.count()-turns)
	if next.took > handOver || s.turns.count() != turns+1 {
		t.Errorf("%d hand-overs, the last one in %s; want one, in %s at most", s.turns.count()-turns, next.took, handOver)
	}
	s.leader() // all slots are in use again
	s.verdict()
}

// ready waits until those say so to the kubelet.
func (s *storm) ready(seats []*seat) {
	s.Helper()
	for _, seat := range seats {
		awaitFor(s.T, 20*time.Second, "readiness of "+seat.name, func() bool {
			l := seat.present.Load()
			return l != nil && l.ready.Load()
		}, func() string { return "see the logs" })
	}
}

// retire ends a pod as Kubernetes does: it leaves the Service, is told to end, and goes when
// its process has ended.
func (s *storm) retire(gone *seat) {
	s.Helper()
	pods := asAdministrator(s.T).CoreV1().Pods(s.namespace)
	if err := pods.Delete(s.Context(), gone.name, metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
	l := gone.present.Load()
	gone.leaves.Store(true)
	s.mu.Lock()
	s.seats = slices.DeleteFunc(s.seats, func(o *seat) bool { return o == gone })
	s.mu.Unlock()
	l.Signal(syscall.SIGTERM)
	s.endsWithin(l.Process, l.log, 20*time.Second)
	// In the storm Ironic takes longer for some requests than a process has for its end.
	if _, cut := l.log.Line("requests were cut at the end"); l.Err() != nil && !cut {
		s.Errorf("%s ends with %v:\n%s", l.name, l.Err(), l.log.Tail())
	}
	now := int64(0)
	if err := pods.Delete(s.Context(), gone.name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		s.Fatal(err)
	}
}
