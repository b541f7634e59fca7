package disruption_test

import (
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"

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
	l.s.Nodes[0].Allocatable["cpu"] = 4000
	return l
}

func TestKarpenter_Consolidation(t *testing.T) {
	const goes, stays = "SingleNodeConsolidation release h-0", ""
	plans(t, pair, []planRow{
		{"page: pods run on free capacity of other nodes", func(*lab) {}, goes},
		{"page: a pdb prevents pod evictions", func(l *lab) { l.budget("a", 0) }, stays},
		{"page: do-not-disrupt on a pod", func(l *lab) { l.s.Pods[0].DoNotDisrupt = true }, stays},
		{"page: do-not-disrupt on a node", func(l *lab) { l.s.Hosts[0].DoNotDisrupt = true }, stays},
		{"PDB policy AlwaysAllow and a pod that is not ready", func(l *lab) {
			l.s.Pods[0].Ready = false
			l.budget("a", 0).UnhealthyPodEvictionPolicy = policyv1.AlwaysAllow
		}, goes},
		{"non-Karpenter capacity can fit pods", func(l *lab) { l.s.Hosts, l.s.Pools[0].Replicas = l.s.Hosts[:1], 1 }, goes},
		{"a permanently pending pod does not hold it up", func(l *lab) { l.pod("huge", 0, "100").Node = "" }, goes},
		{"no pods on an uninitialized node", func(l *lab) { l.s.Nodes[1].Ready, l.s.Nodes[1].FirstReady = false, time.Time{} }, stays},
		{"no pods on a node within its consolidateAfter", func(l *lab) { l.s.Nodes[1].LastPodEvent = l.now.Add(-time.Second) }, stays},
		{"pods on a node with consolidateAfter Never", func(l *lab) {
			l.pool("p-1", 1).ConsolidateAfter = new(disruption.Never)
			l.s.Nodes[1].LastPodEvent = l.now
		}, goes},
		{"no candidate with just a Node", func(l *lab) { l.s.Hosts = l.s.Hosts[1:] }, stays},
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
		{"a pod that terminates is no more", func(l *lab) { l.pod("c", 0, "1").Terminating = true }, "Emptiness release h-1"},
		{"a pod came before it was Ready", func(l *lab) {
			l.s.Nodes[0].LastPodEvent, l.s.Nodes[0].FirstReady = l.now.Add(-time.Hour), l.now.Add(-time.Second)
		}, "Emptiness release h-1"},
		{"somebody else writes the replicas", func(l *lab) { l.s.Pools[0].Scales = false }, ""},
		{"without a price", func(l *lab) { l.s.Hosts[0].Price = disruption.Price{} }, "Emptiness release h-1; release h-0"},
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
		{"in another namespace", func(l *lab) { l.spare(100).Namespace = "other" }, stays},
		{"its price is not known", func(l *lab) { l.spare(100).Price = disruption.Price{} }, stays},
		{"hostSelector not known", func(l *lab) { l.spare(100); l.s.Pools[0].HostSelector = nil }, stays},
		{"one must stay Ready: the new one", func(l *lab) { l.spare(100); l.c.Budgets = nil }, goes},
		{"two must", func(l *lab) { l.spare(100); l.c.Budgets = bounds("ready:2") }, stays},
		{"just too long a payback", func(l *lab) { l.spare(100); l.s.Throttle.SlotMinutes = 24*36 + 1 }, stays},
		{"not too long", func(l *lab) { l.spare(100); l.s.Throttle.SlotMinutes = 24*36 - 1 }, goes},
		{"it must have room", func(l *lab) { l.spare(100).Capacity["cpu"] = 4000 }, stays},
		{"can merge 3 nodes into 1", func(l *lab) {
			*l = *used("5", "5", "5")
			l.spare(500).Capacity["cpu"] = 16_000
		}, "MultiNodeConsolidation replace h-0,h-1,h-2>s-3"},
		{"pods that need two new nodes stay", func(l *lab) {
			l.s.Pods[0].Requests["cpu"] = 4000
			l.pod("b", 0, "4")
			l.spare(100).Capacity["cpu"], l.spare(100).Capacity["cpu"] = 5000, 5000
		}, stays},
	})
}

func TestKarpenter_Drift(t *testing.T) {
	const static, stays = "StaticDrift reprovision h-0", ""
	hash := func(of string) func(l *lab) { return func(l *lab) { l.s.Hosts[0].Machine.Template = of } }
	types := func(has string) func(l *lab) {
		return func(l *lab) {
			for i := range l.s.Hosts {
				l.s.Hosts[i].Labels = map[string]string{"type": "huge"}
			}
			l.s.Hosts[0].Labels["type"] = has
			l.s.Pools[0].HostSelector = new("type in (large,huge)")
		}
	}
	boot := func(l *lab) {
		l.s.Hosts[0].Desired, l.s.Hosts[0].Applied = map[string]string{"firmware.Boot": "on"}, map[string]string{"firmware.Boot": "off"}
	}
	two := func(cpu string) func(l *lab) {
		return func(l *lab) {
			l.pod("c", 2, cpu)
			l.s.Hosts[0].Machine.Template, l.s.Hosts[2].Machine.Template = "v1-b", "v1-b"
			l.s.Hosts[0].Machine.Created, l.s.Hosts[2].Machine.Created = l.now.Add(-time.Hour), l.now.Add(-2*time.Hour)
		}
	}
	plans(t, func() *lab { l := used("1", "6"); l.host(); l.c.ConsolidateAfter = disruption.Never; return l }, []planRow{
		{"page: the hash differs", hash("v1-b"), static},
		{"page: requirements that the value still meets", types("large"), stays},
		{"requirements that it does not meet any more", types("small"), "Drift reprovision h-0"},
		{"page: a new image", func(l *lab) {
			l.s.Hosts[0].Desired, l.s.Hosts[0].Applied = map[string]string{"image.url": "xyz"}, map[string]string{"image.url": "abc"}
		}, static},
		{"its template is not known", hash(""), stays},
		{"what is applied is not known", func(l *lab) { l.s.Hosts[0].Desired = map[string]string{"raid": "1"} }, stays},
		{"firmware", boot, static},
		{"firmware that a reboot applies", func(l *lab) { boot(l); l.s.Hosts[0].OnReboot = true }, stays},
		{"no owner would make its Machine again", func(l *lab) { boot(l); l.s.Hosts[0].Machine.Pool = disruption.Key{} }, stays},
		{"drift goes before consolidation, with consolidation on", func(l *lab) {
			hash("v1-b")(l)
			l.c.ConsolidateAfter = disruption.Span(time.Second)
			l.pod("c", 2, "8")
		}, static},
		{"one at a time, the oldest Machine first", two("1"), "StaticDrift reprovision h-2"},
		{"the next one where the first cannot go", two("8"), static},
		{"a budget of 0 for drift", func(l *lab) {
			hash("v1-b")(l)
			l.c.Budgets = append(l.c.Budgets, budget.Budget{Nodes: "0", Reasons: []api.PlanReason{api.PlanDrifted}})
		}, stays},
	})
}
