package disruption_test

import (
	"fmt"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// The facts in this file are Karpenter's: of its page "Disruption" (karpenter.sh/docs/concepts/disruption) and of the names of
// its tests in pkg/controllers/disruption at 22664681. What has no meaning on bare metal is left out: instance types, zones
// and prices of a cloud, expiration, interruption.

// pair has two hosts: 0 of 4 CPUs with a pod of 1 that fits on 1, and 1 of 8 with one of 5 that fits nowhere else.
func pair() *lab {
	l := used("1", "5")
	l.s.Nodes[0].Allocatable["cpu"] = "4"
	return l
}

func TestKarpenter_Consolidation(t *testing.T) {
	const goes, stays = "SingleNodeConsolidation release h-0", ""
	plans(t, pair, []planRow{
		{"page: pods run on free capacity of other nodes", func(*lab) {}, goes},
		{"page: WhenEmpty leaves what is used", func(l *lab) { l.c.Budgets = append(l.c.Budgets, neverConsolidated) }, stays},
		{"page: consolidateAfter counts from the last pod", func(l *lab) { l.s.Nodes[0].LastPodEvent = l.now.Add(-29 * time.Second) }, stays},
		{"page: a pdb prevents pod evictions", func(l *lab) { l.budget("a", 0) }, stays},
		{"page: do-not-disrupt on a pod", func(l *lab) { l.s.Pods[0].DoNotDisrupt = true }, stays},
		{"page: do-not-disrupt on a node", func(l *lab) { l.s.Hosts[0].DoNotDisrupt = true }, stays},
		{"PDB policy AlwaysAllow and a pod that is not ready", func(l *lab) {
			l.s.Pods[0].Ready = false
			l.budget("a", 0).UnhealthyPodEvictionPolicy = policyv1.AlwaysAllow
		}, goes},
		{"multiple PDBs on the same pod", func(l *lab) { l.budget("a", 1); l.budget("a", 1).Name = "second" }, stays},
		{"non-Karpenter capacity can fit pods", func(l *lab) { l.s.Hosts, l.s.Pools[0].Replicas = l.s.Hosts[:1], 1 }, goes},
		{"a permanently pending pod does not hold it up", func(l *lab) { l.pod("huge", 0, "100").Node = "" }, goes},
		{"no pods on an uninitialized node", func(l *lab) { l.s.Nodes[1].Ready, l.s.Nodes[1].FirstReady = false, time.Time{} }, stays},
		{"no pods on a node within its consolidateAfter", func(l *lab) { l.s.Nodes[1].LastPodEvent = l.now.Add(-time.Second) }, stays},
		{"pods on a node with consolidateAfter Never", func(l *lab) {
			l.pool("p-1", 1).Policy.ConsolidateAfter = new(disruption.Never)
			l.s.Nodes[1].LastPodEvent = l.now
		}, goes},
		{"no violation of pod anti-affinity", func(l *lab) { l.s.Pods[0].AntiAffinity = apart("b", hostname) }, stays},
		{"no candidate of a pool that does not exist", func(l *lab) { l.s.Hosts[0].Machine.Pool.Name = "gone" }, stays},
		{"no candidate with just a Node", func(l *lab) { l.s.Hosts = l.s.Hosts[1:] }, stays},
		{"not Consolidatable", func(l *lab) { l.s.Hosts[0].Machine.Consolidatable = new(false) }, stays},
	})
}

// TestKarpenter_Preference: the page prefers nodes with fewer pods and with pods of lower priority, and consolidation_test
// the best ratio of saving to disruption.
func TestKarpenter_Preference(t *testing.T) {
	plans(t, func() *lab { l := used("1", "1", "5"); l.c.Budgets = bounds("1,ready:0"); return l }, []planRow{
		{"fewer pods", func(l *lab) { l.pod("a2", 0, "1") }, "SingleNodeConsolidation release h-1"},
		{"lower priority", func(l *lab) { l.s.Pods[0].Priority = 500_000_000 }, "SingleNodeConsolidation release h-1"},
		{"lower deletion cost", func(l *lab) { l.s.Pods[0].DeletionCost = new(int32(100_000_000)) }, "SingleNodeConsolidation release h-1"},
		{"more saved", func(l *lab) { l.s.Hosts[1].Price = watts(800) }, "SingleNodeConsolidation release h-1"},
		{"ties by name", func(*lab) {}, "SingleNodeConsolidation release h-0"},
	})
}

func TestKarpenter_Emptiness(t *testing.T) {
	const both = "Emptiness release h-0; release h-1"
	plans(t, func() *lab { l := newLab(3); l.pod("b", 2, "8"); return l }, []planRow{
		{"page: entirely empty nodes go in parallel", func(*lab) {}, both},
		{"do-not-disrupt", func(l *lab) { l.s.Hosts[0].DoNotDisrupt = true }, "Emptiness release h-1"},
		{"not consolidatable", func(l *lab) { l.s.Hosts[0].Machine.Consolidatable = new(false) }, "Emptiness release h-1"},
		{"nodes that have pods", func(l *lab) { l.pod("c", 0, "8").DoNotDisrupt = true }, "Emptiness release h-1"},
		{"a DaemonSet pod leaves it empty", func(l *lab) { l.pod("c", 0, "8").DaemonSet = true }, both},
		{"a terminating StatefulSet pod does not", func(l *lab) { p := l.pod("c", 0, "8"); ending(p); stateful(p) }, "Emptiness release h-1"},
		{"page: terminal pods leave it empty, whatever they say", func(l *lab) { p := l.pod("c", 0, "8"); finished(p); p.DoNotDisrupt = true }, both},
		{"page: empty is consolidatable under WhenEmpty too", func(l *lab) { l.c.Budgets = append(l.c.Budgets, neverConsolidated) }, both},
		{"the node TTL", func(l *lab) { l.s.Nodes[1].LastPodEvent = l.now.Add(-time.Second) }, "Emptiness release h-0"},
	})
}

// TestKarpenter_Replacement: the page's "a single lower price replacement".
func TestKarpenter_Replacement(t *testing.T) {
	const goes, stays = "SingleNodeConsolidation replace h-0>s-1", ""
	plans(t, func() *lab { return used("6") }, []planRow{
		{"page: a lower priced node", func(l *lab) { l.spare(100) }, goes},
		{"page: can't replace with a lower-priced node", func(l *lab) { l.spare(400) }, stays},
		{"no merge into one of the same type", func(l *lab) { l.spare(400).Class, l.s.Hosts[0].Class = "a", "a" }, stays},
		{"PDB", func(l *lab) { l.spare(100); l.budget("a", 0) }, stays},
		{"do-not-disrupt on a pod", func(l *lab) { l.spare(100); l.s.Pods[0].DoNotDisrupt = true }, stays},
		{"it must have room", func(l *lab) { l.spare(100).Capacity["cpu"] = "4" }, stays},
		{"can merge 3 nodes into 1", func(l *lab) {
			*l = *used("5", "5", "5")
			l.spare(500).Capacity["cpu"] = "16"
		}, "MultiNodeConsolidation replace h-0,h-1,h-2>s-3"},
		{"pods that need two new nodes stay", func(l *lab) {
			l.s.Pods[0].Requests["cpu"] = "4"
			l.pod("b", 0, "4")
			l.spare(100).Capacity["cpu"], l.spare(100).Capacity["cpu"] = "5", "5"
		}, stays},
	})
}

func TestKarpenter_Drift(t *testing.T) {
	const static, stays = "StaticDrift reprovision h-0", ""
	hash := func(of string) func(l *lab) { return func(l *lab) { l.s.Hosts[0].Machine.TemplateHash = of } }
	types := func(has string) func(l *lab) {
		return func(l *lab) {
			for i := range l.s.Hosts {
				l.s.Hosts[i].Labels = map[string]string{"type": "huge"}
			}
			l.s.Hosts[0].Labels["type"] = has
			l.s.Pools[0].HostSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "type", Operator: metav1.LabelSelectorOpIn, Values: []string{"large", "huge"}}}}
		}
	}
	two := func(cpu string) func(l *lab) {
		return func(l *lab) {
			l.pod("c", 2, cpu)
			l.s.Hosts[0].Machine.TemplateHash, l.s.Hosts[2].Machine.TemplateHash = "v1-b", "v1-b"
			l.s.Hosts[0].DriftedSince, l.s.Hosts[2].DriftedSince = l.now.Add(-time.Hour), l.now.Add(-2*time.Hour)
		}
	}
	plans(t, func() *lab { l := used("1", "6"); l.host(); l.c.ConsolidateAfter = disruption.Never; return l }, []planRow{
		{"page: the hash differs", hash("v1-b"), static},
		{"another version of the hash", hash("v2-b"), stays},
		{"page: requirements that the value still meets", types("large"), stays},
		{"requirements that it does not meet any more", types("small"), "Drift reprovision h-0"},
		{"page: a new image", func(l *lab) {
			l.s.Hosts[0].Desired, l.s.Hosts[0].Applied = map[string]string{"image.url": "xyz"}, map[string]string{"image.url": "abc"}
		}, static},
		{"do-not-disrupt", func(l *lab) { hash("v1-b")(l); l.s.Hosts[0].DoNotDisrupt = true }, stays},
		{"do-not-disrupt on a pod", func(l *lab) { hash("v1-b")(l); l.s.Pods[0].DoNotDisrupt = true }, stays},
		{"a blocking PDB", func(l *lab) { hash("v1-b")(l); l.budget("a", 0) }, stays},
		{"drift goes before consolidation, with consolidation on", func(l *lab) {
			hash("v1-b")(l)
			l.c.ConsolidateAfter = disruption.Span(time.Second)
			l.pod("c", 2, "8")
		}, static},
		{"one at a time, the earliest drift first", two("1"), "StaticDrift reprovision h-2"},
		{"the next one where the first cannot go", two("8"), static},
		{"a budget of 0 for drift", func(l *lab) {
			hash("v1-b")(l)
			l.c.Budgets = append(l.c.Budgets, budget.Budget{Nodes: "0", Reasons: []api.PlanReason{api.PlanDrifted}})
		}, stays},
	})
}

