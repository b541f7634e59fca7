//go:build e2e

package bmo

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/child"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// fault befalls a phase once a part of the hosts has begun.
type fault struct {
	in     phase
	after  float64
	name   string
	strike func(*storm)
}

// killThrottle ends the deciding process with kill -9 and starts it again.
func killThrottle(in phase, after float64) fault {
	return fault{in, after, "kill -9 of the throttle", func(s *storm) { s.leader().kill() }}
}

// killConductor lets the conductor crash for a quarter of a minute.
func killConductor(in phase, after float64) fault {
	return fault{in, after, "the conductor killed for 15 s", func(s *storm) {
		s.ironic.KillConductor()
		wait(s.Context(), 15*time.Second)
		if err := s.ironic.StartConductor(s.Context()); err != nil {
			s.Fatal(err)
		}
	}}
}

// hangAPI lets Ironic's API take connections and answer nobody.
func hangAPI(in phase, after float64, d time.Duration) fault {
	return fault{in, after, "Ironic's API stopped for " + d.String(), func(s *storm) {
		s.ironic.HangAPI()
		wait(s.Context(), d)
		s.ironic.ResumeAPI()
	}}
}

// deletedWithin is how soon a deleted host must be gone from the queue.
const deletedWithin = time.Minute

// deleteWaiting deletes BareMetalHosts that wait for their turn.
func deleteWaiting(in phase, after float64, n int) fault {
	return fault{in, after, "waiting hosts deleted", func(s *storm) {
		begun := map[string]bool{}
		for _, c := range s.truth.Changes() {
			if ironic.State(c.State).Busy() {
				begun[c.Name] = true
			}
		}
		queued := s.queued()
		var gone []host
		for _, h := range slices.Backward(s.hosts) { // the first ones are nearly called
			if len(gone) < n && !begun[h.node()] && queued[h.String()] {
				gone = append(gone, h)
			}
		}
		if len(gone) < n {
			s.Errorf("only %d of %d hosts wait: %d are in the queue", len(gone), n, len(queued))
		}
		for _, h := range gone {
			s.leave(h)
			if err := cluster.Hosts(h.namespace).Delete(s.Context(), h.name, metav1.DeleteOptions{}); err != nil {
				s.Fatal(err)
			}
		}
		begin := time.Now()
		var left []string
		child.Await(s.T, 500*time.Millisecond, 5*deletedWithin, "deleted hosts gone from the queue", func() bool {
			queued, left = s.queued(), nil
			for _, h := range gone {
				if queued[h.String()] {
					left = append(left, h.String())
				}
			}
			return len(left) == 0
		}, func() string { return "left: " + fmtList(left) })
		took := time.Since(begin).Round(100 * time.Millisecond)
		s.Logf("%d waiting hosts deleted: gone from the queue after %s", len(gone), took)
		s.note("deleted hosts left the queue after " + took.String())
		if took > deletedWithin {
			s.Errorf("deleted hosts were in the queue for %s, want %s at most", took, deletedWithin)
		}
	}}
}

// slowAPI lets Ironic's API have a part of a core, until the end of the phase.
func slowAPI(in phase, after, cores float64) fault {
	return fault{in, after, "Ironic's API slowed down", func(s *storm) { s.slow(cores) }}
}
