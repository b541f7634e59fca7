package disruption

import (
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// bounds are budgets that can be read.
func bounds(t *testing.T, text string) budget.List {
	t.Helper()
	l, err := budget.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// released counts the empty hosts that a plan takes.
func released(p api.Plan) int { return len(p.Actions) }

func TestDC19_WhatDoesNotServeCountsAgainstTheBudget(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(l *lab)
		want   int
	}{
		{"all serve", func(*lab) {}, 3},
		{"one is not Ready", func(l *lab) { l.s.Nodes[9].Ready = false }, 2},
		{"one is being deleted", func(l *lab) { l.s.Hosts[9].Machine.Deleting = true }, 2},
		{"both at once count once", func(l *lab) { l.s.Nodes[9].Ready, l.s.Hosts[9].Machine.Deleting = false, true }, 2},
		{"one has no Node yet", func(l *lab) { l.s.Hosts[9].Node = "" }, 2},
		{"four do not serve", func(l *lab) {
			for i := 6; i < 10; i++ {
				l.s.Nodes[i].Ready = false
			}
		}, 0},
		{"one is wanted and missing", func(l *lab) { l.s.Pools[0].Replicas = 11 }, 2},
		{"nine must stay Ready", func(l *lab) { l.c.Budgets = append(l.c.Budgets, budget.Budget{MinReady: "9"}) }, 1},
		{"all of the pool must stay Ready", func(l *lab) { l.s.Pools[0].Policy.Budgets = budget.List{{Nodes: "3"}, {MinReady: "100%"}} }, 0},
		{"a budget that cannot be read", func(l *lab) { l.s.Pools[0].Policy.Budgets = budget.List{{Nodes: "3"}, {Nodes: "some"}} }, 0},
		{"the pool's budget", func(l *lab) { l.s.Pools[0].Policy.Budgets = budget.List{{Nodes: "1"}, {MinReady: "0"}} }, 1},
		{"no budgets: 10%", func(l *lab) { l.c.Budgets = nil }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, 10)
			l.c.Budgets = budget.List{{Nodes: "3"}, {MinReady: "0"}}
			tt.change(l)
			if p := l.plan(); released(p) != tt.want {
				t.Errorf("%d hosts go, want %d: %+v", released(p), tt.want, p.Later)
			}
		})
	}
}

// TestDC19_HostsThatThePoolDoesNotWantCountAsGone: its owner takes as many away by itself, and nobody knows which.
func TestDC19_HostsThatThePoolDoesNotWantCountAsGone(t *testing.T) {
	for name, row := range map[string]struct {
		replicas      int
		budgets, want string
	}{
		"none too many":                    {replicas: 5, budgets: "100,ready:2", want: "Emptiness release h-0; release h-1; release h-2"},
		"two too many count as disrupted":  {replicas: 3, budgets: "3,ready:0", want: "Emptiness release h-0"},
		"and are none of those that stay":  {replicas: 3, budgets: "100,ready:2", want: "Emptiness release h-0"},
		"never more than it wants":         {replicas: 2, budgets: "100,ready:0", want: "Emptiness release h-0; release h-1"},
		"of one that wants none, no other": {replicas: 0, budgets: "100,ready:0", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 5)
			l.s.Pools[0].Replicas, l.c.Budgets = row.replicas, bounds(t, row.budgets)
			l.wants(row.want)
		})
	}
}

// TestDC20_ABudgetOfAReasonCountsAllThatIsTakenBesides: hosts that go for other reasons are out of service too.
func TestDC20_ABudgetOfAReasonCountsAllThatIsTakenBesides(t *testing.T) {
	l := newLab(t, 3)
	l.c.Budgets = budget.List{{Nodes: "1", Reasons: []api.PlanReason{api.PlanEmpty}}, {MinReady: "0"}}
	p := l.planner()
	if err := p.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	taken := p.newLedger(false)
	if why := taken.add(p.hosts[0], api.PlanEmpty); why != "" {
		t.Fatal(why)
	}
	if why := taken.add(p.hosts[1], api.PlanDrifted); !strings.Contains(why, "1 more may be disrupted") {
		t.Errorf("a second one goes: %q", why)
	}
	taken = p.newLedger(false)
	for _, h := range p.hosts[:2] {
		if why := taken.add(h, api.PlanDrifted); why != "" {
			t.Errorf("no budget bounds it: %s", why)
		}
	}
}
