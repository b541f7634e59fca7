package hosts_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
)

// fullHost is a host in the types of the API, whose names for the fields ours must be.
func fullHost() *metal3.BareMetalHost {
	now := metav1.Now()
	raw := "raw"
	return &metal3.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "metal3", Name: "one", UID: "u1", ResourceVersion: "77", DeletionTimestamp: &now,
			Annotations: map[string]string{
				metal3.PausedAnnotation: "", metal3.StatusAnnotation: `{"errorCount":9}`,
				hosts.HoldoffAnnotation: "48h", hosts.ReleaseAnnotation: "e-1234", hosts.PlannedAnnotation: "true",
			},
		},
		Spec: metal3.BareMetalHostSpec{
			BMC:         metal3.BMCDetails{Address: "redfish://192.0.2.1/1", CredentialsName: "one-bmc"},
			RAID:        &metal3.RAIDConfig{HardwareRAIDVolumes: []metal3.HardwareRAIDVolume{{Level: "1"}}},
			Firmware:    &metal3.FirmwareConfig{SriovEnabled: new(true)}, //nolint:staticcheck // hosts that older operators made have it
			Image:       &metal3.Image{URL: "http://images/a.raw", Checksum: "http://images/a.sum", DiskFormat: &raw},
			ConsumerRef: &corev1.ObjectReference{Kind: "Metal3Machine", Namespace: "cluster-a", Name: "m-0"},
			Online:      true,
		},
		Status: metal3.BareMetalHostStatus{
			OperationalStatus: metal3.OperationalStatusError, ErrorType: metal3.ProvisioningError, ErrorMessage: "no", ErrorCount: 3,
			Provisioning:     metal3.ProvisionStatus{State: metal3.StateProvisioning, ID: strings.ToUpper(nodeOne)},
			TriedCredentials: metal3.CredentialsStatus{Version: "12"},
			GoodCredentials:  metal3.CredentialsStatus{Version: "11"},
			HardwareDetails:  &metal3.HardwareDetails{Hostname: "one", RAMMebibytes: 1024},
		},
	}
}

func read(t *testing.T, text string) (h hosts.Host) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		t.Fatalf("%.1000s: %v", text, err)
	}
	return h
}

// with is the full host with a change.
func with(t *testing.T, change func(*metal3.BareMetalHost)) hosts.Host {
	t.Helper()
	b := fullHost()
	change(b)
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, string(text))
}

// The names of fields and annotations are those of the API's own types, which cost too much memory to decode.
func TestNamesOfTheAPI(t *testing.T) {
	h := with(t, func(*metal3.BareMetalHost) {})
	want := hosts.Host{
		Namespace: "metal3", Name: "one", UID: "u1", NodeUUID: nodeOne, ErrorCount: 3, ErrorType: "provisioning error",
		Deleting: true, Left: true, Planned: true, Spec: h.Spec, Consumer: "cluster-a", Machine: "m-0", Holdoff: "48h", Release: "e-1234",
	}
	if diff := cmp.Diff(want, h); diff != "" || h.Spec == "" {
		t.Error(diff)
	}
	h = with(t, func(b *metal3.BareMetalHost) { b.Annotations = map[string]string{metal3.DetachedAnnotation: ""} })
	if !h.Left {
		t.Error("a detached host is not left alone")
	}
	// The types do not have it yet; once they do, fullHost is to have it too.
	if _, ok := reflect.TypeFor[metal3.BareMetalHostStatus]().FieldByName("ProvisioningFailCount"); ok {
		t.Error("status.provisioningFailCount is in the types of the API now: fullHost must have it")
	}
}

// A field of another type than it should have, or with a value that cannot be meant, is as if absent; the others count.
func TestOddFields(t *testing.T) {
	long := strings.Repeat("ä", 300)
	cut := strings.Repeat("ä", 62) + "…"
	for fields, want := range map[string]hosts.Host{
		`"status":{"errorCount":"3","provisioningFailCount":2}`:                                                             {ProvisioningFailCount: 2},
		`"status":{"errorCount":99,"provisioningFailCount":-1}`:                                                             {ErrorCount: 9},
		`"status":{"errorCount":null,"provisioning":{"ID":{}}}`:                                                             {},
		`"status":{"provisioning":{"ID":"temporary-fake-id"}}`:                                                              {},
		`"status":[],"spec":null`:                                                                                           {},
		`"spec":{"bmc":7},"status":{"errorType":"x"}`:                                                                       {ErrorType: "x"},
		`"spec":{"consumerRef":{"kind":"Metal3Machine","name":"m-0"}}`:                                                      {},
		`"spec":{"consumerRef":{"namespace":"team-b"}}`:                                                                     {Consumer: "team-b"},
		`"spec":{"consumerRef":{"namespace":"a~b"}}`:                                                                        {},
		`"status":{"errorType":"` + long + `"}`:                                                                             {ErrorType: cut},
		`"metadata":{"name":"one","namespace":"metal3","annotations":{"ironic-throttle.metal3.io/holdoff":true}}`:           {},
		`"metadata":{"name":"one","namespace":"metal3","annotations":{"ironic-throttle.metal3.io/release":"` + long + `"}}`: {Release: cut},
	} {
		text := "{" + fields + "}"
		if !strings.Contains(text, "metadata") {
			text = `{"metadata":{"name":"one","namespace":"metal3"},` + fields + "}"
		}
		h := read(t, text)
		want.Namespace, want.Name, want.Bare, want.Spec = "metal3", "one", true, h.Spec
		if h != want {
			t.Errorf("%.300s: %+v, want %+v", text, h, want)
		}
	}
}

