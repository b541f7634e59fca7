//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
)

// TestSameAnswers holds that whoever asks through the gateway gets the status,
// the headers and the bytes that Ironic itself would give, and that links lead back
// to where he came from.
func TestSameAnswers(t *testing.T) {
	t.Parallel()
	l := newLab(t, realironic.Options{Settings: map[string]map[string]string{"DEFAULT": {"hash_ring_reset_interval": "1"}}})
	g := serveGateway(t, l.ironic, append(soon, roomForAll)...).settled()
	s := newSameness(l, g)
	s.run("Create", createSteps)
	s.run("Nodes", nodeSteps)
	s.run("Work", workSteps)
	s.run("Lists", listSteps)
	s.run("Protocol", protocolSteps)
	if n := g.requests("obscure"); n != 0 {
		t.Errorf("%d requests were obscure to the gateway, want none", n)
	}
	s.Run("Odd", s.odd)

	dead := []step{
		do("PUT"+one+"/states/power", sending(`{"target":"power on"}`)), provision(one, "manage", ""), provision(one, "active", ""), do("GET" + one + "/validate"),
		do("GET /v1/drivers"), do("GET /v1/conductors"), do("GET /v1/nodes?resource_class=r@&fields=uuid"), do("DELETE" + one), do("POST /v1/nodes", sending(`{"driver":"fake-hardware"}`)),
	}
	l.ironic.StopConductor()
	s.validates(http.StatusServiceUnavailable)
	s.run("ConductorStopped", dead)
	s.conductor()
	l.ironic.KillConductor()
	s.validates(http.StatusInternalServerError)
	s.run("ConductorKilled", dead)
	s.conductor()
	s.run("End", endSteps)
	s.Run("Pages", s.pages)
	g.shows(nobody)
	g.stop()
}

// conductor starts one and waits until the API knows of it.
func (s *sameness) conductor() {
	s.Helper()
	if err := s.ironic.StartConductor(s.Context()); err != nil {
		s.Fatal(err)
	}
	s.validates(http.StatusOK)
}

// validates waits until Ironic answers so to a request that needs its conductor:
// the API takes a moment to see that one is gone, or there again.
func (s *sameness) validates(want int) {
	s.Helper()
	status, answer := 0, ""
	poll(s.T, fmt.Sprintf("%d", want), func() bool {
		status, answer = ask(s.T, s.ironic, http.MethodGet, "/v1/nodes/"+s.direct.fill(node1)+"/validate", "")
		return status == want
	}, func() string { return fmt.Sprint(status, " ", answer) })
}
