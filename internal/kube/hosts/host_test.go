package hosts

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
)

const node = "11111111-aaaa-4bbb-8ccc-0123456789ab"

// with is a host in the types of the API, whose names for the fields ours must be, after a change.
func with(t *testing.T, change func(*metal3.BareMetalHost)) Host {
	t.Helper()
	now := metav1.Now()
	b := &metal3.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "metal3", Name: "one", UID: "u1", ResourceVersion: "77", DeletionTimestamp: &now,
			Annotations: map[string]string{
				metal3.PausedAnnotation: "", metal3.StatusAnnotation: `{"errorCount":9}`,
				HoldoffAnnotation: "48h", ReleaseAnnotation: "e-1234", PlannedAnnotation: "true",
			},
		},
		Spec: metal3.BareMetalHostSpec{
			BMC:         metal3.BMCDetails{Address: "redfish://192.0.2.1/1", CredentialsName: "one-bmc"},
			RAID:        &metal3.RAIDConfig{HardwareRAIDVolumes: []metal3.HardwareRAIDVolume{{Level: "1"}}},
			Image:       &metal3.Image{URL: "http://images/a.raw", Checksum: "http://images/a.sum"},
			ConsumerRef: &corev1.ObjectReference{Kind: "Metal3Machine", Namespace: "cluster-a", Name: "m-0"},
		},
		Status: metal3.BareMetalHostStatus{
			ErrorCount: 3, Provisioning: metal3.ProvisionStatus{ID: strings.ToUpper(node)},
			TriedCredentials: metal3.CredentialsStatus{Version: "12"}, GoodCredentials: metal3.CredentialsStatus{Version: "11"},
		},
	}
	change(b)
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, string(text))
}

func read(t *testing.T, text string) (h Host) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		t.Fatalf("%.1000s: %v", text, err)
	}
	return h
}

// The names of fields and annotations are those of the API's own types, which cost too much memory to decode.
func TestNamesOfTheAPI(t *testing.T) {
	h := with(t, func(*metal3.BareMetalHost) {})
	want := Host{Machine: "m-0", Holdoff: "48h", Host: admission.Host{
		Namespace: "metal3", Name: "one", UID: "u1", NodeUUID: node, ErrorCount: 3, Tenant: "cluster-a",
		Deleting: true, Left: true, Planned: true, Spec: h.Spec, Release: "e-1234",
	}}
	if diff := cmp.Diff(want, h); diff != "" || h.Spec == "" {
		t.Error(diff)
	}
	if !with(t, func(b *metal3.BareMetalHost) { b.Annotations = map[string]string{metal3.DetachedAnnotation: ""} }).Left {
		t.Error("a detached host is not left alone")
	}
	if _, ok := reflect.TypeFor[metal3.BareMetalHostStatus]().FieldByName("ProvisioningFailCount"); ok {
		t.Error("status.provisioningFailCount is in the types of the API now: it must be here")
	}
}

// A field of another type than it should have, or with a value that cannot be meant, is as if absent; the others count.
func TestOddFields(t *testing.T) {
	long := strings.Repeat("ä", 300)
	cut := strings.Repeat("ä", 62) + "…"
	for fields, want := range map[string]Host{
		`"status":{"errorCount":"3","provisioningFailCount":2}`:                   {Host: admission.Host{FailCount: 2}},
		`"status":{"errorCount":99,"provisioningFailCount":-1}`:                   {Host: admission.Host{ErrorCount: 9}},
		`"status":{"provisioning":{"ID":"temporary-fake-id"}}`:                    {},
		`"status":[],"spec":null`:                                                 {},
		`"spec":{"bmc":7},"status":{"errorCount":1}`:                              {Host: admission.Host{ErrorCount: 1}},
		`"spec":{"consumerRef":{"kind":"Metal3Machine","name":"m-0"}}`:            {},
		`"spec":{"consumerRef":{"namespace":"team-b"}}`:                           {Host: admission.Host{Tenant: "team-b"}},
		`"spec":{"consumerRef":{"namespace":"a~b"}}`:                              {},
		`"metadata":{"annotations":{"` + HoldoffAnnotation + `":true}}`:           {},
		`"metadata":{"annotations":{"` + ReleaseAnnotation + `":"` + long + `"}}`: {Host: admission.Host{Release: cut}},
	} {
		h := read(t, "{"+fields+"}")
		want.Bare, want.Spec = true, h.Spec
		if h != want {
			t.Errorf("%.300s: %+v, want %+v", fields, h, want)
		}
	}
}

