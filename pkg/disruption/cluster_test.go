package disruption_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// TestEmptyHostsKeepTheRoomOfPodsThatWait: such a plan holds 15 s later too.
func TestEmptyHostsKeepTheRoomOfPodsThatWait(t *testing.T) {
	for cpu, want := range map[string][]string{"": {"h-0", "h-1", "h-2"}, "8": {"h-0", "h-1"}, "9": {"h-0", "h-1", "h-2"}} {
		l := newLab(3)
		if cpu != "" {
			l.pod("waits", 0, cpu).Node = ""
		}
		p := l.plan(t)
		wantNames(t, p, want...)
		if err := disruption.Validate(t.Context(), p, &l.s, l.c, p.ExecuteAfter); err != nil {
			t.Errorf("%q CPUs wait: %v", cpu, err)
		}
	}
	l := newLab(1)
	l.pod("waits", 0, "8").Node = ""
	if p := l.plan(t); len(p.Later) != 1 || !strings.Contains(p.Later[0].Note, "pod default/waits") {
		t.Errorf("%+v", p.Later)
	}
}

// TestAClusterThatWasNotRead: its hosts are no candidates, and the plan says so.
func TestAClusterThatWasNotRead(t *testing.T) {
	l := newLab(3)
	key := disruption.Key{Namespace: "metal3", Name: "far"}
	for i := range 2 {
		l.s.Hosts[i].Cluster, l.s.Hosts[i].Node = key, ""
	}
	for fault, want := range map[string]string{
		"no route": "its cluster metal3/far cannot be read: no route", "": "its cluster metal3/far cannot be read: it is not known",
	} {
		var faults []string
		if l.s.Clusters = nil; fault != "" {
			l.s.Clusters = []disruption.Cluster{{Key: key, Fault: fault}, {Nodes: 1}}
			faults = []string{"cluster metal3/far cannot be read: no route"}
		}
		p := l.plan(t)
		wantNames(t, p, "h-2")
		if !slices.Equal(p.Faults, faults) || len(p.Excluded) != 1 || p.Excluded[0].Condition != "Cluster" || p.Excluded[0].Hosts != 2 {
			t.Errorf("faults %q, excluded %+v", p.Faults, p.Excluded)
		}
		if fault != "" && !slices.Equal(p.Clusters, []api.PlanCluster{{Name: "metal3/far", Fault: fault}}) {
			t.Errorf("clusters %+v", p.Clusters)
		}
		e, err := disruption.Explain(t.Context(), &l.s, l.c, l.now, l.s.Hosts[0].Key)
		if err != nil || !strings.HasSuffix(e.Summary, want) {
			t.Errorf("%v: %s", err, e.Summary)
		}
	}
}
