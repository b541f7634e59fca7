//go:build e2e

package bmo

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
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

// waiting are n hosts of the queue, or fewer, that have begun nothing in this phase: the
// last ones, as the first are nearly called.
func (s *storm) waiting(n int) (hosts []host) {
	begun, queued := s.begun(), s.queued()
	for _, h := range slices.Backward(s.hosts) {
		if len(hosts) < n && !begun[h.node()] && queued[h.String()] {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// deletedWithin is how soon a host that is gone from the cluster must be gone from the
// queue. The operator keeps a deleted one until it has taken it out of Ironic.
const deletedWithin = time.Minute

// deleteWaiting deletes BareMetalHosts that wait for their turn.
func deleteWaiting(in phase, after float64, n int) fault {
	return fault{in, after, "waiting hosts deleted", func(s *storm) {
		var gone []host
		child.Await(s.T, 500*time.Millisecond, knobs.patience, "hosts that wait", func() bool {
			gone = s.waiting(n)
			return len(gone) == n
		}, func() string { return fmt.Sprintf("%d of %d in the queue", len(gone), n) })
		for _, h := range gone {
			s.leave(h)
			if err := cluster.Hosts(h.namespace).Delete(s.Context(), h.name, metav1.DeleteOptions{}); err != nil {
				s.Fatal(err)
			}
		}
		begin, there := time.Now(), time.Now()
		var left []string
		child.Await(s.T, 500*time.Millisecond, knobs.patience, "deleted hosts gone from the queue", func() bool {
			queued := s.queued()
			shown, _ := s.watch.now()
			left = nil
			for _, h := range gone {
				if _, is := shown[h.String()]; is {
					there = time.Now()
				}
				if queued[h.String()] {
					left = append(left, h.String())
				}
			}
			return len(left) == 0
		}, func() string { return "left: " + fmtList(left) })
		took := time.Since(begin).Round(100 * time.Millisecond)
		s.Logf("%d waiting hosts deleted: gone from the queue after %s; the operator needed %s for them", len(gone), took, there.Sub(begin))
		s.note("deleted hosts left the queue after " + took.String())
		if late := time.Since(there); late > deletedWithin {
			s.Errorf("deleted hosts were in the queue for %s longer than in the cluster, want %s at most", late, deletedWithin)
		}
	}}
}

// slowAPI lets Ironic's API have a part of a core, until the end of the phase.
func slowAPI(in phase, after, cores float64) fault {
	return fault{in, after, "Ironic's API slowed down", func(s *storm) { s.slow(cores) }}
}
