//go:build e2e

package e2e

import (
	"testing"
	"time"
)

// TestCapacityOf5000 holds on a real Ironic with 5,000 nodes that the gateway's own
// answer to the capacity list is Ironic's to the byte, page after page, that after the
// first list no page reaches Ironic, and what a storm of delayed hosts costs Ironic.
func TestCapacityOf5000(t *testing.T) {
	i := serveFleet(t, idleNodes, busyNodes)
	host := hostOf(i.URL)
	var list time.Duration // what Ironic takes for all pages
	t.Run("same", func(t *testing.T) {
		g := benchedGateway(t, i.URL, quickStart...)
		awaitSettled(t, g)
		m := timeCapacity(t, newCapacityClient(t, i.URL, host), newCapacityClient(t, "http://"+g.host, host), 7)
		list = time.Duration(m.direct * float64(time.Millisecond))
		t.Logf("all pages: Ironic %.0f ms, gateway %.2f ms, %.0f times; the first page: %.0f ms, %.2f ms, %.0f times; with nothing cached %.0f ms",
			m.direct, m.through, m.direct/m.through, m.directPage, m.throughPage, m.directPage/m.throughPage, m.cold)
		g.logMemory(t, "5,000 nodes")
	})
	t.Run("storm", func(t *testing.T) { testCapacityStorm(t, i, list) })
}
