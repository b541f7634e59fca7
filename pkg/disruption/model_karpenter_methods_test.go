package disruption_test

import (
	"slices"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// pair has two hosts: 0 of 4 CPUs with a pod of 1 that fits on 1, and 1 of 8 with one of 5 that fits nowhere else.
func pair() *lab {
	l := newLab(2)
	l.s.Nodes[0].Allocatable["cpu"] = "4"
	l.pod("a", 0, "1")
	l.pod("b", 1, "5")
	return l
}

// TestKarpenter_Consolidation are facts of the page and of consolidation_test about deletion.
func TestKarpenter_Consolidation(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(l *lab)
		want   []string
	}{
		{"page: pods run on free capacity of other nodes", func(*lab) {}, []string{"h-0"}},
		{"page: WhenEmpty leaves what is used", func(l *lab) { l.c.Budgets = append(l.c.Budgets, neverConsolidated) }, nil},
		{"page: consolidateAfter counts from the last pod", func(l *lab) { l.s.Nodes[0].LastPodEvent = l.now.Add(-29 * time.Second) }, nil},
		{"page: a pdb prevents pod evictions", func(l *lab) { l.budget("a", 0) }, nil},
		{"page: do-not-disrupt on a pod", func(l *lab) { l.s.Pods[0].DoNotDisrupt = true }, nil},
		{"page: do-not-disrupt on a node", func(l *lab) { l.s.Hosts[0].DoNotDisrupt = true }, nil},
		{"PDB that allows one", func(l *lab) { l.budget("a", 1) }, []string{"h-0"}},
		{"PDB namespace must match", func(l *lab) { l.budget("a", 0).Namespace = "other" }, []string{"h-0"}},
		{"PDB policy AlwaysAllow and a pod that is not ready", func(l *lab) {
			l.s.Pods[0].Ready = false
			l.budget("a", 0).UnhealthyPodEvictionPolicy = policyv1.AlwaysAllow
		}, []string{"h-0"}},
		{"multiple PDBs on the same pod", func(l *lab) { l.budget("a", 1); l.budget("a", 1).Name = "second" }, nil},
		{"non-Karpenter capacity can fit pods", func(l *lab) {
			l.s.Hosts = l.s.Hosts[:1]
			l.s.Pools[0].Replicas = 1
		}, []string{"h-0"}},
		{"a permanently pending pod does not hold it up", func(l *lab) {
			p := l.pod("huge", 0, "100")
			p.Node = ""
		}, []string{"h-0"}},
		{"no pod goes pending", func(l *lab) { l.s.Pods[0].Requests["cpu"] = "4" }, nil},
		{"no pods on an uninitialized node", func(l *lab) {
			l.s.Nodes[1].Ready, l.s.Nodes[1].FirstReady = false, time.Time{}
		}, nil},
		{"no pods on a node within its consolidateAfter", func(l *lab) { l.s.Nodes[1].LastPodEvent = l.now.Add(-time.Second) }, nil},
		{"pods on a node with consolidateAfter Never", func(l *lab) {
			second := l.s.Pools[0]
			second.Name, second.Replicas, second.Policy.ConsolidateAfter = "p-1", 1, new(disruption.Never)
			l.s.Pools = append(l.s.Pools, second)
			l.s.Pools[0].Replicas, l.s.Hosts[1].Machine.Pool = 1, second.Key
			l.s.Nodes[1].LastPodEvent = l.now
		}, []string{"h-0"}},
		{"no violation of pod anti-affinity", func(l *lab) { l.s.Pods[0].AntiAffinity = apart("b", hostname) }, nil},
		{"no candidate that is deleting", func(l *lab) { l.s.Hosts[0].Machine.Deleting = true }, nil},
		{"no candidate of a pool that does not exist", func(l *lab) { l.s.Hosts[0].Machine.Pool.Name = "gone" }, nil},
		{"no candidate with just a Node", func(l *lab) { l.s.Hosts = l.s.Hosts[1:] }, nil},
		{"not Consolidatable", func(l *lab) { l.s.Hosts[0].Machine.Consolidatable = new(false) }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := pair()
			tt.change(l)
			wantNames(t, l.plan(t), slices.Clone(tt.want)...)
		})
	}
}

