package admission

import (
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Whoever waits is not forgotten, but nobody waits in a pool that is no more.
func TestLH35_HostsOfARemovedPoolAreForgotten(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Slots.Limits = slots.Limits{Total: 4, Groups: map[string]int{"rack1": 1}}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c, err := New(cfg, now)
	if err != nil {
		t.Fatal(err)
	}
	observed := func() {
		now = now.Add(time.Minute)
		c.Observe(now, ironic.Observation{Mark: c.Begin(now)})
	}
	id := func(i int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", i) }
	observed()
	for i := range 5 {
		c.ObserveNode(now, ironic.NodeObservation{Key: id(i), Mark: c.Begin(now), Found: true,
			Node: ironic.Node{UUID: id(i), ConductorGroup: "rack1", State: ironic.Available}})
		c.IsReady(now, api.Ask{Namespace: "a", Name: fmt.Sprint("h", i), NodeUUID: id(i), Op: api.OpInspect})
	}
	known := func() (n int) {
		for i := 1; i < 5; i++ { // 0 got the slot
			if c.ledger.Name(id(i)) != "" {
				n++
			}
		}
		return n
	}
	for range 2 * 64 {
		observed()
	}
	if n := known(); n != 4 {
		t.Fatalf("%d known while nobody asks, want all 4", n)
	}
	if err := c.Reconfigure(now, slots.Limits{Total: 4}, DefaultTurns()); err != nil {
		t.Fatal(err)
	}
	for range 64 {
		observed()
	}
	if n := known(); n != 0 {
		t.Errorf("%d still known", n)
	}
}