// TestKarpenter_Budgets has the page's example with three budgets, nodepool_budgets_test, and suite_test's
// BuildDisruptionBudgetMapping: how many empty hosts go.
func TestKarpenter_Budgets(t *testing.T) {
	const example = `[{"nodes":"20%","reasons":["Empty","Drifted"]},{"nodes":"5"},` +
		`{"nodes":"0","schedule":"@daily","duration":"10m","reasons":["Underutilized"]},{"minReady":"0"}]`
	always := func(nodes string, reasons ...api.PlanReason) budget.Budget {
		return budget.Budget{Nodes: nodes, Schedule: "* * * * *", Duration: "1h", Reasons: reasons}
	}
	none := func(*lab) {}
	ten, zero := bounds("100%,ready:0"), budget.Budget{MinReady: "0"}
	for _, tt := range []struct {
		name    string
		hosts   int
		budgets budget.List
		change  func(l *lab)
		want    int
	}{
		{"page: 19 nodes, 20% rounded up from 3.8", 19, bounds(example), none, 4},
		{"page: a ceiling of 5 for more than 25 nodes", 30, bounds(example), none, 5},
		{"page: 25 nodes are not above the ceiling", 25, bounds(example), none, 5},
		{"page: the default is 10%", 20, disruption.Default().Budgets, none, 2},
		{"page: 0 switches disruption off", 10, bounds("0,ready:0"), none, 0},
		{"emptiness_test: all empty nodes", 10, ten, none, 10},
		{"the minimum for each reason", 10, budget.List{always("10"), always("5", api.PlanDrifted), always("4", api.PlanEmpty), zero}, none, 4},
		{"a budget of all reasons counts for each", 10, budget.List{always("5", api.PlanEmpty), {Nodes: "0"}, zero}, none, 0},
		{"no active budget is no bound", 10, budget.List{{Nodes: "1", Schedule: "@yearly", Duration: "1h"}, zero}, none, 10},
		{"an invalid schedule allows none", 10, budget.List{{Nodes: "5", Schedule: "@wrongly", Duration: "1h"}, zero}, none, 0},
		{"a range that goes backwards allows none", 10, budget.List{{Nodes: "5", Schedule: "0 0 * * tue-mon", Duration: "6h"}, zero}, none, 0},
		{"nodes of none of our pools do not count", 10, ten, func(l *lab) { l.s.Nodes = append(l.s.Nodes, at("other")) }, 10},
		{"nodes that were never ready do not count", 11, ten, func(l *lab) { l.s.Nodes[10].Ready, l.s.Nodes[10].FirstReady = false, time.Time{} }, 10},
		{"two that are deleted", 10, ten, func(l *lab) { l.s.Hosts[0].Machine.Deleting, l.s.Hosts[1].Machine.Marked = true, true }, 8},
		{"no negative value", 10, bounds("10%,ready:0"), func(l *lab) {
			for i := range l.s.Hosts[:9] {
				l.s.Hosts[i].Machine.Deleting = true
			}
		}, 0},
		{"two that are not ready", 10, bounds("50%,ready:0"), func(l *lab) { l.s.Nodes[0].Ready, l.s.Nodes[1].Ready = false, false }, 3},
		{"each pool has its own", 9, bounds("2,ready:0"), func(l *lab) {
			for i := range 3 {
				l.pool(fmt.Sprintf("q-%d", i), 3*i, 3*i+1, 3*i+2)
			}
		}, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(tt.hosts)
			l.c.Budgets = tt.budgets
			tt.change(l)
			if got := released(l.plan(t)); len(got) != tt.want {
				t.Errorf("%d hosts go, want %d: %q", len(got), tt.want, got)
			}
		})
	}
}

