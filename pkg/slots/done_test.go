package slots_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// fill lets host n hold a slot and be at work for long.
func (s *stage) fill(n int) {
	s.t.Helper()
	s.wantAsk(by(n, api.OpInspect), granted)
	s.is(n, ironic.Inspecting)
	s.poll()
}

func TestLH16_Done(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Active)
	s.is(2, ironic.Available)
	s.fill(9)
	s.wantAsk(by(1, api.OpProvision), full)
	s.wantAsk(by(2, api.OpDeprovision), full)
	if keys := s.poll(); !slices.Equal(keys, []string{uuid(1), uuid(2)}) {
		t.Errorf("fetched %v", keys)
	}
	s.wantAsk(by(1, api.OpProvision), done)
	s.wantAsk(by(2, api.OpDeprovision), done)
	s.wantAsk(by(1, api.OpDeprovision), full)
	s.after(15 * time.Minute)
	s.wantAsk(by(1, api.OpProvision), done)
	s.after(time.Nanosecond)
	if got := s.ask(by(1, api.OpProvision)); got == done {
		t.Error("an observation of more than 15 minutes ago proves nothing")
	}
	// A PUT is work whatever the state says: rebuild on active.
	put := by(1, api.OpProvision)
	put.Put = true
	s.poll()
	s.wantAsk(put, full)
}

// An Ironic that was away may have come back with what it had in a backup: hosts that were
// seen active are not, and would start all at once.
func TestLH16_NothingIsDoneByWhatIronicSaidBeforeItWasAway(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Active)
	s.is(2, ironic.Active)
	s.fill(9)
	s.wantAsk(by(1, api.OpProvision), full)
	s.wantAsk(by(2, api.OpProvision), full)
	s.poll()
	s.wantAsk(by(1, api.OpProvision), done)
	s.l.PollFailed(s.now)
	s.is(1, ironic.Available) // by the backup
	s.wantAsk(by(1, api.OpProvision), full)
	s.wantAsk(by(2, api.OpProvision), full)
	s.polls(time.Minute)
	s.wantAsk(by(1, api.OpProvision), full)
	s.wantAsk(by(2, api.OpProvision), full)
	s.poll()
	s.wantAsk(by(1, api.OpProvision), full)
	s.wantAsk(by(2, api.OpProvision), done)
}

func TestLH16_WantsNothing(t *testing.T) {
	s := newStage(t, 1)
	s.fill(9)
	s.wantAsk(by(1, api.OpNone), done)
	deleting := by(2, api.OpInspect)
	deleting.Deleting = true
	s.wantAsk(deleting, done)
	for _, state := range []api.BMHState{"", api.BMHProvisioning, api.BMHProvisioned, api.BMHDeprovisioning} {
		deleting.BMHState = state
		s.wantAsk(deleting, full)
	}
	// A busy node is never done.
	s.is(3, ironic.Deploying)
	s.poll()
	s.wantAsk(by(3, api.OpNone), held)

	// It ends an idle lease, but only once the last yes is used up.
	s = newStage(t, 1)
	s.is(1, ironic.Manageable)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.wantAsk(by(1, api.OpNone), held)
	s.poll()
	s.wantAsk(by(1, api.OpNone), held)
	s.after(time.Minute)
	s.wantAsk(by(1, api.OpNone), held) // asks to be fetched
	s.poll()
	s.wantAsk(by(1, api.OpNone), done)
	s.wantOccupied(0)
}

func TestLH16_NotForALeaseOfOtherWork(t *testing.T) {
	// Active is where this host starts from: it may leave it and come back between two polls.
	s := newStage(t, 1)
	s.is(1, ironic.Active)
	s.wantAsk(by(1, api.OpDeprovision), granted)
	s.after(time.Minute)
	s.poll()
	s.l.ObserveNode(s.now, s.fetch(uuid(1), s.l.Begin(s.now)))
	s.wantAsk(by(1, api.OpProvision), held)
	s.wantOccupied(1)

	// Available was observed between two phases, and the next began unobserved.
	s = newStage(t, 1)
	s.wantAsk(by(1, api.OpProvision), granted)
	s.is(1, ironic.Cleaning)
	s.poll()
	s.is(1, ironic.Available)
	s.wantAsk(by(1, api.OpProvision), held)
	s.poll()
	s.is(1, ironic.Active)
	s.wantAsk(by(1, api.OpDeprovision), held)
	s.wantOccupied(1)
}

