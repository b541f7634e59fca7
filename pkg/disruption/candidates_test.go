package disruption

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// neverConsolidated is for empty hosts alone.
var neverConsolidated = budget.Budget{Nodes: "0", Reasons: []api.PlanReason{api.PlanUnderutilized}}

// used makes a lab of hosts with pods of so many CPUs, one on each.
func used(t *testing.T, sizes ...int) *lab {
	t.Helper()
	l := newLab(t, len(sizes))
	for i, cpu := range sizes {
		l.pod(i, cpu)
	}
	return l
}

// field makes a host drift.
func field(name, have, want string) func(h *Host, q *Pool) {
	return func(h *Host, _ *Pool) {
		h.Desired, h.Applied = map[string]string{name: want}, map[string]string{name: have}
	}
}

// TestEmptyHosts: h-0 is one, and h-1 stays.
func TestEmptyHosts(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(l *lab)
		want   string
		unmet  string // the first condition
	}{
		{"no pods", func(*lab) {}, "Emptiness release h-0", ""},
		{"pods of its own", func(l *lab) {
			l.pod(0, 1).DaemonSet = true
			l.pod(0, 1).Mirror = true
			l.pod(0, 1).Finished = true
		}, "Emptiness release h-0", ""},
		{"a pod that terminates", func(l *lab) { l.pod(0, 1).Terminating = true }, "SingleNodeConsolidation release h-0", ""},
		{"exactly at the age", func(l *lab) { l.s.Nodes[0].FirstReady = l.now.Add(-30 * time.Second) }, "Emptiness release h-0", ""},
		{"just before", func(l *lab) { l.s.Nodes[0].FirstReady = l.now.Add(-30*time.Second + 1) }, "", "ConsolidateAfter"},
		{"a pod came", func(l *lab) { l.s.Nodes[0].LastPodEvent = l.now.Add(-30*time.Second + 1) }, "", "ConsolidateAfter"},
		{"a pod came before it was Ready", func(l *lab) {
			l.s.Nodes[0].LastPodEvent, l.s.Nodes[0].FirstReady = l.now.Add(-time.Hour), l.now.Add(-time.Second)
		}, "", "ConsolidateAfter"},
		{"never Ready", func(l *lab) { l.s.Nodes[0].FirstReady = time.Time{} }, "", "NodeReady"},
		{"never consolidated", func(l *lab) { l.c.Budgets = append(l.c.Budgets, neverConsolidated) }, "Emptiness release h-0", ""},
		{"never consolidated, and used", func(l *lab) {
			l.pod(0, 1).Terminating = true
			l.s.Pools[0].Policy.Budgets = append(budget.List{neverConsolidated}, l.c.Budgets...)
		}, "", "ConsolidationPolicy"},
		{"not Consolidatable", func(l *lab) { l.s.Hosts[0].Machine.Consolidatable = new(false) }, "", "Consolidatable"},
		{"somebody else writes the replicas", func(l *lab) { l.s.Pools[0].Scales = false }, "", "Scales"},
		{"none are wanted", func(l *lab) { l.s.Pools[0].Replicas = 0 }, "", "Scales"},
		{"the pool says Never", func(l *lab) { l.s.Pools[0].Policy.ConsolidateAfter = new(Never) }, "", "ConsolidateAfter"},
		{"as without settings", func(l *lab) { l.c = Default() }, "", "ConsolidateAfter"},
		{"without a price", func(l *lab) { l.s.Hosts[0].Price = Price{} }, "Emptiness release h-0", ""},
		{"its budget is 0: it is not consolidated", func(l *lab) {
			l.c.Budgets = budget.List{{Nodes: "0", Reasons: []api.PlanReason{api.PlanEmpty}}, {MinReady: "0"}}
		}, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLab(t, 2)
			l.pod(1, 8).DoNotDisrupt = true
			row.change(l)
			l.wants(row.want)
			e := l.explain("h-0")
			e.Conditions = slices.DeleteFunc(e.Conditions, func(c api.PlanCondition) bool { return c.Type == "Drifted" })
			if got := unmet(e); got != row.unmet {
				t.Errorf("the first condition that is not met is %q", got)
			}
		})
	}
}