// TestKarpenter_Schedules has times of the page's third budget and of nodepool_budgets_test.
func TestKarpenter_Schedules(t *testing.T) {
	day, far := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), time.FixedZone("", -5*3600) // a Sunday
	for _, tt := range []struct {
		name, schedule, duration string
		now                      time.Time
		closed                   bool
	}{
		{"page: at midnight", "@daily", "10m", day, true},
		{"page: in the first 10 minutes of the day", "@daily", "10m", day.Add(10*time.Minute - 1), true},
		{"page: after them", "@daily", "10m", day.Add(10 * time.Minute), false},
		{"before midnight", "@daily", "10m", day.Add(-1), false},
		{"UTC, whatever the zone of now", "@daily", "30m", day.Add(15 * time.Minute).In(far), true},
		{"midnight elsewhere is none", "@daily", "30m", time.Date(2026, 11, 22, 0, 0, 0, 0, far), false},
		{"the hit is in the middle of the duration", "@yearly", "24h", time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), true},
		{"the duration is longer than the recurrence", "@daily", "48h", day.Add(13 * time.Hour), true},
		{"the hit is after the duration", "30 6 * * SUN", "6h", day.Add(13 * time.Hour), false},
		{"names of days", "30 6 * * SUN", "6h", day.Add(12*time.Hour + 29*time.Minute), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := pair()
			l.now, l.s.TakenAt = tt.now, tt.now
			for i := range l.s.Nodes {
				l.s.Nodes[i].FirstReady = tt.now.Add(-time.Hour)
			}
			l.c.Budgets = append(l.c.Budgets, budget.Budget{Nodes: "0", Schedule: tt.schedule, Duration: tt.duration, Reasons: []api.PlanReason{api.PlanUnderutilized}})
			if p := l.plan(t); (len(p.Actions) == 0) != tt.closed {
				t.Errorf("closed %v: %q", tt.closed, told(p))
			}
			if l.s.Pods = nil; l.plan(t).Method != api.MethodEmptiness {
				t.Error("a budget for Underutilized hosts holds empty ones back")
			}
		})
	}
}
