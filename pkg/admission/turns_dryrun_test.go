package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// wantSame checks that a dry run says what the ask says then, and changes nothing.
func (s *fair) wantSame(ask api.Ask, reason api.Reason) api.Answer {
	s.t.Helper()
	dry := ask
	dry.DryRun = true
	before := s.c.Queue(s.now, 1000)
	d := s.want(dry, reason)
	if diff := cmp.Diff(before, s.c.Queue(s.now, 1000)); diff != "" {
		s.t.Errorf("the dry run changed the queue: %s", diff)
	}
	a := s.want(ask, reason)
	if d.Position != a.Position {
		s.t.Errorf("the dry run says place %d, the ask %d", d.Position, a.Position)
	}
	return a
}

// Calls that are not due keep no slot: whoever asks first takes it.
func TestDryRunTakesAFreeSlotBeforeTheCalled(t *testing.T) {
	s := newFair(t, 4)
	for i := range 4 {
		s.want(of("x", i), api.ReasonGranted)
	}
	for i := range 3 {
		s.want(of("a", 10+i), api.ReasonFull)
	}
	s.works(0, ironic.Inspecting, ironic.Manageable)
	s.wantSame(of("b", 20), api.ReasonGranted)
}

func TestDryRunKnowsThePlaceBetweenTheTenants(t *testing.T) {
	s := newFair(t, 4)
	for i := range 4 {
		s.want(of("x", i), api.ReasonGranted)
	}
	for i := range 50 {
		s.want(of("big", 100+i), api.ReasonFull)
	}
	if a := s.wantSame(of("small", 20), api.ReasonFull); a.Position > 10 {
		t.Errorf("place %d, want one of the next", a.Position)
	}
	s.wantSame(of("small", 21), api.ReasonFull)
	s.wantSame(of("big", 200), api.ReasonFull)
	s.wantSame(of("big", 201, 1), api.ReasonFull) // one that failed once lets one more go first
	s.wantSame(of("big", 203), api.ReasonFull)
	s.wantSame(of("big", 202, 5), api.ReasonFull)
	s.wantSame(of("small", 20), api.ReasonFull)
}

func TestDryRunKnowsTheCapAndOwnFailures(t *testing.T) {
	s := newFair(t, 4, ahead(0)) // cap 1, reserve 1
	for range 2 {
		s.want(of("a", 1), api.ReasonGranted)
		s.works(1, ironic.Deploying, ironic.DeployFailed)
	}
	for i := range 2 {
		s.want(of("x", 10+i), api.ReasonGranted)
	}
	s.wantSame(of("a", 9, 5), api.ReasonGranted) // 1 < 4-1-2 failing ones: none yet
	s.wantSame(of("a", 1), api.ReasonFailingCap) // healthy by its own word only
	s.wantSame(deletes(of("a", 2, 9)), api.ReasonGranted)
}

func TestDryRunOfAHostOfUnknownPool(t *testing.T) {
	s := newFair(t, 1, rack(1))
	s.wantSame(of("a", 1), api.ReasonStarting)
	s.know(1, "rack1")
	s.wantSame(of("a", 1), api.ReasonGranted)
	s.know(2, "")
	s.wantSame(of("a", 2), api.ReasonFull)
}
