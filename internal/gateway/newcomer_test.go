package gateway_test

import (
	"net/http"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// unseen makes the next fetch of a node miss it: it gets its name a moment later.
func (s *stage) unseen() {
	s.Helper()
	s.fault(fakeironic.Fault{Trouble: fakeironic.Status, Code: 404, Requests: "node", Count: 1})
}

// A node that Ironic has only just got waits like any other, for a moment.
func TestGW17_ANodeThatIsNewInThatMomentIsAskedForAgain(t *testing.T) {
	play(t, options{limit: 1, nodes: 1}, func(s *stage) {
		s.letIn()
		s.unseen()
		s.put(0, ironic.TargetActive).refused(api.ReasonStarting)
		s.occupied(0)
		if puts, _ := s.wire.sent(); puts != 0 || s.state(0) != ironic.Available {
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

// GW-17: what Ironic does not have gets Ironic's own 404, and takes nothing.
func TestGW17_ANodeThatIsNotThereTakesNothing(t *testing.T) {
	play(t, options{limit: 1, nodes: 1}, func(s *stage) {
		for range 2 {
			got := s.do(putRequest("nobody", ironic.TargetActive)).want(http.StatusNotFound)
			if got.Header().Get(reasonHeader) != "" {
				t.Errorf("ours: %s", got.Body)
			}
			s.occupied(0)
		}
		if puts, _ := s.wire.sent(); puts != 0 {
			t.Errorf("%d PUTs reached Ironic: a node could get that name meanwhile", puts)
		}
		// One that was there and is deleted.
		s.put(0, "nothing").want(http.StatusBadRequest)
		s.do(newRequest(http.MethodDelete, "/v1/nodes/"+s.uuids[0], "")).want(http.StatusNoContent)
		s.put(0, ironic.TargetActive).want(http.StatusNotFound)
		s.occupied(0)
	})
}

// In mode observe it is sent all the same: the polls will see its work.
func TestGW14_ANodeThatIsNewInThatMomentPasses(t *testing.T) {
	play(t, watching(options{limit: 1, nodes: 1}), func(s *stage) {
		s.unseen()
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
		if got := s.gate.Stats(); got.Gated != 1 || got.Refused != 0 {
			t.Errorf("%+v", got)
		}
	})
}
