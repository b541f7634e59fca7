package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

const prefix = "ironic-throttle.metal3.io/"

// TestAnnotationsThatCannotBeRead are as none, and each is named with its rule.
func TestAnnotationsThatCannotBeRead(t *testing.T) {
	for name, values := range map[string][]string{
		"watts-busy": {"", "abc", "-1", "NaN", "Inf", "1e999", "4 00"}, "watts-idle": {"-0.1"},
		"consolidate-after": {"", "-1s", "30", "never"}, "execute": {"yes"}, "budgets": {"", "{}", "[]"},
	} {
		for _, value := range values {
			meta := fmt.Sprintf("metadata: {namespace: metal3, name: a, annotations: {%s%s: %q}}", prefix, name, value)
			s := clusterOf(t, "{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, "+meta+"}\n---\n"+
				"{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineDeployment, "+meta+"}\n").read(t)
			h, p := s.Hosts[0], s.Pools[0]
			faults := append(h.Faults, p.Faults...) //nolint:gocritic // of either
			if len(faults) != 1 || !strings.HasPrefix(faults[0], "annotation "+prefix+name+`="`) || len(faults[0]) > 400 {
				t.Errorf("%s=%q: faults %q", name, value, faults)
			}
			if diff := cmp.Diff(disruption.Price{}, h.Price); diff != "" || p.ConsolidateAfter != nil || p.Budgets != nil || p.Execute {
				t.Errorf("%s=%q counts: %s", name, value, diff)
			}
		}
	}
}

// TestPoolsOfNodes: which hosts a template chooses, and what its nodes have.
func TestPoolsOfNodes(t *testing.T) {
	text := file(t, "fleet.yaml")
	for operator, want := range map[string]string{
		"In": "gpu in (old),rack=r1", "notin": "gpu notin (old),rack=r1", `"="`: "gpu=old,rack=r1", "==": "gpu==old,rack=r1", `"!="`: "gpu!=old,rack=r1", "gt": "", "odd": "",
	} {
		s := clusterOf(t, strings.Replace(text, "operator: notin", "operator: "+operator, 1)).read(t)
		got := ""
		if of := s.Pools[0].HostSelector; of != nil {
			got = *of
		}
		if got != want {
			t.Errorf("%s is %q, want %q", operator, got, want)
		}
	}
	s := clusterOf(t, strings.Replace(text, "providerID: \"metal3://metal3/host-1/m3-1\"", "providerID: x", 1)).read(t)
	if s.Pools[0].NodeLabels != nil || s.Pools[0].NodeTaints != nil {
		t.Errorf("without a node: %+v", s.Pools[0])
	}
	// A second node of the pool, in another zone: what differs is not known of a new one.
	s = clusterOf(t, strings.Replace(strings.Replace(text, "kind: MachineSet, name: single, controller", "kind: MachineSet, name: ms, controller", 1),
		`{name: node-2, labels: {node-role`, `{name: node-2, labels: {disk: hdd, node-role`, 1)).read(t)
	if diff := cmp.Diff(map[string]string{}, s.Pools[0].NodeLabels); diff != "" {
		t.Error(diff)
	}
}
