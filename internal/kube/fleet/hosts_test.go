package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/json"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

func hostFrom(t *testing.T, meta, spec, status string) host {
	t.Helper()
	var w hostWire
	text := `{"metadata":{"namespace":"metal3","name":"h"` + meta + `},"spec":{` + spec + `},"status":{` + status + `}}`
	if err := json.UnmarshalCaseSensitivePreserveInts([]byte(text), &w); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return hostOf(newShared())(&w)
}

func annotated(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		name := pairs[i]
		if !strings.Contains(name, "/") {
			name = prefix + name
		}
		b.WriteString(`,"` + name + `":"` + pairs[i+1] + `"`)
	}
	return `,"annotations":{` + strings.TrimPrefix(b.String(), ",") + `}`
}

// TestDC27_HostsThatAreLeftAlone.
func TestDC27_HostsThatAreLeftAlone(t *testing.T) {
	for name, one := range map[string]struct {
		meta, spec, status string
		is                 func(disruption.Host) bool
	}{
		"paused":         {annotated("baremetalhost.metal3.io/paused", ""), "", "", func(h disruption.Host) bool { return h.Paused }},
		"detached":       {annotated("baremetalhost.metal3.io/detached", "true"), "", "", func(h disruption.Host) bool { return h.Detached }},
		"external":       {"", `"externallyProvisioned":true`, "", func(h disruption.Host) bool { return h.External }},
		"deleting":       {`,"deletionTimestamp":"2026-11-24T00:00:00Z"`, "", "", func(h disruption.Host) bool { return h.Deleting }},
		"in error":       {"", "", `"operationalStatus":"error"`, func(h disruption.Host) bool { return h.Failed }},
		"error type":     {"", "", `"errorType":"provisioning error"`, func(h disruption.Host) bool { return h.Failed }},
		"do not disrupt": {annotated("do-not-disrupt", "true"), "", "", func(h disruption.Host) bool { return h.DoNotDisrupt }},
		"perhaps":        {annotated("do-not-disrupt", "perhaps"), "", "", func(h disruption.Host) bool { return h.DoNotDisrupt && len(h.Faults) == 1 }},
		"storage":        {annotated("storage", "true"), "", "", func(h disruption.Host) bool { return h.Storage }},
	} {
		if h := hostFrom(t, one.meta, one.spec, one.status); !one.is(h.Host) {
			t.Errorf("%s: %+v", name, h.Host)
		}
		if h := hostFrom(t, "", "", ""); one.is(h.Host) {
			t.Errorf("%s: so is a host of which nobody says it", name)
		}
	}
}

