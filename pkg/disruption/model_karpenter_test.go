package disruption_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// The facts in this file and its sister are Karpenter's: of its page "Disruption" (karpenter.sh/docs/concepts/disruption) and of the
// names of its tests in pkg/controllers/disruption at 22664681. What has no meaning on bare metal is left
// out: instance types, zones and prices of a cloud, expiration, interruption.

// emptyHosts has n empty hosts of one pool and no other limits.
func emptyHosts(n int, budgets ...budget.Budget) *lab {
	l := newLab(n)
	l.c.Budgets = append(budget.List{{MinReady: "0"}}, budgets...)
	return l
}

func wantHosts(t *testing.T, p api.Plan, n int) {
	t.Helper()
	if got := released(p); len(got) != n {
		t.Errorf("method %q acts on %d hosts %q, want %d", p.Method, len(got), got, n)
	}
}

func wantNames(t *testing.T, p api.Plan, names ...string) {
	t.Helper()
	for i := range names {
		names[i] = "metal3/" + names[i]
	}
	if got := released(p); !slices.Equal(got, names) {
		t.Errorf("method %q acts on %q, want %q", p.Method, got, names)
	}
}

// TestKarpenter_Budgets has the page's example with three budgets, and those beside it.
func TestKarpenter_Budgets(t *testing.T) {
	example := budget.List{
		{Nodes: "20%", Reasons: []api.PlanReason{api.PlanEmpty, api.PlanDrifted}},
		{Nodes: "5"},
		{Nodes: "0", Schedule: "@daily", Duration: "10m", Reasons: []api.PlanReason{api.PlanUnderutilized}}, {MinReady: "0"}}
	always := func(nodes string, reasons ...api.PlanReason) budget.Budget {
		return budget.Budget{Nodes: nodes, Schedule: "* * * * *", Duration: "1h", Reasons: reasons}
	}
	for _, tt := range []struct {
		name    string
		hosts   int
		budgets budget.List
		want    int
	}{
		{"page: 19 nodes, 20% rounded up from 3.8", 19, example, 4},
		{"page: a ceiling of 5 for more than 25 nodes", 30, example, 5},
		{"page: 25 nodes are not above the ceiling", 25, example, 5},
		{"page: the default is 10%", 20, disruption.Default().Budgets, 2},
		{"page: 0 switches disruption off", 10, budget.List{{Nodes: "0"}, {MinReady: "0"}}, 0},
		{"emptiness_test: all empty nodes", 10, budget.List{{Nodes: "100%"}, {MinReady: "0"}}, 10},
		{"emptiness_test: no empty nodes", 10, budget.List{{Nodes: "0%"}, {MinReady: "0"}}, 0},
		{"emptiness_test: only 3 empty nodes", 10, budget.List{{Nodes: "30%"}, {MinReady: "0"}}, 3},
		{"nodepool_budgets_test: the minimum for each reason", 10, budget.List{always("10"), always("5", api.PlanDrifted), always("4", api.PlanEmpty), {MinReady: "0"}}, 4},
		{"nodepool_budgets_test: a budget of all reasons counts for each", 10, budget.List{always("5", api.PlanEmpty), {Nodes: "0"}, {MinReady: "0"}}, 0},
		{"nodepool_budgets_test: no active budget is no bound", 10, budget.List{{Nodes: "1", Schedule: "@yearly", Duration: "1h"}, {MinReady: "0"}}, 10},
		{"nodepool_budgets_test: an invalid schedule allows none", 10, budget.List{{Nodes: "5", Schedule: "@wrongly", Duration: "1h"}, {MinReady: "0"}}, 0},
		{"nodepool_budgets_test: a range that goes backwards allows none", 10, budget.List{
			{Nodes: "5", Schedule: "0 0 * * tue-mon", Duration: "6h"}, {MinReady: "0"}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := emptyHosts(tt.hosts, tt.budgets...)
			wantHosts(t, l.plan(t), tt.want)
		})
	}
}

