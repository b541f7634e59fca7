package slots_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// pair is an ask with the UUID of one node and the name of another.
func pair(of, name int) slots.Ask {
	ask := by(of, api.OpInspect)
	ask.ID.Name = by(name, api.OpInspect).ID.Name
	return ask
}

func byName(n int) slots.Ask {
	ask := by(n, api.OpInspect)
	ask.ID.UUID = ""
	return ask
}

// An ask with b's name and a's UUID is a's; b's name stays b's, asked by name alone too.
func TestLH25_AWrongPairPoisonsNoName(t *testing.T) {
	for name, shown := range map[string][]int{"both were shown": {1, 2}, "b was shown": {2}, "a was shown": {1}, "b has asked": nil} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, 1)
			for _, n := range []int{1, 2} {
				s.is(n, ironic.Manageable)
			}
			for _, n := range shown {
				s.wantAsk(by(n, api.OpNone), done)
				s.observes(n, ironic.Manageable)
			}
			if shown == nil {
				v := s.l.Check(s.now, by(2, api.OpInspect))
				s.l.Record(s.now, &v)
			}
			s.wantAsk(pair(1, 2), granted)
			s.wantAsk(byName(2), full)
			s.wantAsk(by(2, api.OpInspect), full)
			s.wantAsk(pair(1, 2), held)
			s.polls(10 * time.Second)
			s.wantAsk(byName(2), full)
			s.wantAsk(by(1, api.OpInspect), held)
			s.wantAsk(byName(1), held)
			s.wantOccupied(1)
		})
	}
}

// The lease of b, known by name alone, is not a's because an ask says so.
func TestLH25_AWrongPairTakesNoLease(t *testing.T) {
	s := newStage(t, 2)
	s.is(1, ironic.Manageable)
	s.wantAsk(by(1, api.OpNone), done)
	s.observes(1, ironic.Manageable)
	s.wantAsk(byName(2), granted)
	s.wantAsk(pair(1, 2), granted)
	s.wantOccupied(2)
	s.is(2, ironic.Inspecting)
	s.polls(10 * time.Second)
	s.wantOccupied(2)
}

// What Ironic names anew has that name, whoever asked by it.
func TestLH25_IronicRenames(t *testing.T) {
	s := newStage(t, 2)
	for n := range 3 {
		s.is(n, ironic.Manageable)
		s.wantAsk(by(n, api.OpNone), done)
		s.observes(n, ironic.Manageable)
	}
	s.wantAsk(by(1, api.OpInspect), granted)
	s.nodes[uuid(1)].Name, s.nodes[uuid(2)].Name = s.nodes[uuid(2)].Name, s.nodes[uuid(1)].Name
	s.wantAsk(pair(1, 2), held) // before any observation
	s.wantAsk(pair(2, 1), granted)
	s.wantOccupied(2)
	s.observes(1, ironic.Manageable)
	s.observes(2, ironic.Manageable)
	s.wantAsk(byName(1), held)
	s.wantAsk(byName(2), held)
	s.wantOccupied(2)
	s.is(1, ironic.Inspecting)
	s.polls(time.Minute)
	s.is(1, ironic.InspectFailed)
	s.polls(time.Minute)
	s.wantAsk(byName(1), held) // node 2
	s.wantOccupied(1)
}

// A node made anew under a name that Ironic has shown for another is called so, though
// the name alone means the old one until Ironic says otherwise.
func TestLH25_ANodeMadeAnewHasItsName(t *testing.T) {
	s := newStage(t, 2)
	s.is(1, ironic.Manageable)
	s.wantAsk(by(1, api.OpNone), done)
	s.observes(1, ironic.Manageable)
	s.gone(1)
	s.wantAsk(pair(2, 1), granted)
	if got := s.ref(2).ID().Name; got != by(1, "").ID.Name {
		t.Errorf("it is called %q", got)
	}
	s.is(2, ironic.Manageable).Name = by(1, "").ID.Name
	s.polls(5 * time.Second)
	s.wantAsk(byName(1), held)
	s.wantOccupied(1)
}

// A node with a name that BMO has not given is called what the ask says: its namespace is
// the tenant. The name of another node is not taken that way.
func TestLH25_AForeignNameGivesWay(t *testing.T) {
	s := newStage(t, 2)
	s.is(1, ironic.Manageable).Name = "rack3-u12"
	s.is(2, ironic.Manageable)
	for n := range 3 {
		s.wantAsk(by(n, api.OpNone), done)
	}
	s.observes(1, ironic.Manageable)
	s.observes(2, ironic.Manageable)
	s.wantAsk(by(1, api.OpInspect), granted)
	if got := s.ref(1).ID().Name; got != "metal3~host-1" {
		t.Errorf("it is called %q", got)
	}
	s.wantAsk(byName(1), held)
	s.wantAsk(pair(1, 2), held)
	s.wantAsk(byName(2), granted)
}
