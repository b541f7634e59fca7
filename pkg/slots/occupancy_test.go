package slots_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// TestOccupancyTellsForHowLongANodeHasBeenInItsState, which is not for how long it has had its slot.
func TestOccupancyTellsForHowLongANodeHasBeenInItsState(t *testing.T) {
	s := newStage(t, 1)
	wants := func(slot, state time.Duration) {
		t.Helper()
		o := s.l.Occupancy(s.now).Occupants[0]
		if o.SinceSeconds != slot.Seconds() || o.StateSeconds != state.Seconds() {
			t.Errorf("%s for %v s, in its slot for %v s; want %v and %v", o.State, o.StateSeconds, o.SinceSeconds, state, slot)
		}
	}
	s.is(1, ironic.DeployWait, true)
	s.poll()
	s.after(5 * time.Second)
	s.poll()
	wants(5*time.Second, 5*time.Second)
	s.is(1, ironic.Deploying, true)
	s.after(5 * time.Second)
	s.poll()
	s.after(3 * time.Second)
	wants(13*time.Second, 3*time.Second)
	s.is(1, ironic.Active)
	s.poll()
	wants(13*time.Second, 0) // it lingers
}
