package simulate

import (
	"testing"
	"time"
)

// TestNoWorkBeginsWhileHeld: the deprovision after a failure may end between two
// polls, and the host ask before the throttle has seen that.
func TestNoWorkBeginsWhileHeld(t *testing.T) {
	whole(t)
	t.Parallel()
	for _, via := range vias {
		o := DefaultOptions()
		o.Hosts, o.Limit, o.Failing, o.FailTries, o.Via = 30, 8, 0.5, 3, via
		o.Breakers, o.Holdoff = nil, time.Hour
		s, err := newSim(o)
		if err != nil {
			t.Fatal(err)
		}
		begun, early := 0, 0
		s.began = func(h *host) {
			begun++
			for _, hold := range s.rule.(*throttle).c.Holds(s.clock).Hosts {
				if hold.NodeUUID == h.uuid && hold.Held {
					early++
				}
			}
		}
		if _, err := s.play(t.Context()); err != nil {
			t.Fatal(err)
		}
		if early > 0 {
			t.Errorf("by %s %d of %d works begun were of hosts that are held", via, early, begun)
		}
	}
}
