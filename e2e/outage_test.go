//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// ask sends one request and returns status and body; status 0 is no answer.
func ask(t *testing.T, i *realironic.Ironic, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, i.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-OpenStack-Ironic-API-Version", "1.82")
	req.Header.Set("Content-Type", "application/json")
	resp, err := i.Client().Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestIronicOutages holds what a throttle meets when a part of Ironic goes away
// and comes back: the same port, the same nodes.
func TestIronicOutages(t *testing.T) {
	l := newLab(t, realironic.Options{})
	i, client := l.ironic, l.client
	batch := realironic.Batch{Count: 3, Prefix: "metal3~host-", State: "clean wait", AgentURL: true}
	if err := i.AddNodes(t.Context(), batch); err != nil {
		t.Fatal(err)
	}

	put := func(want ...int) {
		t.Helper()
		status, body := ask(t, i, http.MethodPut, "/v1/nodes/metal3~host-000001/states/provision", `{"target":"abort"}`)
		if !slices.Contains(want, status) {
			t.Errorf("PUT: %d, want %d: %s", status, want, body)
		}
	}
	lists := func(cause ironic.Cause, count int) {
		t.Helper()
		nodes, err := client.List(t.Context(), ironic.CleanWait)
		if ironic.CauseOf(err) != cause || len(nodes) != count {
			t.Errorf("list: %d nodes, %v; want %d, cause %q", len(nodes), err, count, cause)
		}
	}
	drivers := func(want bool) {
		t.Helper()
		_, body := ask(t, i, http.MethodGet, "/v1/drivers", "")
		if got := strings.Contains(body, "fake-hardware"); got != want {
			t.Errorf("drivers: %s, want fake-hardware in it: %v", body, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	lists("", 3)
	i.StopConductor() // takes itself off the list
	drivers(false)
	// 503, or 500 while the API has not yet forgotten who had the node.
	put(http.StatusServiceUnavailable, http.StatusInternalServerError)
	lists("", 3)
	must(i.StartConductor(t.Context()))
	drivers(true)

	i.KillConductor() // stays on the list
	drivers(true)
	put(http.StatusInternalServerError)
	lists("", 3)

	i.StopAPI()
	put(0)
	lists(ironic.CauseUnreachable, 0)
	must(i.StartAPI(t.Context()))
	must(i.StartConductor(t.Context()))
	lists("", 3) // wait states outlive the conductor
	put(http.StatusAccepted)

	if err := i.StartAPI(t.Context()); err == nil {
		t.Error("a second API was started")
	}
	if out, err := i.SQL(t.Context(), "SELECT count(*) FROM nodes;"); err != nil || strings.TrimSpace(out) != fmt.Sprint(batch.Count) {
		t.Errorf("nodes in the database: %q, %v", out, err)
	}
}