// TestKarpenter_DisruptionCount is suite_test's BuildDisruptionBudgetMapping: ten nodes.
func TestKarpenter_DisruptionCount(t *testing.T) {
	for _, tt := range []struct {
		name, nodes string
		change      func(l *lab)
		want        int
	}{
		{"nodes of none of our pools do not count", "100%", func(l *lab) {
			l.s.Nodes = append(l.s.Nodes, disruption.Node{Name: "other", Ready: true, FirstReady: noon.Add(-time.Hour)})
		}, 10},
		{"nodes that were never ready do not count", "100%", func(l *lab) {
			_, n := l.host()
			n.Ready, n.FirstReady = false, time.Time{}
			l.s.Pools[0].Replicas++
		}, 10},
		{"two that are deleted", "100%", func(l *lab) {
			l.s.Hosts[0].Machine.Deleting, l.s.Hosts[1].Machine.Marked = true, true
		}, 8},
		{"no negative value", "10%", func(l *lab) {
			for i := range l.s.Hosts[:9] {
				l.s.Hosts[i].Machine.Deleting = true
			}
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := emptyHosts(10, budget.Budget{Nodes: tt.nodes})
			tt.change(l)
			wantHosts(t, l.plan(t), tt.want)
		})
	}
	t.Run("two that are not ready", func(t *testing.T) {
		l := emptyHosts(10, budget.Budget{Nodes: "50%"})
		l.s.Nodes[0].Ready, l.s.Nodes[1].Ready = false, false
		wantHosts(t, l.plan(t), 3) // roundup(10 x 50 %) - 2
	})
	t.Run("each pool has its own", func(t *testing.T) {
		l := emptyHosts(9, budget.Budget{Nodes: "2"})
		for i := range 3 {
			p := l.s.Pools[0]
			p.Name, p.Replicas = fmt.Sprintf("q-%d", i), 3
			l.s.Pools = append(l.s.Pools, p)
			for k := range 3 {
				l.s.Hosts[3*i+k].Machine.Pool = p.Key
			}
		}
		wantHosts(t, l.plan(t), 6) // 2 nodes from each NodePool
	})
}

// TestKarpenter_Schedules has times of the page's third budget and of nodepool_budgets_test.
func TestKarpenter_Schedules(t *testing.T) {
	day := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) // a Sunday
	for _, tt := range []struct {
		name, schedule string
		duration       time.Duration
		now            time.Time
		closed         bool
	}{
		{"page: at midnight", "@daily", 10 * time.Minute, day, true},
		{"page: in the first 10 minutes of the day", "@daily", 10 * time.Minute, day.Add(10*time.Minute - 1), true},
		{"page: after them", "@daily", 10 * time.Minute, day.Add(10 * time.Minute), false},
		{"before midnight", "@daily", 10 * time.Minute, day.Add(-1), false},
		{"UTC, whatever the zone of now", "@daily", 30 * time.Minute, day.Add(15 * time.Minute).In(time.FixedZone("", -5*3600)), true},
		{"midnight elsewhere is none", "@daily", 30 * time.Minute, time.Date(2026, 11, 22, 0, 0, 0, 0, time.FixedZone("", -5*3600)), false},
		{"the hit is in the middle of the duration", "@yearly", 24 * time.Hour, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), true},
		{"the duration is longer than the recurrence", "@daily", 48 * time.Hour, day.Add(13 * time.Hour), true},
		{"the hit is after the duration", "30 6 * * SUN", 6 * time.Hour, day.Add(13 * time.Hour), false},
		{"names of days", "30 6 * * SUN", 6 * time.Hour, day.Add(12*time.Hour + 29*time.Minute), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := pair()
			l.shift(tt.now)
			l.c.Budgets = budget.List{{
				Nodes: "0", Schedule: tt.schedule, Duration: tt.duration.String(), Reasons: []api.PlanReason{api.PlanUnderutilized},
			}, {MinReady: "0"}}
			p := l.plan(t)
			wantHosts(t, p, map[bool]int{true: 0, false: 1}[tt.closed])
			l.s.Pods = nil
			if p = l.plan(t); p.Method != api.MethodEmptiness {
				t.Errorf("a budget for Underutilized holds back %q", p.Method)
			}
		})
	}
}

// shift moves a lab to another time.
func (l *lab) shift(now time.Time) {
	l.now, l.s.TakenAt = now, now
	for i := range l.s.Nodes {
		l.s.Nodes[i].FirstReady = now.Add(-24 * time.Hour)
	}
	for i := range l.s.Hosts {
		l.s.Hosts[i].Created = now.Add(-48 * time.Hour)
	}
}

// TestKarpenter_EvictionCost is suite_test's Pod Eviction Cost, by its order: what is dearer to evict makes an
// action cost more.
func TestKarpenter_EvictionCost(t *testing.T) {
	cost := func(change func(p *disruption.Pod)) float64 {
		l := pair()
		change(&l.s.Pods[0])
		p := l.plan(t)
		if len(p.Actions) != 1 || !strings.HasSuffix(released(p)[0], "h-0") {
			t.Fatalf("the plan is %+v", p)
		}
		return p.Actions[0].DisruptionCost
	}
	deletion := func(n int32) float64 { return cost(func(p *disruption.Pod) { p.DeletionCost = &n }) }
	priority := func(n int32) float64 { return cost(func(p *disruption.Pod) { p.Priority = n }) }
	for name, rising := range map[string][]float64{
		"deletion cost": {deletion(-100_000_000), cost(func(*disruption.Pod) {}), deletion(100_000_000)},
		"101 > 100 > 99": {
			deletion(99_000_000), deletion(100_000_000), deletion(101_000_000),
		},
		"priority": {priority(-100_000_000), cost(func(*disruption.Pod) {}), priority(100_000_000)},
	} {
		if rising[0] >= rising[1] || rising[1] >= rising[2] {
			t.Errorf("%s: costs are %v, want them to rise", name, rising)
		}
	}
}
