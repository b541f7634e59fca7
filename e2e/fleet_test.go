//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// serveFleet starts a real Ironic with idle nodes, of which one changed in each five
// minutes of the past, and some that work, as many in each busy state, of which one
// changed in each of the last minutes.
func serveFleet(tb testing.TB, idle, busy int) *realironic.Ironic {
	tb.Helper()
	i := startIronic(tb, realironic.Options{})
	batches := []realironic.Batch{{Count: idle, Prefix: "metal3~idle-", State: string(ironic.Available)}}
	states := ironic.BusyStates()
	for k, state := range states {
		if n := busy / len(states); n > 0 {
			batches = append(batches, realironic.Batch{
				Count: n, Prefix: fmt.Sprintf("metal3~busy-%d-", k), State: string(state), AgentURL: true,
			})
		}
	}
	if err := i.AddNodes(tb.Context(), batches...); err != nil {
		tb.Fatal(err)
	}
	const minutes = "CASE WHEN provision_state = 'available' THEN 5 * id ELSE (SELECT max(id) FROM nodes) - id END"
	sql(tb, i, "UPDATE nodes SET provision_updated_at = "+i.Ago(minutes)+";")
	return i
}

func sql(tb testing.TB, i *realironic.Ironic, statements string) string {
	tb.Helper()
	out, err := i.SQL(tb.Context(), statements)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}
