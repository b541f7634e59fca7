package admission

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Each test here fails with a mutant that the others let live (make mutants).

// A pool takes what fits of the total's settings: a cap that is too large is cut, what then does not fit together
// is worked out anew.
func TestTurnsWithinAPool(t *testing.T) {
	turns := DefaultTurns()
	turns.Cap, turns.Reserve = 5, 0
	if cfg := turns.within(3); cfg.Cap != 3 || cfg.Reserve != 0 || cfg.Limit != 3 {
		t.Errorf("%+v", cfg)
	}
	if cfg := turns.within(8); cfg.Cap != 5 {
		t.Errorf("%+v", cfg)
	}
	turns.Reserve = 3
	if cfg := turns.within(4); cfg.Cap != fairshare.Auto || cfg.Reserve != fairshare.Auto || cfg.Validate() != nil {
		t.Errorf("%+v", cfg)
	}
}

// SZ-7: what was learned before the restart counts from the first moment, for the pools that it was learned of.
func TestSZ7_WhatWasLearnedCountsAtOnce(t *testing.T) {
	now := time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)
	cfg := Config{Adaptive: true}
	cfg.Slots.Limits = slots.Limits{Total: 60, Groups: map[string]int{"rack": 50}}
	cfg.Learned = sizing.State{Pools: map[string]sizing.Record{"": {Limit: 33}, "other": {Limit: 7}}}
	z := newSizer(now, cfg)
	if total, rack := z.by[slots.Pool{}].Limit(), z.by[slots.Pool{Group: "rack"}].Limit(); total != 33 || rack != 20 {
		t.Errorf("limits %d and %d", total, rack)
	}
}

// The ends of work are counted by work, result and whose it was; trips from 0 on, for each kind of scope.
func TestEndsOfWorkAreListed(t *testing.T) {
	c := newPolicyCounts()
	for _, kind := range api.ScopeKinds() {
		if n, counted := c.opened[kind]; !counted || n != 0 {
			t.Errorf("%s: %d, %v", kind, n, counted)
		}
	}
	for _, e := range []slots.Ending{
		{Result: slots.Succeeded, Work: ironic.WorkDeploy, Ours: true}, {Result: slots.Failed, Work: ironic.WorkDeploy, Ours: true},
		{Result: slots.Succeeded, Work: ironic.WorkClean}, {Result: slots.Succeeded, Work: ironic.WorkClean},
	} {
		c.ended(e)
	}
	want := []api.OutcomeCount{
		{Result: slots.Succeeded.String(), Work: string(ironic.WorkClean), Whose: "foreign", Count: 2},
		{Result: slots.Failed.String(), Work: string(ironic.WorkDeploy), Whose: "ours", Count: 1},
		{Result: slots.Succeeded.String(), Work: string(ironic.WorkDeploy), Whose: "ours", Count: 1},
	}
	if diff := cmp.Diff(want, c.outcomes()); diff != "" {
		t.Error(diff)
	}
}

// What a host is told compares its tenant with the one that holds most, wherever that one stands.
func TestTheLargestTenantIsNamed(t *testing.T) {
	own, small := fairshare.TenantView{Name: "own", Weight: 1, Waiting: 4, Called: 1}, fairshare.TenantView{Name: "small", Weight: 1, Holding: 1}
	large := fairshare.TenantView{Name: "large", Weight: 2, Holding: 7}
	for _, all := range [][]fairshare.TenantView{{own, small, large}, {large, own, small}, {small, large, own}} {
		text, lighter := shareOf(all, "own")
		if want := "Its namespace own has weight 1, 0 slots and 5 waiting; namespace large has weight 2, 7 slots and 0 waiting."; text != want || !lighter {
			t.Errorf("%s, %v", text, lighter)
		}
	}
	if text, _ := shareOf([]fairshare.TenantView{own}, "own"); text != "" {
		t.Error(text)
	}
}

// Of tenants the one with the longest queue comes first; the others keep their order.
func TestTenantsByTheLengthOfTheirQueues(t *testing.T) {
	q := show("", 0, fairshare.View{Tenants: []fairshare.TenantView{
		{Name: "a", Waiting: 1}, {Name: "b", Waiting: 2, Called: 3}, {Name: "c", Called: 1}, {Name: "d", Waiting: 4},
	}})
	var names string
	for _, tenant := range q.Tenants {
		names += tenant.Tenant
	}
	if names != "bdac" {
		t.Error(names)
	}
}

func TestFailuresInARow(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "", 2: " 2 times in a row", 9: " 9 times in a row"} {
		if got := inARow(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

// Who has not asked for two minutes may have no BMO any more, and who has asked a moment later has one.
func TestWhenToLookForBMO(t *testing.T) {
	for silence, want := range map[time.Duration]int{comesBack - 1: 0, comesBack: 1, time.Hour: 1} {
		if steps := (&storyteller{silence: silence}).queueSteps(); len(steps) != want {
			t.Errorf("after %v: %v", silence, steps)
		}
	}
}
