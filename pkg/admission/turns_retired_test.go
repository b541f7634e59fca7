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

// A host that waited for a slot of a conductor group queues anew when that loses its limit. Until it asks
// again planned work was let pass it (found by the histories of internal/rig/soak).
func TestDC24_PlannedWorkYieldsToHostsOfARemovedPool(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Slots.Limits = slots.Limits{Total: 4, Groups: map[string]int{"rack1": 1}}
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	c, err := New(cfg, now)
	if err != nil {
		t.Fatal(err)
	}
	id := func(i int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", i) }
	ask := func(i int, planned bool) api.Reason {
		return c.IsReady(now, api.Ask{Namespace: "a", Name: fmt.Sprint("h", i), NodeUUID: id(i), Op: api.OpProvision, Planned: planned}).Reason
	}
	now = now.Add(2 * time.Minute)
	c.Observe(now, ironic.Observation{Mark: c.Begin(now)})
	for i, group := range []string{"rack1", "rack1", "other"} {
		c.ObserveNode(now, ironic.NodeObservation{Key: id(i), Mark: c.Begin(now), Found: true,
			Node: ironic.Node{UUID: id(i), ConductorGroup: group, State: ironic.Available}})
	}
	for _, step := range []struct {
		host    int
		planned bool
		want    api.Reason
	}{{0, false, api.ReasonGranted}, {1, false, api.ReasonFull}, {2, true, api.ReasonGranted}} {
		if step.host == 2 {
			if err := c.Reconfigure(now, slots.Limits{Total: 4}, DefaultTurns()); err != nil {
				t.Fatal(err)
			}
			if got := ask(2, true); got != api.ReasonPlannedYields {
				t.Errorf("planned work is told %s while a host of the group has not asked again", got)
			}
			if got := ask(1, false); got != api.ReasonGranted {
				t.Errorf("that host is told %s", got)
			}
		}
		if got := ask(step.host, step.planned); got != step.want {
			t.Errorf("host %d is told %s, want %s", step.host, got, step.want)
		}
	}
	if len(c.queues.uprooted) != 0 {
		t.Errorf("%d are kept", len(c.queues.uprooted))
	}
}

// A host that never asks again, as its node was made anew under its name, say, kept its place for ever where
// nobody but planned work asked, which it kept from starting (found by the histories of internal/rig/soak).
func TestDC24_PlannedWorkOutwaitsAHostThatIsGone(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Slots.Limits = slots.Limits{Total: 3}
	begun := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	now := begun
	c, err := New(cfg, now)
	if err != nil {
		t.Fatal(err)
	}
	observed := func() { c.Observe(now, ironic.Observation{Mark: c.Begin(now)}) }
	ask := func(i int, planned bool) api.Reason {
		id := fmt.Sprintf("00000000-0000-0000-0000-%012d", i)
		return c.IsReady(now, api.Ask{Namespace: "a", Name: fmt.Sprint("h", i), NodeUUID: id, Op: api.OpInspect, Planned: planned}).Reason
	}
	observed()
	if got := ask(1, false); got != api.ReasonStarting {
		t.Fatalf("the host is told %s", got)
	}
	for range 3 * 60 { // minutes
		now = now.Add(time.Minute)
		observed()
		got := ask(2, true)
		switch waits := now.Sub(begun) < time.Hour; {
		case got == api.ReasonGranted && waits:
			t.Fatalf("granted after %v, and the host may come back", now.Sub(begun))
		case got == api.ReasonGranted:
			return
		}
	}
	t.Error("planned work waits for a host that has not asked for three hours")
}
