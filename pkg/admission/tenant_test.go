package admission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// consumed are the BareMetalHosts of one namespace, with the namespaces of their consumers.
type consumed map[string]string

func (c consumed) Host(namespace, name, _ string) (admission.Host, bool) {
	tenant, ok := c[name]
	return admission.Host{Namespace: namespace, Name: name, UID: name, Tenant: tenant}, ok
}

// settled is a decision past its start, with one slot.
func settled(t *testing.T, hosts admission.Hosts) (c *admission.Controller, now time.Time) {
	t.Helper()
	cfg := admission.DefaultConfig()
	cfg.Slots.Total, cfg.Slots.StuckCap, cfg.Hosts = 1, 1, hosts
	cfg.Slots.MaxStale = time.Hour
	start := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	c, err := admission.New(cfg, start)
	if err != nil {
		t.Fatal(err)
	}
	now = start.Add(10 * time.Minute)
	c.Observe(now, ironic.Observation{Mark: c.Begin(now), Whole: true})
	return c, now
}

// TestTheConsumerOfAHostIsItsTenant: hosts that stand in one namespace and are claimed in others are hosts of these.
func TestTheConsumerOfAHostIsItsTenant(t *testing.T) {
	c, now := settled(t, consumed{"a1": "blue", "a2": "blue", "a3": "blue", "b1": "red", "m1": ""})
	ask := func(name string) api.Answer {
		return c.IsReady(now, api.Ask{Namespace: "metal3", Name: name, Op: api.OpProvision})
	}
	if a := ask("a1"); a.Reason != api.ReasonGranted {
		t.Fatalf("a1: %+v", a)
	}
	for i, name := range []string{"a2", "a3", "b1", "m1"} {
		now = now.Add(time.Second)
		if a := ask(name); a.Ready || a.Position == 0 {
			t.Errorf("host %d, %s: %+v", i, name, a)
		}
	}
	q := c.QueueOf(now, api.QueueQuery{Limit: 10})
	var tenants []string
	for _, of := range q.Pools[0].Tenants {
		tenants = append(tenants, fmt.Sprintf("%s %d+%d", of.Tenant, of.Holding, of.Waiting))
	}
	slices.Sort(tenants)
	if want := []string{"blue 1+2", "metal3 0+1", "red 0+1"}; !slices.Equal(tenants, want) {
		t.Errorf("tenants with slots and waiting hosts: %q, want %q", tenants, want)
	}
	for _, h := range q.Pools[0].Hosts {
		if last := strings.HasPrefix(h.Name, "metal3~a"); last != (h.Position > 2) {
			t.Errorf("%s of %s is number %d: blue has a slot already", h.Name, h.Tenant, h.Position)
		}
	}
}

// TestNobodyIsToldTheHostsOfAnotherNamespace: whoever may edit a host writes the namespace of its consumer.
func TestNobodyIsToldTheHostsOfAnotherNamespace(t *testing.T) {
	c, now := settled(t, consumed{"spy": "victim"})
	for _, name := range []string{"secret-1", "secret-2"} {
		c.IsReady(now, api.Ask{Namespace: "victim", Name: name, Op: api.OpProvision})
	}
	now = now.Add(time.Second)
	a := c.IsReady(now, api.Ask{Namespace: "metal3", Name: "spy", Op: api.OpProvision, Planned: true})
	if a.Ready || strings.Contains(a.Message, "secret") || !strings.Contains(a.Message, "1 host does") {
		t.Errorf("%+v", a)
	}
}