func TestLH16_ByNameNoGoalIsKnown(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Active)
	s.fill(9)
	s.wantAsk(by(1, api.OpProvision), full)
	s.poll()
	ask := by(1, api.OpProvision)
	s.wantAsk(ask, done)
	ask.ID.UUID = ""
	s.wantAsk(ask, full)
}

func TestLH16_Inspection(t *testing.T) {
	s := newStage(t, 2)
	s.fill(9)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.is(1, ironic.InspectWait)
	s.poll()
	s.is(1, ironic.Manageable)
	s.poll()
	s.wantOccupied(1)
	s.wantAsk(by(8, api.OpInspect), granted)
	s.wantAsk(by(1, api.OpInspect), done)
	other := by(1, api.OpInspect)
	other.BMHState = api.BMHRegistering
	s.wantAsk(other, full)
	// A host that has gone on and comes back wants a new inspection.
	s.wantAsk(by(1, api.OpProvision), full)
	s.wantAsk(by(1, api.OpInspect), full)
	// One that we never saw inspected is not done.
	s.is(2, ironic.Manageable)
	s.wantAsk(by(2, api.OpInspect), full)
	s.poll()
	s.wantAsk(by(2, api.OpInspect), full)
}

func TestLH16_TheFetchList(t *testing.T) {
	s := newStage(t, 1)
	s.fill(99)
	for i := range 50 {
		s.is(i, ironic.Available)
		s.wantAsk(by(i, api.OpProvision), full)
		s.wantAsk(by(i, api.OpProvision), full)
	}
	seen := map[string]int{}
	for _, want := range []int{20, 20, 10, 0} {
		keys := s.poll()
		for _, k := range keys {
			seen[k]++
		}
		if len(keys) != want {
			t.Errorf("%d fetches, want %d", len(keys), want)
		}
	}
	if len(seen) != 50 {
		t.Errorf("%d hosts fetched, want 50", len(seen))
	}
	s.wantAsk(by(0, api.OpProvision), full)
	if keys := s.poll(); len(keys) != 0 {
		t.Errorf("fetched again within LIST_MAX_AGE: %v", keys)
	}
	s.after(time.Minute)
	s.poll() // the view is fresh again
	s.wantAsk(by(0, api.OpProvision), full)
	if keys := s.poll(); !slices.Equal(keys, []string{uuid(0)}) {
		t.Errorf("fetched %v after LIST_MAX_AGE", keys)
	}
	// Inspections have no goal that could be reached unseen.
	s.wantAsk(by(60, api.OpInspect), full)
	if keys := s.poll(); len(keys) != 0 {
		t.Errorf("fetched %v", keys)
	}
}

func TestLH16_AFetchThatFailsIsQueuedBehindTheOthers(t *testing.T) {
	s := newStage(t, 1)
	s.fill(99)
	for i := range 25 {
		s.wantAsk(by(i, api.OpProvision), full)
	}
	first := s.l.Wanted(s.now) // none of these is answered
	second := s.l.Wanted(s.now)
	if len(first) != 20 || len(second) != 20 || second[0] != uuid(20) {
		t.Errorf("first %v, then %v", first, second)
	}
}

// A host that wants nothing ends its unused lease. It may have used it since the observation that
// the answer rests on: that observation shows nothing of what it asks for next (seed 812749: 2
// worked at a limit of 1).
func TestLH16_ALeaseGivenBackMayHaveBeenUsed(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Available)
	s.wantAsk(by(1, api.OpProvision), granted)
	s.polls(2 * time.Minute)
	s.is(1, ironic.DeployFailed) // it acted late, and failed between two polls
	s.wantAsk(by(1, api.OpNone), done)
	s.wantOccupied(0)
	s.wantAsk(by(2, api.OpProvision), granted)
	s.wantAsk(by(1, api.OpDeprovision), full)
}