// TestKarpenter_Preference: the page prefers nodes with fewer pods and with pods of lower priority, and consolidation_test
// the best ratio of saving to disruption.
func TestKarpenter_Preference(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(l *lab)
		want   string
	}{
		{"fewer pods", func(l *lab) { l.pod("a2", 0, "1") }, "h-1"},
		{"lower priority", func(l *lab) { l.s.Pods[0].Priority = 500_000_000 }, "h-1"},
		{"more saved", func(l *lab) { l.s.Hosts[1].Price = disruption.Price{WattsBusy: new(800.0), WattsIdle: new(800.0)} }, "h-1"},
		{"ties by name", func(*lab) {}, "h-0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(3)
			l.pod("a", 0, "1")
			l.pod("b", 1, "1")
			l.pod("c", 2, "5")
			l.c.Budgets = budget.List{{Nodes: "1"}, {MinReady: "0"}}
			tt.change(l)
			wantNames(t, l.plan(t), tt.want)
		})
	}
}

// TestKarpenter_Emptiness are facts of the page and of emptiness_test.
func TestKarpenter_Emptiness(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(l *lab)
		want   []string
	}{
		{"page: entirely empty nodes go in parallel", func(*lab) {}, []string{"h-0", "h-1"}},
		{"do-not-disrupt", func(l *lab) { l.s.Hosts[0].DoNotDisrupt = true }, []string{"h-1"}},
		{"not consolidatable", func(l *lab) { l.s.Hosts[0].Machine.Consolidatable = new(false) }, []string{"h-1"}},
		{"nodes that have pods", func(l *lab) { l.pod("c", 0, "8").DoNotDisrupt = true }, []string{"h-1"}},
		{"a DaemonSet pod leaves it empty", func(l *lab) { l.pod("c", 0, "8").DaemonSet = true }, []string{"h-0", "h-1"}},
		{"a terminating StatefulSet pod does not", func(l *lab) {
			p := l.pod("c", 0, "8")
			p.Terminating, p.Owner = true, "StatefulSet/db"
		}, []string{"h-1"}},
		{"page: terminal pods leave it empty, whatever they say", func(l *lab) {
			p := l.pod("c", 0, "8")
			p.Finished, p.DoNotDisrupt = true, true
		}, []string{"h-0", "h-1"}},
		{"page: empty is consolidatable under WhenEmpty too", func(l *lab) { l.c.Budgets = append(l.c.Budgets, neverConsolidated) }, []string{"h-0", "h-1"}},
		{"the node TTL", func(l *lab) { l.s.Nodes[1].LastPodEvent = l.now.Add(-time.Second) }, []string{"h-0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(3)
			l.pod("b", 2, "8")
			tt.change(l)
			p := l.plan(t)
			wantNames(t, p, slices.Clone(tt.want)...)
			if p.Method != api.MethodEmptiness {
				t.Errorf("the method is %q", p.Method)
			}
		})
	}
}

// TestKarpenter_Replacement: the page's "a single lower price replacement".
func TestKarpenter_Replacement(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(l *lab)
		want   bool
	}{
		{"page: a lower priced node", func(l *lab) { l.spare(100) }, true},
		{"page: can't replace with a lower-priced node", func(l *lab) { l.spare(400) }, false},
		{"a dearer one", func(l *lab) { l.spare(401) }, false},
		{"no merge into one of the same type", func(l *lab) {
			l.spare(400).Class = "a"
			l.s.Hosts[0].Class = "a"
		}, false},
		{"PDB", func(l *lab) { l.spare(100); l.budget("a", 0) }, false},
		{"do-not-disrupt on a pod", func(l *lab) { l.spare(100); l.s.Pods[0].DoNotDisrupt = true }, false},
		{"it must have room", func(l *lab) { l.spare(100).Capacity["cpu"] = "4" }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(1)
			l.pod("a", 0, "6")
			tt.change(l)
			p := l.plan(t)
			if replaced := len(p.Actions) == 1 && p.Actions[0].Decision == api.PlanReplace; replaced != tt.want || !tt.want && len(p.Actions) > 0 {
				t.Errorf("%d actions, replaced %v, want %v: %+v", len(p.Actions), replaced, tt.want, p.Actions)
			}
		})
	}
	t.Run("can merge 3 nodes into 1", func(t *testing.T) {
		l := newLab(3)
		for i, name := range []string{"a", "b", "c"} {
			l.pod(name, i, "5")
		}
		l.spare(500).Capacity["cpu"] = "16"
		p := l.plan(t)
		if len(p.Actions) != 1 || p.Actions[0].Decision != api.PlanReplace || len(p.Actions[0].Hosts) != 3 {
			t.Errorf("the plan is %+v, want one host for three", p.Actions)
		}
	})
	t.Run("pods that need two new nodes stay", func(t *testing.T) {
		l := newLab(1)
		l.pod("a", 0, "4")
		l.pod("b", 0, "4")
		for range 2 {
			l.spare(100).Capacity["cpu"] = "5"
		}
		wantHosts(t, l.plan(t), 0)
	})
}