// TestHostsThatAreNeverTouched: every method would take them.
func TestHostsThatAreNeverTouched(t *testing.T) {
	for name, change := range map[string]func(h *Host, n *Node){
		"NotControlPlane":     func(h *Host, _ *Node) { h.Machine.ControlPlane = true },
		"NotControlPlane ":    func(_ *Host, n *Node) { n.ControlPlane = true },
		"NotControlPlane  ":   func(_ *Host, n *Node) { n.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""} },
		"NotStorage":          func(h *Host, _ *Node) { h.Storage = true },
		"NotStorage ":         func(_ *Host, n *Node) { n.Labels = map[string]string{"node-role.kubernetes.io/storage": ""} },
		"DisruptionAllowed":   func(h *Host, _ *Node) { h.DoNotDisrupt = true },
		"NotPaused":           func(h *Host, _ *Node) { h.Paused = true },
		"NotPaused ":          func(h *Host, _ *Node) { h.Machine.Paused = true },
		"NotDetached":         func(h *Host, _ *Node) { h.Detached = true },
		"NotExternal":         func(h *Host, _ *Node) { h.External = true },
		"NotExternal ":        func(h *Host, _ *Node) { h.State = stateExternal },
		"AnnotationsReadable": func(h *Host, _ *Node) { h.Faults = []string{"watts-busy: odd"} },
		"Healthy":             func(h *Host, _ *Node) { h.Failed = true },
		"Provisioned":         func(h *Host, _ *Node) { h.State = "deprovisioning" },
		"NotDisrupting":       func(h *Host, _ *Node) { h.Machine.Marked = true },
		"NotDisrupting ":      func(_ *Host, n *Node) { n.Deleting = true },
		"Owner":               func(h *Host, _ *Node) { h.Machine.OtherOwner = "KubeadmControlPlane a" },
		"Pool":                func(h *Host, _ *Node) { h.Machine.Pool.Name = "gone" },
		"Cluster":             func(h *Host, _ *Node) { h.Cluster = key("far") },
		"Machine":             func(h *Host, _ *Node) { h.Machine = nil },
		"NodeReady":           func(_ *Host, n *Node) { n.Ready = false },
		"Node":                func(h *Host, _ *Node) { h.Node = "gone" },
	} {
		for _, pods := range []int{0, 1} {
			l := newLab(t, 2)
			l.pod(1, 1).DoNotDisrupt = true
			for range pods {
				l.pod(0, 1)
			}
			field("raid", "1", "5")(&l.s.Hosts[0], nil)
			change(&l.s.Hosts[0], &l.s.Nodes[0])
			p, e := l.plan(), l.explain("h-0")
			if want := strings.TrimSpace(name); told(p) != "" || e.Candidate || unmet(e) != want || !slices.ContainsFunc(p.Excluded, func(x api.PlanExcluded) bool {
				return x.Condition == want && slices.Equal(x.Names, []string{"metal3/h-0"})
			}) {
				t.Errorf("%s with %d pods: the plan is %q, candidate %v, first %s, excluded %v", name, pods, told(p), e.Candidate, unmet(e), p.Excluded)
			}
		}
	}
}

// TestDrift of h-0, which has a pod that fits elsewhere.
func TestDrift(t *testing.T) {
	const again = "StaticDrift reprovision h-0"
	for _, row := range []struct {
		name   string
		change func(h *Host, q *Pool)
		want   string
		words  string // in the evidence
	}{
		{"image", field("image.url", "a", "b"), again, `image.url is "a", and should be "b"`},
		{"firmware", field("firmware.Boot", "on", "off"), again, "firmware.Boot"},
		{"same", field("image.url", "a", "a"), "", ""},
		{"actual not known", func(h *Host, _ *Pool) { h.Desired = map[string]string{"raid": "1"} }, "", ""},
		{"desired not known", func(h *Host, _ *Pool) { h.Applied = map[string]string{"raid": "1"} }, "", ""},
		{"template", func(_ *Host, q *Pool) { q.TemplateHash = "v1-b" }, again, "template v1-a"},
		{"another hash version", func(_ *Host, q *Pool) { q.TemplateHash = "v2-b" }, "", ""},
		{"no hash version", func(h *Host, q *Pool) { q.TemplateHash, h.Machine.TemplateHash = "b", "a" }, "", ""},
		{"an empty hash version", func(h *Host, q *Pool) { q.TemplateHash, h.Machine.TemplateHash = "-b", "-a" }, "", ""},
		{"hash not known", func(h *Host, _ *Pool) { h.Machine.TemplateHash = "" }, "", ""},
		{"hostSelector", func(_ *Host, q *Pool) {
			q.HostSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "1"}}
		}, "Drift reprovision h-0", "rack=1"},
		{"hostSelector not known", func(_ *Host, q *Pool) { q.HostSelector = nil }, "", ""},
		{"no owner would make its Machine again", func(h *Host, _ *Pool) {
			field("raid", "1", "5")(h, nil)
			h.Machine.Pool, h.Machine.PoolKind = Key{}, ""
		}, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := used(t, 1, 1)
			l.c.ConsolidateAfter = Never
			l.s.Pods[1].DoNotDisrupt = true
			row.change(&l.s.Hosts[0], &l.s.Pools[0])
			l.wants(row.want)
			p := l.plan()
			all := p.Actions
			if row.words == "" && len(all) > 0 || row.words != "" && (len(all) != 1 || !strings.Contains(strings.Join(all[0].Evidence, "\n"), row.words)) {
				t.Errorf("%+v", all)
			}
		})
	}
}