// TestDC12_PricesThatCannotBeReadAreNotKnown, and each is named with its rule.
func TestDC12_PricesThatCannotBeReadAreNotKnown(t *testing.T) {
	h := hostFrom(t, annotated("watts-busy", "400", "watts-idle", "120.5", "lease-per-hour", "0.75", "lease-ends", "2027-01-31T01:00:00+01:00", "prepaid", "true", "preemptible", "true", "class", "r640.big"), "", "")
	ends := time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	want := disruption.Price{WattsBusy: new(400.0), WattsIdle: new(120.5), LeasePerHour: new(0.75), LeaseEnds: &ends, Prepaid: true}
	if diff := cmp.Diff(want, h.Price); diff != "" || h.Class != "r640.big" || !h.Preemptible || h.Faults != nil {
		t.Errorf("%s\n%+v", diff, h.Host)
	}
	for name, values := range map[string][]string{
		"watts-busy": {"", "abc", "-1", "NaN", "Inf", "1e999", "4 00"}, "watts-idle": {"-0.1"}, "lease-per-hour": {"free", "-3"},
		"lease-ends": {"", "tomorrow", "2027-01-31", "2027-13-01T00:00:00Z"}, "prepaid": {"yes", "", "1"}, "class": {"", "a b", "-x", strings.Repeat("x", 64)},
	} {
		for _, value := range values {
			h := hostFrom(t, annotated(name, value), "", "")
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
	of := func(pairs ...string) owner {
		var w ownerWire
		text := `{"metadata":{"namespace":"n","name":"md"` + annotated(pairs...) + `}}`
		if err := json.UnmarshalCaseSensitivePreserveInts([]byte(text), &w); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return ownerOf(disruption.PoolMachineDeployment)(&w)
	}
	o := of("consolidate-after", "30s", "preemptible-options", "15", "execute", "true",
		"budgets", `[{\"nodes\":\"10%\"},{\"minReady\":\"0\"},{\"nodes\":\"0\",\"schedule\":\"0 8 * * 1-5\",\"duration\":\"8h\",\"reasons\":[\"Drifted\",\"Empty\"]}]`)
	want := disruption.PoolPolicy{
		ConsolidateAfter: new(disruption.Span(30 * time.Second)), PreemptibleOptions: new(15),
		Budgets: budget.List{{Nodes: "10%"}, {MinReady: "0"}, {Nodes: "0", Schedule: "0 8 * * 1-5", Duration: "8h", Reasons: []api.PlanReason{api.PlanDrifted, api.PlanEmpty}}},
	}
	if diff := cmp.Diff(want, o.Policy); diff != "" || !o.Execute || o.Faults != nil {
		t.Errorf("%s\n%q", diff, o.Faults)
	}
	if p := of("consolidate-after", "Never").Policy.ConsolidateAfter; p == nil || *p != disruption.Never {
		t.Errorf("%v", p)
	}
	for name, values := range map[string][]string{
		"consolidate-after": {"", "-1s", "30", "never"}, "preemptible-options": {"all", "-1", "1.5", "", "9999999"},
		"execute": {"yes"}, "budgets": {
			"", "{}", "[]", `[{\"nodes\":1}]`, `[{\"node\":\"1\"}]`, `[{\"nodes\":\"1\"}] x`, `[{\"nodes\":\"1\",\"duration\":\"a day\"}]`,
			`[{\"nodes\":\"1\",\"duration\":\"Never\"}]`, `[{\"nodes\":\"1\",\"reasons\":[\"Bored\"]}]`, "[" + strings.Repeat(`{\"nodes\":\"1\"},`, 40) + `{\"nodes\":\"1\"}]`,
		},
	} {
		for _, value := range values {
			o := of(name, value)
			if len(o.Faults) != 1 || !strings.HasPrefix(o.Faults[0], "annotation "+prefix+name+`="`) || len(o.Faults[0]) > 400 {
				t.Errorf("%s=%q: faults %q", name, value, o.Faults)
			}
			if diff := cmp.Diff(disruption.PoolPolicy{}, o.Policy); diff != "" || o.Execute {
				t.Errorf("%s=%q counts: %s", name, value, diff)
			}
		}
	}
}

// TestWhoWritesReplicas: what a topology or an autoscaler writes is not ours to lower.
func TestWhoWritesReplicas(t *testing.T) {
	for meta, want := range map[string]bool{
		"": true, `,"labels":{"topology.cluster.x-k8s.io/owned":""}`: false, annotated(autoscalerMin, "1"): false, annotated(autoscalerMax, "3"): false,
		annotated(pausedMark, ""): false, `,"deletionTimestamp":"2026-11-24T00:00:00Z"`: false,
	} {
		var w ownerWire
		if err := json.UnmarshalCaseSensitivePreserveInts([]byte(`{"metadata":{"name":"md"`+meta+`},"status":{"replicas":4}}`), &w); err != nil {
			t.Fatal(err)
		}
		if o := ownerOf(disruption.PoolMachineDeployment)(&w); o.Scales != want || o.Replicas != 4 {
			t.Errorf("%s: scales %v, want %v; %d replicas", meta, o.Scales, want, o.Replicas)
		}
	}
}

func TestLabelsThatReachANode(t *testing.T) {
	for label, want := range map[string]bool{
		"node-role.kubernetes.io/worker": true, "node-restriction.kubernetes.io/a": true, "x.node-restriction.kubernetes.io/a": true, "node.cluster.x-k8s.io/a": true,
		"team": false, "cluster.x-k8s.io/a": false, "evilnode.cluster.x-k8s.io/a": false, "node.cluster.x-k8s.io": false,
	} {
		if got := reachesNode(label); got != want {
			t.Errorf("%s: %v, want %v", label, got, want)
		}
	}
}

// TestDC7_WhatIsNotKnownIsNotCompared: RAID and firmware, as far as both sides say something.
func TestDC7_WhatIsNotKnownIsNotCompared(t *testing.T) {
	volume := `"raid":{"hardwareRAIDVolumes":[{"level":"1","name":null}]}`
	for name, one := range map[string]struct{ spec, status, desired, applied string }{
		"the same":     {volume, `"provisioning":{"raid":{"hardwareRAIDVolumes":[{"level":"1"}],"softwareRAIDVolumes":null}}`, `{"hardwareRAIDVolumes":[{"level":"1"}]}`, `{"hardwareRAIDVolumes":[{"level":"1"}]}`},
		"another":      {volume, `"provisioning":{"raid":{"hardwareRAIDVolumes":[{"level":"0"}]}}`, `{"hardwareRAIDVolumes":[{"level":"1"}]}`, `{"hardwareRAIDVolumes":[{"level":"0"}]}`},
		"not known":    {volume, ``, `{"hardwareRAIDVolumes":[{"level":"1"}]}`, ""},
		"other kind":   {volume, `"provisioning":{"raid":{"softwareRAIDVolumes":[{"level":"1"}]}}`, `{"hardwareRAIDVolumes":[{"level":"1"}]}`, ""},
		"not wanted":   {``, `"provisioning":{"raid":{"hardwareRAIDVolumes":[{"level":"0"}]}}`, "", ""},
		"to be erased": {`"raid":{"hardwareRAIDVolumes":[]}`, `"provisioning":{"raid":{"hardwareRAIDVolumes":[{"level":"0"}]}}`, "", ""},
	} {
		h := hostFrom(t, "", one.spec, one.status)
		if h.Desired["raid"] != one.desired || h.Applied["raid"] != one.applied {
			t.Errorf("%s: desired %s, applied %s", name, h.Desired["raid"], h.Applied["raid"])
		}
	}
	a := newAPI(t).all(coreV)
	a.add(hostsPath, strings.Replace(named(plainHost, "h1"), `"online":true`, `"online":true,"image":{"url":"http://i/9"}`, 1))
	const names = `{"metadata":{"namespace":"metal3","name":"h1"},`
	a.add("/apis/"+metal3V+"/hostfirmwaresettings", names+`"spec":{"settings":{"ProcTurbo":"Enabled","Cores":8,"Gone":"x"}},
		"status":{"settings":{"ProcTurbo":"Disabled","Cores":"8","Other":"y"},"conditions":[{"type":"ChangeDetected","status":"True","lastTransitionTime":"2026-11-10T00:00:00Z"}]}}`)
	a.add("/apis/"+metal3V+"/hostfirmwarecomponents", names+`"spec":{"updates":[{"component":"bios","url":"http://f/2"},{"component":"bmc","url":"http://f/3"}]},"status":{"updates":[{"component":"bios","url":"http://f/1"}]}}`)
	a.add("/apis/"+metal3V+"/hostupdatepolicies", names+`"spec":{"firmwareSettings":"onReboot"}}`)
	h := a.read(Options{}).Hosts[0]
	desired := map[string]string{
		"image.url": "http://i/9", "firmware.ProcTurbo": "Enabled", "firmware.Cores": "8", "firmware.Gone": "x", "firmware.component.bios": "http://f/2", "firmware.component.bmc": "http://f/3",
	}
	applied := map[string]string{"image.url": "http://i/1", "image.checksum": "c1", "firmware.ProcTurbo": "Disabled", "firmware.Cores": "8", "firmware.component.bios": "http://f/1"}
	if diff := cmp.Diff(desired, h.Desired) + cmp.Diff(applied, h.Applied); diff != "" {
		t.Error(diff)
	}
	if !h.OnReboot || !h.DriftedSince.Equal(time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", h)
	}
}
