package admission_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// The goal is at most 150 MiB resident with 100,000 hosts that wait and 100,000 nodes
// (docs/dev/benchmarks.md). A collector that runs when half as much again has been allocated needs
// 1.5 times what lives, and lists and buffers want their part too: a host that waits
// may take 700 bytes, everything counted. What it takes is bounded more tightly, so
// that nobody adds much unseen.
func TestRSS150MiB_AWaitingHostIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and one goroutine")
	}
	const hosts = 20_000
	for _, row := range []struct {
		name  string
		edit  func(i int, ask *api.Ask)
		bound int64
	}{
		{"as BMO asks", func(int, *api.Ask) {}, 740},
		{"with uid and specHash", func(i int, ask *api.Ask) {
			ask.UID, ask.SpecHash = fmt.Sprintf("%036d", i), fmt.Sprintf("%064d", i)
		}, 870},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, now := settled(t, 20)
			before := liveHeap()
			for range 2 { // nobody is new any more
				for i := range hosts {
					ask := api.Ask{
						NodeUUID: fmt.Sprintf("%08d-0000-4000-8000-000000000000", i), Namespace: "metal3", Name: fmt.Sprint("host-", i),
						Op: api.OpProvision, BMHState: api.BMHProvisioning,
					}
					row.edit(i, &ask)
					c.IsReady(now, ask)
				}
				now = now.Add(time.Minute)
			}
			listed(c, now, hosts)
			each := (liveHeap() - before) / hosts
			runtime.KeepAlive(c)
			t.Logf("%d bytes for each host that waits", each)
			if each > row.bound {
				t.Errorf("%d bytes for each host that waits, want at most %d", each, row.bound)
			}
			if each < 100 {
				t.Errorf("%d bytes for each host that waits: this measures nothing", each)
			}
		})
	}
}

// listed shows all nodes to c, as a list of everything does.
func listed(c *admission.Controller, now time.Time, hosts int) {
	look := ironic.Observation{Mark: c.Begin(now)}
	for i := range hosts {
		look.Nodes = append(look.Nodes, ironic.Node{
			UUID: fmt.Sprintf("%08d-0000-4000-8000-000000000000", i), Name: fmt.Sprint("metal3~host-", i), State: ironic.Available,
			ProvisionUpdatedAt: now.Format(time.RFC3339), ConductorGroup: "rack1",
		})
	}
	c.Observe(now, look)
}

// liveHeap is what the collector leaves.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what the first one finalized or swept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
