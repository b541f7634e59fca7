package gateway_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestRefusalsUseTheCacheAndAYesOneFetch(t *testing.T) {
	play(t, options{limit: 1, nodes: 2}, func(s *stage) {
		s.letIn()
		fetches := func() int { return s.ironic.Truth().Requests.Nodes }
		before := fetches()
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
		if n := fetches() - before; n != 1 {
			t.Errorf("a yes for an unknown node took %d fetches, want 1", n)
		}
		before = fetches()
		for range 10 {
			s.put(1, ironic.TargetActive).refused(api.ReasonFull)
			<-time.After(3 * time.Second)
		}
		if n := fetches() - before; n != 1 {
			t.Errorf("ten refusals in half a minute took %d fetches, want 1", n)
		}
		s.pass(time.Second)
		before = fetches()
		s.put(0, ironic.TargetDeleted) // known, holds its slot
		if n := fetches() - before; n != 1 {
			t.Errorf("a yes for a known node took %d fetches, want 1", n)
		}
	})
}

// unseen makes the next fetch of a node miss it: it gets its name a moment later.
func (s *stage) unseen() {
	s.Helper()
	s.fault(fakeironic.Fault{Trouble: fakeironic.Status, Code: 404, Requests: "node", Count: 1})
}

// A node that Ironic has only just got waits like any other, for a moment.
func TestANodeThatIsNewInThatMomentIsAskedForAgain(t *testing.T) {
	play(t, options{limit: 1, nodes: 1}, func(s *stage) {
		s.letIn()
		s.unseen()
		s.put(0, ironic.TargetActive).refused(api.ReasonStarting)
		s.occupied(0)
		if puts := s.asked(http.MethodPut); puts != 0 || s.state(0) != ironic.Available {
			t.Errorf("%d PUTs, the node is %s", puts, s.state(0))
		}
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
		s.occupied(1)
	})
}

// watching is a limit of which nothing is refused.
func watching(o options) options {
	o.edit = func(c *admission.Config) { c.Mode = admission.Observe }
	return o
}

// What Ironic does not have gets Ironic's own 404, and takes nothing.
func TestANodeThatIsNotThereTakesNothing(t *testing.T) {
	play(t, options{limit: 1, nodes: 1}, func(s *stage) {
		for range 2 {
			got := s.do(putRequest("nobody", ironic.TargetActive)).want(http.StatusNotFound)
			if got.Header().Get(reasonHeader) != "" {
				t.Errorf("ours: %s", got.Body)
			}
			s.occupied(0)
		}
		if puts := s.asked(http.MethodPut); puts != 0 {
			t.Errorf("%d PUTs reached Ironic: a node could get that name meanwhile", puts)
		}
		// One that was there and is deleted.
		s.put(0, "nothing").want(http.StatusBadRequest)
		s.do(newRequest(http.MethodDelete, "/v1/nodes/"+s.uuids[0], "")).want(http.StatusNoContent)
		s.put(0, ironic.TargetActive).want(http.StatusNotFound)
		s.occupied(0)
	})
}
