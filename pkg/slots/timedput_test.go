package slots_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// TestSZ1_WorkOfAPutIsTimed: the answer to a PUT begins a work before any poll shows it.
func TestSZ1_WorkOfAPutIsTimed(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Available)
	put := s.put(1, ironic.TargetActive, true)
	s.l.Answered(s.now, put, 202)
	began := s.now
	s.is(1, ironic.DeployWait)
	s.polls(5 * time.Minute)
	s.is(1, ironic.Active)
	s.poll()
	took := map[slots.Part]time.Duration{}
	for _, timing := range s.l.Timings() {
		if !timing.Began.IsZero() {
			took[timing.Part] = timing.Took
		}
		if timing.Part == slots.PartWork && !timing.Began.Equal(began) {
			t.Errorf("the work began at %s, want the answer to its PUT, %s", timing.Began, began)
		}
	}
	want := map[slots.Part]time.Duration{
		slots.PartWork: s.now.Sub(began), slots.PartState: took[slots.PartBoot], slots.PartBoot: took[slots.PartBoot],
	}
	if diff := cmp.Diff(want, took); diff != "" || took[slots.PartBoot] < 4*time.Minute {
		t.Errorf("%v, want a boot of some 5 minutes: %s", took, diff)
	}
}
