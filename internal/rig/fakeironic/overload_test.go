package fakeironic

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func storm(t *testing.T, nodes int, overload Overload) (*World, []string) {
	t.Helper()
	w := newWorld(t, fixed(func(o *Options) { o.Fleet.Nodes = nodes; o.Overload = overload }))
	for _, id := range w.Idents() {
		put(t, w, t0, id, ironic.TargetActive, 202)
	}
	return w, w.Idents()
}

// TestCollapse: above the threshold boots are lost and fail by time-out; below
// it none is.
func TestCollapse(t *testing.T) {
	o := Overload{BootCapacity: 4, CollapseAbove: 6, CollapseChance: 1}
	w, _ := storm(t, 10, o)
	if got := w.Truth(t0.Add(2 * time.Hour)); got.Failed != 4 || got.LostBoots != 4 || got.Finished != 6 || got.Working != 0 {
		t.Errorf("%d failed, %d boots lost, %d finished, %d work; want 4, 4, 6, 0", got.Failed, got.LostBoots, got.Finished, got.Working)
	}
	w, _ = storm(t, 6, o)
	if got := w.Truth(t0.Add(2 * time.Hour)); got.Failed != 0 || got.LostBoots != 0 {
		t.Errorf("%d failed below the threshold, %d boots were lost", got.Failed, got.LostBoots)
	}
}

func TestTruthCountsExactly(t *testing.T) {
	w, _ := storm(t, 3, Overload{})
	w.truth.limit = 2
	work := 8*m + 41*s
	got := w.Truth(t0.Add(time.Hour))
	if got.PeakWorking != 3 || got.OverLimit != work || got.HostTime != 3*work || got.Finished != 3 {
		t.Errorf("%+v, want peak 3, over the limit for %s, host time %s", got, work, 3*work)
	}
	if got.Requests != (Requests{All: 3, Puts: 3}) {
		t.Errorf("requests %+v", got.Requests)
	}
}