// Each input of the hash moves it, and nothing that BMO writes, nor the form in which it is written.
func TestTheHashOfTheSpec(t *testing.T) {
	before := with(t, func(*metal3.BareMetalHost) {}).Spec
	_, rest, _ := strings.Cut(before, "/")
	seen := map[string]bool{before: true}
	for name, row := range map[string]struct {
		want   string // "" = another one than all others
		change func(*metal3.BareMetalHost)
	}{
		"image URL":           {"", func(b *metal3.BareMetalHost) { b.Spec.Image.URL += "2" }},
		"image checksum":      {"", func(b *metal3.BareMetalHost) { b.Spec.Image.Checksum += "2" }},
		"RAID level":          {"", func(b *metal3.BareMetalHost) { b.Spec.RAID.HardwareRAIDVolumes[0].Level = "5" }},
		"no RAID":             {"", func(b *metal3.BareMetalHost) { b.Spec.RAID = nil }},
		"custom deployment":   {"", func(b *metal3.BareMetalHost) { b.Spec.CustomDeploy = &metal3.CustomDeploy{Method: "install"} }},
		"firmware":            {"", func(b *metal3.BareMetalHost) { b.Spec.Firmware = &metal3.FirmwareConfig{} }}, //nolint:staticcheck // older operators
		"BMC address":         {"", func(b *metal3.BareMetalHost) { b.Spec.BMC.Address += "2" }},
		"credentials name":    {"", func(b *metal3.BareMetalHost) { b.Spec.BMC.CredentialsName += "2" }},
		"credentials version": {"", func(b *metal3.BareMetalHost) { b.Status.TriedCredentials.Version = "13" }},
		"the status": {before, func(b *metal3.BareMetalHost) {
			b.Status = metal3.BareMetalHostStatus{TriedCredentials: b.Status.TriedCredentials, PoweredOn: true, ErrorCount: 7}
		}},
		"the rest of the spec":     {before, func(b *metal3.BareMetalHost) { b.Spec.Online, b.Spec.Description = true, "x" }},
		"the rest of the metadata": {before, func(b *metal3.BareMetalHost) { b.ObjectMeta = metav1.ObjectMeta{ResourceVersion: "78"} }},
		"an empty deployment":      {before, func(b *metal3.BareMetalHost) { b.Spec.CustomDeploy = &metal3.CustomDeploy{} }},
		"no image":                 {"k2:-/" + rest, func(b *metal3.BareMetalHost) { b.Spec.Image = nil }},
		"empty image URL":          {"k2:-/" + rest, func(b *metal3.BareMetalHost) { b.Spec.Image.URL = "" }},
	} {
		h := with(t, row.change)
		if row.want != "" && h.Spec != row.want || row.want == "" && seen[h.Spec] || h.Bare != strings.HasPrefix(h.Spec, "k2:-/") {
			t.Errorf("%s: %+v, want %s", name, h, row.want)
		}
		seen[h.Spec] = true
	}
	a, b := read(t, `{"spec":{"image":{"url":"u","checksum":"c"},"raid":null}}`), read(t, `{"spec":{"image":{ "checksum":"c", "url":"\u0075"}}}`)
	if a.Spec != b.Spec {
		t.Errorf("the form of the text moves the hash: %+v, %+v", a, b)
	}
}
