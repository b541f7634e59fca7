package disruption_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// unmet is the first condition that a host does not meet.
func unmet(e api.PlanExplanation) string {
	for _, c := range e.Conditions {
		if !c.Met {
			return c.Type
		}
	}
	return ""
}

// TestHostsThatAreNeverTouched, besides those of which a law says so: every method would take them.
func TestHostsThatAreNeverTouched(t *testing.T) {
	for name, change := range map[string]func(h *disruption.Host, n *disruption.Node){
		"NotControlPlane ": func(_ *disruption.Host, n *disruption.Node) { n.Labels["node-role.kubernetes.io/control-plane"] = "" },
		"NotStorage ":      func(_ *disruption.Host, n *disruption.Node) { n.Labels["node-role.kubernetes.io/storage"] = "" },
		"NotDisrupting  ":  func(h *disruption.Host, _ *disruption.Node) { h.Disrupting = true },
		"Pool":             func(h *disruption.Host, _ *disruption.Node) { h.Machine.Pool.Name = "gone" },
		"Cluster":          func(h *disruption.Host, _ *disruption.Node) { h.Cluster = key("far") },
		"Machine":          func(h *disruption.Host, _ *disruption.Node) { h.Machine = nil },
		"NodeReady ":       func(_ *disruption.Host, n *disruption.Node) { n.FirstReady = time.Time{} },
		"Node":             func(h *disruption.Host, _ *disruption.Node) { h.Node = "gone" },
	} {
		for _, pods := range []int{0, 1} {
			l := newLab(2)
			l.pod("b", 1, "1").DoNotDisrupt = true
			for range pods {
				l.pod("a", 0, "1")
			}
			drift(&l.s.Hosts[0])
			change(&l.s.Hosts[0], &l.s.Nodes[0])
			p, e := l.plan(t), l.explain(t, "h-0")
			want := strings.TrimSpace(name)
			if told(p) != "" || e.Candidate || unmet(e) != want || !slices.ContainsFunc(p.Excluded, func(x api.PlanExcluded) bool {
				return x.Condition == want && slices.Equal(x.Names, []string{"metal3/h-0"})
			}) {
				t.Errorf("%s with %d pods: the plan is %q, candidate %v, first %s, excluded %v", name, pods, told(p), e.Candidate, unmet(e), p.Excluded)
			}
		}
	}
}

// TestEmptyHostsKeepTheRoomOfPodsThatWait: such a plan holds 15 s later too.
func TestEmptyHostsKeepTheRoomOfPodsThatWait(t *testing.T) {
	for cpu, want := range map[string]string{"": "; release h-2", "8": "", "9": "; release h-2"} {
		l := newLab(3)
		if cpu != "" {
			l.pod("waits", 0, cpu).Node = ""
		}
		p := l.plan(t)
		if told(p) != "Emptiness release h-0; release h-1"+want {
			t.Errorf("%q CPUs wait: the plan is %q", cpu, told(p))
		}
		if err := disruption.Validate(t.Context(), p, &l.s, l.c, p.ExecuteAfter); err != nil {
			t.Errorf("%q CPUs wait: %v", cpu, err)
		}
		if cpu == "8" && (len(p.Later) != 1 || !strings.Contains(p.Later[0].Note, "pod default/waits")) {
			t.Errorf("%+v", p.Later)
		}
	}
}

// TestFaultsAreSorted, each told once.
func TestFaultsAreSorted(t *testing.T) {
	l := newLab(1)
	l.s.Hosts[0].Faults = []string{"b", "a", "b"}
	l.s.Pools[0].Faults = []string{"c"}
	p := l.plan(t)
	if len(p.Faults) != 3 || told(p) != "" ||
		!slices.Equal(p.Faults, []string{"MachineDeployment metal3/p-0: c", "host metal3/h-0: a", "host metal3/h-0: b"}) {
		t.Errorf("%q: %q", told(p), p.Faults)
	}
}

// TestAClusterThatWasNotRead: its hosts are no candidates, and the plan says so.
func TestAClusterThatWasNotRead(t *testing.T) {
	l := newLab(3)
	for i := range 2 {
		l.s.Hosts[i].Cluster, l.s.Hosts[i].Node = other, ""
	}
	for fault, want := range map[string]string{
		"no route": "its cluster metal3/other cannot be read: no route", "": "its cluster metal3/other cannot be read: it is not known",
	} {
		var faults []string
		if l.s.Clusters = nil; fault != "" {
			l.s.Clusters = []disruption.Cluster{{Key: other, Fault: fault}, {Nodes: 1}}
			faults = []string{"cluster metal3/other cannot be read: no route"}
		}
		p := l.plan(t)
		if told(p) != "Emptiness release h-2" || !slices.Equal(p.Faults, faults) || len(p.Excluded) != 1 || p.Excluded[0].Condition != "Cluster" || p.Excluded[0].Hosts != 2 {
			t.Errorf("%q, faults %q, excluded %+v", told(p), p.Faults, p.Excluded)
		}
		if fault != "" && !slices.Equal(p.Clusters, []api.PlanCluster{{Name: "metal3/other", Fault: fault}}) {
			t.Errorf("clusters %+v", p.Clusters)
		}
		if e := l.explain(t, "h-0"); !strings.HasSuffix(e.Summary, want) {
			t.Error(e.Summary)
		}
	}
}