// TestConditionsSayWhatTheyFound of h-0, which has a pod and could go.
func TestConditionsSayWhatTheyFound(t *testing.T) {
	l := used(t, 1, 1)
	var names []string
	for _, c := range l.explain("h-0").Conditions {
		names = append(names, c.Type)
	}
	want := []string{
		"AnnotationsReadable", "NotControlPlane", "NotStorage", "DisruptionAllowed", "NotPaused", "NotDetached", "NotExternal", "Healthy",
		"Provisioned", "NotDisrupting", "Cluster", "Machine", "Owner", "Pool", "Node", "NodeReady", "ConsolidateAfter", "ConsolidationPolicy",
		"Consolidatable", "Scales", "Price", "Saving", "Payback", "PodsMovable", "Drifted",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	for _, row := range []struct {
		condition string
		change    func(l *lab)
		want      string
	}{
		{"DisruptionAllowed", func(*lab) {}, ""},
		{"DisruptionAllowed", func(l *lab) { l.s.Hosts[0].DoNotDisrupt = true }, "its annotation do-not-disrupt forbids it"},
		{"Machine", func(l *lab) { l.s.Hosts[0].Machine = nil }, "its consumer Metal3Machine metal3/x is no Machine that is known"},
		{"Machine", func(l *lab) { l.s.Hosts[0].Machine, l.s.Hosts[0].Consumer = nil, "" }, "it is provisioned, and nobody claims it"},
		{"NodeReady", func(l *lab) { l.s.Nodes[0].Ready = false }, "its Node is not Ready"},
		{"NodeReady", func(l *lab) { l.s.Nodes[0].FirstReady = time.Time{} }, "its Node is not Ready"},
		{"ConsolidateAfter", func(l *lab) { l.c.ConsolidateAfter = Never }, "consolidateAfter is Never"},
		{"ConsolidateAfter", func(l *lab) { l.s.Nodes[0].FirstReady = time.Time{} }, "its clock has not begun: it has no Node that was Ready"},
		{"ConsolidateAfter", func(l *lab) { l.s.Nodes[0].FirstReady = noon.Add(-time.Second) }, "no pod came or went for 1s, and consolidateAfter is 30s"},
		{"Pool", func(l *lab) { l.s.Hosts[0].Machine.Pool = Key{} }, "its Machine has no pool that is known"},
		{"Scales", func(l *lab) { l.s.Pools[0].Replicas = 0 }, "somebody else writes the replicas of MachineDeployment metal3/p, or they are 0"},
		{"Drifted", func(*lab) {}, ""},
		{"Drifted", func(l *lab) { field("raid", "1", "5")(&l.s.Hosts[0], nil) }, `raid is "1", and should be "5"`},
		{"Payback", func(*lab) {}, "its release pays back in 20m0s, and 24h0m0s is the longest"},
	} {
		l := used(t, 1, 1)
		row.change(l)
		e := l.explain("h-0")
		v := verdict{conditions: e.Conditions}
		if !slices.ContainsFunc(e.Conditions, func(c api.PlanCondition) bool { return c.Type == row.condition && c.Message == row.want }) {
			t.Errorf("%s: %+v, want %q", row.condition, e.Conditions, row.want)
		}
		if c := v.unmet(); !e.Candidate && e.Summary != "metal3/h-0 is no candidate: "+c.Message {
			t.Error(e.Summary)
		}
	}
	if _, err := Explain(t.Context(), &l.s, l.c, l.now, key("nobody")); err == nil {
		t.Error("a host that is not there is explained")
	}
}

// TestLongWordsAreCut to a line, between two characters.
func TestLongWordsAreCut(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("a", 120): strings.Repeat("a", 120), strings.Repeat("a", 121): strings.Repeat("a", 120) + "...",
		strings.Repeat("a", 119) + "ää": strings.Repeat("a", 119) + "...", strings.Repeat("\x80", 121): "...",
	} {
		if got := clip(text); got != want {
			t.Errorf("%q is cut to %q", text, got)
		}
	}
}

// TestFaultsAreSorted, each told once; one of a hostSelector makes no candidate.
func TestFaultsAreSorted(t *testing.T) {
	l := newLab(t, 1)
	l.s.Hosts[0].Faults = []string{"b", "a", "b"}
	l.s.Pools[0].HostSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rack", Operator: "Near"}}}
	p := l.plan()
	if len(p.Faults) != 3 || !strings.HasPrefix(p.Faults[0], "MachineDeployment metal3/p: hostSelector: ") ||
		!slices.Equal(p.Faults[1:], []string{"host metal3/h-0: a", "host metal3/h-0: b"}) || told(p) != "" {
		t.Errorf("%q: %q", told(p), p.Faults)
	}
}
