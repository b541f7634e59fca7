package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// TestTenantsAreNamedUpToABound: whoever may invent namespaces makes the status and the metrics no longer.
func TestTenantsAreNamedUpToABound(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cfg := admission.DefaultConfig()
	cfg.Slots.Limits.Total, cfg.Slots.Limits.StuckCap = 1, 0
	c, err := admission.New(cfg, now)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Minute)
	mark := c.Begin(now)
	c.Observe(now, ironic.Observation{Mark: mark, Whole: true})
	for i := range 60 {
		c.IsReady(now, api.Ask{Namespace: fmt.Sprintf("ns-%02d", i), Name: "host", Op: api.OpProvision})
	}
	named, others := map[string]bool{}, 0
	for _, w := range c.Status(now).Turns.Waiting {
		switch {
		case w.Tenant == "(others)":
			others += w.Hosts
		case w.Hosts > 0:
			named[w.Tenant] = true
		}
	}
	// The first of the 60 has the slot.
	if len(named) != 49 || others != 10 {
		t.Errorf("%d tenants are named, %d hosts are of others: want 49 and 10", len(named), others)
	}
}