// TestKarpenter_Drift are facts of the page and of drift_test.
func TestKarpenter_Drift(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(l *lab)
		method api.PlanMethod
		want   []string
	}{
		{"page: the hash differs", func(l *lab) { l.s.Hosts[0].Machine.TemplateHash = "v1-b" }, api.MethodStaticDrift, []string{"h-0"}},
		{"another version of the hash", func(l *lab) { l.s.Hosts[0].Machine.TemplateHash = "v2-b" }, "", nil},
		{"page: requirements that the value still meets", func(l *lab) {
			l.labelled("large", "large", "huge")
			l.s.Pools[0].HostSelector = typeIn("large", "huge")
		}, "", nil},
		{"requirements that it does not meet any more", func(l *lab) {
			l.labelled("small", "large", "huge")
			l.s.Pools[0].HostSelector = typeIn("large", "huge")
		}, api.MethodDrift, []string{"h-0"}},
		{"page: a new image", func(l *lab) {
			l.s.Hosts[0].Desired, l.s.Hosts[0].Applied = map[string]string{"image.url": "xyz"}, map[string]string{"image.url": "abc"}
		}, api.MethodStaticDrift, []string{"h-0"}},
		{"do-not-disrupt", func(l *lab) { l.s.Hosts[0].Machine.TemplateHash, l.s.Hosts[0].DoNotDisrupt = "v1-b", true }, "", nil},
		{"do-not-disrupt on a pod", func(l *lab) { l.s.Hosts[0].Machine.TemplateHash, l.s.Pods[0].DoNotDisrupt = "v1-b", true }, "", nil},
		{"a blocking PDB", func(l *lab) { l.s.Hosts[0].Machine.TemplateHash = "v1-b"; l.budget("a", 0) }, "", nil},
		{"drift goes before consolidation, with consolidation on", func(l *lab) {
			l.c.ConsolidateAfter = disruption.Span(time.Second)
			l.pod("c", 2, "8")
			l.s.Hosts[0].Machine.TemplateHash = "v1-b"
		}, api.MethodStaticDrift, []string{"h-0"}},
		{"one at a time, the earliest drift first", func(l *lab) {
			l.pod("c", 2, "1")
			l.s.Hosts[0].Machine.TemplateHash, l.s.Hosts[2].Machine.TemplateHash = "v1-b", "v1-b"
			l.s.Hosts[0].DriftedSince, l.s.Hosts[2].DriftedSince = l.now.Add(-time.Hour), l.now.Add(-2*time.Hour)
		}, api.MethodStaticDrift, []string{"h-2"}},
		{"the next one where the first cannot go", func(l *lab) {
			l.pod("c", 2, "8").Name = "too-large"
			l.s.Hosts[0].Machine.TemplateHash, l.s.Hosts[2].Machine.TemplateHash = "v1-b", "v1-b"
			l.s.Hosts[0].DriftedSince, l.s.Hosts[2].DriftedSince = l.now.Add(-time.Hour), l.now.Add(-2*time.Hour)
		}, api.MethodStaticDrift, []string{"h-0"}},
		{"a budget of 0 for drift", func(l *lab) {
			l.s.Hosts[0].Machine.TemplateHash = "v1-b"
			l.c.Budgets = budget.List{{Nodes: "0", Reasons: []api.PlanReason{api.PlanDrifted}}, {MinReady: "0"}}
		}, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(3)
			l.c.ConsolidateAfter = disruption.Never
			l.pod("a", 0, "1")
			l.pod("b", 1, "6")
			tt.change(l)
			p := l.plan(t)
			wantNames(t, p, slices.Clone(tt.want)...)
			if p.Method != tt.method {
				t.Errorf("the method is %q, want %q", p.Method, tt.method)
			}
		})
	}
}

// labelled gives the hosts a label type.
func (l *lab) labelled(types ...string) {
	for i, name := range types {
		l.s.Hosts[i].Labels = map[string]string{"type": name}
	}
}

func typeIn(values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "type", Operator: metav1.LabelSelectorOpIn, Values: values},
	}}
}
