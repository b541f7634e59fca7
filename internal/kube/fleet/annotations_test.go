package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

const prefix = "ironic-throttle.metal3.io/"

// annotated is an object with annotations, more in its metadata, and the rest.
func annotated(kind, meta, rest string, pairs ...string) string {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		name := pairs[i]
		if !strings.Contains(name, "/") {
			name = prefix + name
		}
		all = append(all, fmt.Sprintf("%q: %q", name, pairs[i+1]))
	}
	version := map[string]string{"BareMetalHost": "metal3.io/v1alpha1"}[kind]
	if version == "" {
		version = "cluster.x-k8s.io/v1beta2"
	}
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":"metal3","name":"h"%s,"annotations":{%s}}%s}`, version, kind, meta, strings.Join(all, ","), rest)
}

func hostWith(t *testing.T, meta, rest string, pairs ...string) disruption.Host {
	t.Helper()
	return clusterOf(t, annotated("BareMetalHost", meta, rest, pairs...)).read(t).Hosts[0]
}

func poolWith(t *testing.T, meta string, pairs ...string) disruption.Pool {
	t.Helper()
	return clusterOf(t, annotated("MachineDeployment", meta, `,"status":{"replicas":4}`, pairs...)).read(t).Pools[0]
}

// TestHostsThatAreLeftAlone.
func TestHostsThatAreLeftAlone(t *testing.T) {
	for name, row := range map[string]struct {
		meta, rest string
		pairs      []string
		is         func(disruption.Host) bool
	}{
		"paused":         {"", "", []string{"baremetalhost.metal3.io/paused", ""}, func(h disruption.Host) bool { return h.Paused }},
		"detached":       {"", "", []string{"baremetalhost.metal3.io/detached", "true"}, func(h disruption.Host) bool { return h.Detached }},
		"external":       {"", `,"spec":{"externallyProvisioned":true}`, nil, func(h disruption.Host) bool { return h.External }},
		"deleting":       {`,"deletionTimestamp":"2026-11-24T00:00:00Z"`, "", nil, func(h disruption.Host) bool { return h.Deleting }},
		"disrupting":     {`,"labels":{"` + prefix + `command":"x"}`, "", nil, func(h disruption.Host) bool { return h.Disrupting }},
		"in error":       {"", `,"status":{"operationalStatus":"error"}`, nil, func(h disruption.Host) bool { return h.Failed }},
		"error type":     {"", `,"status":{"errorType":"provisioning error"}`, nil, func(h disruption.Host) bool { return h.Failed }},
		"do not disrupt": {"", "", []string{"do-not-disrupt", "true"}, func(h disruption.Host) bool { return h.DoNotDisrupt }},
		"perhaps":        {"", "", []string{"do-not-disrupt", "perhaps"}, func(h disruption.Host) bool { return h.DoNotDisrupt && len(h.Faults) == 1 }},
		"storage":        {"", "", []string{"storage", "true"}, func(h disruption.Host) bool { return h.Storage }},
	} {
		if h := hostWith(t, row.meta, row.rest, row.pairs...); !row.is(h) || row.is(hostWith(t, "", "")) {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

// TestPricesThatCannotBeReadAreNotKnown, and each is named with its rule.
func TestPricesThatCannotBeReadAreNotKnown(t *testing.T) {
	h := hostWith(t, "", "", "watts-busy", "400", "watts-idle", "120.5", "lease-per-hour", "0.75", "lease-ends", "2027-01-31T01:00:00+01:00", "prepaid", "true", "class", "r640.big")
	ends := time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	want := disruption.Price{WattsBusy: new(400.0), WattsIdle: new(120.5), LeasePerHour: new(0.75), LeaseEnds: &ends, Prepaid: true}
	if diff := cmp.Diff(want, h.Price); diff != "" || h.Class != "r640.big" || h.Faults != nil {
		t.Errorf("%s\n%+v", diff, h)
	}
	for name, values := range map[string][]string{
		"watts-busy": {"", "abc", "-1", "NaN", "Inf", "1e999", "4 00"}, "watts-idle": {"-0.1"}, "lease-per-hour": {"free", "-3"},
		"lease-ends": {"", "tomorrow", "2027-01-31", "2027-13-01T00:00:00Z"}, "prepaid": {"yes", "", "1"}, "class": {"", "a b", "-x", strings.Repeat("x", 64)},
	} {
		for _, value := range values {
			h := hostWith(t, "", "", name, value)
			if len(h.Faults) != 1 || !strings.HasPrefix(h.Faults[0], "annotation "+prefix+name+`="`) || !strings.Contains(h.Faults[0], "must be") {
				t.Errorf("%s=%q: faults %q", name, value, h.Faults)
			}
			if diff := cmp.Diff(disruption.Price{}, h.Price); diff != "" || h.Class != "" {
				t.Errorf("%s=%q counts: %s", name, value, diff)
			}
		}
	}
}

func TestPoolAnnotations(t *testing.T) {
	p := poolWith(t, "", "consolidate-after", "30s", "execute", "true",
		"budgets", `[{"nodes":"10%"},{"minReady":"0"},{"nodes":"0","schedule":"0 8 * * 1-5","duration":"8h","reasons":["Drifted","Empty"]}]`)
	want := disruption.PoolPolicy{
		ConsolidateAfter: new(disruption.Span(30 * time.Second)),
		Budgets:          budget.List{{Nodes: "10%"}, {MinReady: "0"}, {Nodes: "0", Schedule: "0 8 * * 1-5", Duration: "8h", Reasons: []api.PlanReason{api.PlanDrifted, api.PlanEmpty}}},
	}
	if diff := cmp.Diff(want, p.Policy); diff != "" || !p.Execute || p.Faults != nil {
		t.Errorf("%s\n%q", diff, p.Faults)
	}
	if p := poolWith(t, "", "consolidate-after", "Never").Policy.ConsolidateAfter; p == nil || *p != disruption.Never {
		t.Errorf("%v", p)
	}
	if poolWith(t, "", "execute", "true", "execute-stopped", "").Execute {
		t.Error("stopped, and plans are carried out")
	}
	for name, values := range map[string][]string{
		"consolidate-after": {"", "-1s", "30", "never"}, "execute": {"yes"}, "budgets": {"", "{}", "[]"},
	} {
		for _, value := range values {
			p := poolWith(t, "", name, value)
			if len(p.Faults) != 1 || !strings.HasPrefix(p.Faults[0], "annotation "+prefix+name+`="`) || len(p.Faults[0]) > 400 {
				t.Errorf("%s=%q: faults %q", name, value, p.Faults)
			}
			if diff := cmp.Diff(disruption.PoolPolicy{}, p.Policy); diff != "" || p.Execute {
				t.Errorf("%s=%q counts: %s", name, value, diff)
			}
		}
	}
}

// TestWhoWritesReplicas: what a topology or an autoscaler writes is not ours to lower.
func TestWhoWritesReplicas(t *testing.T) {
	const autoscaler = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
	for _, p := range []disruption.Pool{
		poolWith(t, `,"labels":{"topology.cluster.x-k8s.io/owned":""}`), poolWith(t, `,"deletionTimestamp":"2026-11-24T00:00:00Z"`),
		poolWith(t, "", autoscaler+"min-size", "1"), poolWith(t, "", autoscaler+"max-size", "3"), poolWith(t, "", "cluster.x-k8s.io/paused", ""),
	} {
		if p.Scales || p.Replicas != 4 {
			t.Errorf("%+v", p)
		}
	}
	if !poolWith(t, "").Scales {
		t.Error("a plain MachineDeployment does not scale")
	}
}

// TestPoolsOfNodes: which hosts a template chooses, and what its nodes have.
func TestPoolsOfNodes(t *testing.T) {
	text := file(t, "fleet.yaml")
	for operator, want := range map[string]string{"In": "In", "notin": "NotIn", "exists": "Exists", `"!"`: "DoesNotExist", `"="`: "In", "==": "In", `"!="`: "NotIn", "gt": "", "odd": ""} {
		s := clusterOf(t, strings.Replace(text, "operator: notin", "operator: "+operator, 1)).read(t)
		got := ""
		if of := s.Pools[0].HostSelector; of != nil {
			got = string(of.MatchExpressions[0].Operator)
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