// Each input of the hash moves it, and nothing that BMO writes, nor the form in which it is written.
func TestTheHashOfTheSpec(t *testing.T) {
	before := with(t, func(*metal3.BareMetalHost) {}).Spec
	_, rest, _ := strings.Cut(before, "/")
	seen := map[string]string{}
	for name, row := range map[string]struct {
		want   string // "" = another one than all others
		change func(*metal3.BareMetalHost)
	}{
		"image URL":           {"", func(b *metal3.BareMetalHost) { b.Spec.Image.URL += "2" }},
		"image checksum":      {"", func(b *metal3.BareMetalHost) { b.Spec.Image.Checksum += "2" }},
		"RAID level":          {"", func(b *metal3.BareMetalHost) { b.Spec.RAID.HardwareRAIDVolumes[0].Level = "5" }},
		"no RAID":             {"", func(b *metal3.BareMetalHost) { b.Spec.RAID = nil }},
		"custom deployment":   {"", func(b *metal3.BareMetalHost) { b.Spec.CustomDeploy = &metal3.CustomDeploy{Method: "install"} }},
		"BMC address":         {"", func(b *metal3.BareMetalHost) { b.Spec.BMC.Address += "2" }},
		"credentials name":    {"", func(b *metal3.BareMetalHost) { b.Spec.BMC.CredentialsName += "2" }},
		"credentials version": {"", func(b *metal3.BareMetalHost) { b.Status.TriedCredentials.Version = "13" }},

		"the status": {before, func(b *metal3.BareMetalHost) {
			b.Status = metal3.BareMetalHostStatus{TriedCredentials: b.Status.TriedCredentials, PoweredOn: true, ErrorCount: 7}
		}},
		"the rest of the spec":     {before, func(b *metal3.BareMetalHost) { b.Spec.Online, b.Spec.Description = false, "x" }},
		"the rest of the metadata": {before, func(b *metal3.BareMetalHost) { b.ObjectMeta = metav1.ObjectMeta{ResourceVersion: "78"} }},
		"an empty deployment":      {before, func(b *metal3.BareMetalHost) { b.Spec.CustomDeploy = &metal3.CustomDeploy{} }},

		"no image":        {"k2:-/" + rest, func(b *metal3.BareMetalHost) { b.Spec.Image = nil }},
		"empty image URL": {"k2:-/" + rest, func(b *metal3.BareMetalHost) { b.Spec.Image.URL = "" }},
	} {
		h := with(t, row.change)
		if row.want != "" && h.Spec != row.want || h.Bare != strings.HasPrefix(h.Spec, "k2:-/") {
			t.Errorf("%s: %+v, want %s", name, h, row.want)
		}
		if was, ok := seen[h.Spec]; row.want == "" && (ok || h.Spec == before) {
			t.Errorf("%s: the hash is that of %s", name, was)
		}
		seen[h.Spec] = name
	}
	a, b := read(t, `{"spec":{"image":{"url":"u","checksum":"c"},"raid":null}}`), read(t, `{"spec":{"image":{ "checksum":"c", "url":"\u0075"}}}`)
	if a.Spec != b.Spec {
		t.Errorf("the form of the text moves the hash: %+v, %+v", a, b)
	}
}

// FuzzObject: any JSON is a host, and what is kept of it is bounded.
func FuzzObject(f *testing.F) {
	for _, text := range []string{`null`, `[]`, `{"metadata":{"name":"\ud800"}}`, `{"status":{"errorCount":1e999}}`, `{"spec":{"raid":1e999,"firmware":[1e20]}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var h hosts.Host
		if err := json.Unmarshal(text, &h); json.Valid(text) && (err != nil || h.Spec == "" || max(h.ErrorCount, h.ProvisioningFailCount) > 9 ||
			max(len(h.Holdoff), len(h.Release), len(h.ErrorType), len(h.Namespace), len(h.Machine)) > 128) {
			t.Errorf("%+v, %v", h, err)
		}
	})
}
