package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// The settings that were changed before a term are those of the term: it shows nothing
// that a Controller made with them does not show.
func TestStartBeginsWithTheSettingsInForce(t *testing.T) {
	quota, err := holdoff.ParseQuota("20%")
	if err != nil {
		t.Fatal(err)
	}
	// Maps are made anew, as whoever gave some may change them later.
	limits := func() slots.Limits {
		return slots.Limits{Total: 4, StuckCap: 1, Groups: map[string]int{"rack1": 2}, VirtualMedia: 3}
	}
	turns := func() admission.Turns {
		return admission.Turns{
			Ahead: 3, Overtake: 5, RedeemAfter: 30 * time.Second, ClaimWindow: 10 * time.Minute, Threshold: 2, Cap: 2, Reserve: 1,
			Weights: map[string]float64{"metal3": 3},
		}
	}
	holds := func() holdoff.Config {
		return holdoff.Config{
			Timeout: 2 * time.Hour, Stage: holdoff.Remediate, Growth: 2, GrowthCap: 8 * time.Hour,
			Hosts: map[string]time.Duration{"metal3/host-30": 5 * time.Hour},
		}
	}
	begin := t0.Add(time.Hour)
	start := func(c *admission.Controller) {
		t.Helper()
		if err := c.Start(begin, nil, true, sizing.State{}); err != nil {
			t.Fatal(err)
		}
	}

	cfg := admission.DefaultConfig()
	changed, err := admission.New(cfg, t0)
	if err != nil {
		t.Fatal(err)
	}
	l, f, h := limits(), turns(), holds()
	if err := changed.Reconfigure(t0, l, f); err != nil {
		t.Fatal(err)
	}
	if err := changed.SetHoldoff(t0, h, quota); err != nil {
		t.Fatal(err)
	}
	l.Groups["rack1"], f.Weights["metal3"], h.Hosts["metal3/host-30"] = 1, 9, time.Minute
	// What is refused changes nothing.
	if err := changed.Reconfigure(t0, slots.Limits{Total: -1}, turns()); err == nil {
		t.Error("a limit of -1 was taken")
	}
	if err := changed.SetHoldoff(t0, holdoff.Config{}, quota); err == nil {
		t.Error("a stage without a name was taken")
	}
	start(changed)

	cfg.Slots.Limits, cfg.Turns, cfg.Holdoff, cfg.MaxFailed = limits(), turns(), holds(), quota
	made, err := admission.New(cfg, t0)
	if err != nil {
		t.Fatal(err)
	}
	start(made)
	if diff := cmp.Diff(playTerm(begin, made), playTerm(begin, changed)); diff != "" {
		t.Errorf("- made with the settings, + changed to them:\n%s", diff)
	}
	start(changed) // and a second time
	start(made)
	if diff := cmp.Diff(playTerm(begin, made), playTerm(begin, changed)); diff != "" {
		t.Errorf("the second time: - made with the settings, + changed to them:\n%s", diff)
	}
}

// playTerm lets hosts fail and others ask, and returns what is shown of it.
func playTerm(begin time.Time, c *admission.Controller) []any {
	now := begin.Add(time.Minute)
	see := func(n ironic.Node) {
		c.ObserveNode(now, ironic.NodeObservation{Key: n.UUID, Mark: c.Begin(now), Found: true, Node: n})
	}
	var nodes []ironic.Node
	for n := range 16 {
		group, tenant := []string{"", "rack1"}[n/2%2], []string{"metal3", "other"}[n%2]
		nodes = append(nodes, ironic.Node{UUID: uuid(30 + n), Name: fmt.Sprintf("%s~host-%d", tenant, 30+n), ConductorGroup: group, State: ironic.Available})
	}
	working := nodes[:2]
	for n := range working {
		working[n].State, working[n].ProvisionUpdatedAt = ironic.Deploying, "1"
	}
	look(c, now, working...)
	now = now.Add(time.Second)
	for n := range working {
		working[n].State, working[n].ProvisionUpdatedAt, working[n].LastError = ironic.DeployFailed, "2", "no"
	}
	for _, n := range nodes {
		see(n)
	}
	look(c, now)
	shown := []any{}
	for n := range nodes {
		ask := by(30+n, api.OpProvision)
		ask.Namespace, ask.ErrorCount = []string{"metal3", "other"}[n%2], n/8
		shown = append(shown, c.IsReady(now, ask))
	}
	s := c.Status(now)
	return append(shown, s.Slots, s.Storm.Pools, c.Queue(now, 100), c.Holds(now))
}
