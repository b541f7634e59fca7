package hosts_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// fullHost is a host in the types of the API, whose names for the fields ours must be.
func fullHost() *metal3.BareMetalHost {
	now := metav1.Now()
	raw := "raw"
	h := &metal3.BareMetalHost{
		TypeMeta: metav1.TypeMeta{Kind: "BareMetalHost", APIVersion: metal3.GroupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "metal3", Name: "one", UID: "u1", ResourceVersion: "77", DeletionTimestamp: &now,
			Annotations: map[string]string{
				metal3.PausedAnnotation: "", metal3.DetachedAnnotation: `{"deleteAction":"delay"}`, metal3.StatusAnnotation: `{"errorCount":9}`,
				hosts.HoldoffAnnotation: "48h", hosts.ReleaseAnnotation: "e-1234", hosts.PlannedAnnotation: "true",
			},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{}}`)}}},
		},
		Spec: metal3.BareMetalHostSpec{
			BMC:      metal3.BMCDetails{Address: "redfish://192.0.2.1/1", CredentialsName: "one-bmc"},
			RAID:     &metal3.RAIDConfig{HardwareRAIDVolumes: []metal3.HardwareRAIDVolume{{Level: "1"}}},
			Firmware: &metal3.FirmwareConfig{SriovEnabled: new(true)}, //nolint:staticcheck // hosts that older operators made have it
			Image:    &metal3.Image{URL: "http://images/a.raw", Checksum: "http://images/a.sum", DiskFormat: &raw},
			Online:   true,
		},
		Status: metal3.BareMetalHostStatus{
			OperationalStatus: metal3.OperationalStatusError, ErrorType: metal3.ProvisioningError, ErrorMessage: "no", ErrorCount: 3,
			Provisioning:     metal3.ProvisionStatus{State: metal3.StateProvisioning, ID: strings.ToUpper(nodeOne)},
			TriedCredentials: metal3.CredentialsStatus{Version: "12"},
			GoodCredentials:  metal3.CredentialsStatus{Version: "11"},
			HardwareDetails:  &metal3.HardwareDetails{Hostname: "one", RAMMebibytes: 1024},
			Conditions:       []metav1.Condition{{Type: metal3.ReadyCondition, Status: metav1.ConditionFalse, Reason: metal3.ErrorReason}},
		},
	}
	if err := json.Unmarshal([]byte(`{"kind":"Metal3Machine","namespace":"cluster-a","name":"m-0"}`), &h.Spec.ConsumerRef); err != nil {
		panic(err)
	}
	return h
}

func toJSON(t testing.TB, h *metal3.BareMetalHost) string {
	t.Helper()
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func read(t *testing.T, text string) hosts.Host {
	t.Helper()
	h, err := hosts.Read([]byte(text))
	if err != nil {
		t.Fatalf("%.1000s: %v", text, err)
	}
	return h
}

// The names of fields and annotations are those of the API's own types, which cost too much memory to decode.
func TestNamesOfTheAPI(t *testing.T) {
	h := read(t, toJSON(t, fullHost()))
	want := hosts.Host{
		Namespace: "metal3", Name: "one", UID: "u1", NodeUUID: nodeOne, State: api.BMHProvisioning, ErrorCount: 3,
		ErrorType: "provisioning error", Deleting: true, Paused: true, Detached: true, Planned: true, Spec: h.Spec, Consumer: "cluster-a", Machine: "m-0",
		Holdoff: "48h", Release: "e-1234",
	}
	if diff := cmp.Diff(want, h); diff != "" || h.Spec == "" {
		t.Error(diff)
	}
	// The types do not have it yet; once they do, fullHost is to have it too.
	for f := range reflect.TypeFor[metal3.BareMetalHostStatus]().Fields() {
		if strings.HasPrefix(f.Tag.Get("json"), "provisioningFailCount") {
			t.Errorf("status.provisioningFailCount is in the types of the API now: fullHost must have it")
		}
	}
	for state, word := range map[metal3.ProvisioningState]api.BMHState{
		metal3.StateRegistering: api.BMHRegistering, metal3.StateInspecting: api.BMHInspecting, metal3.StatePreparing: api.BMHPreparing,
		metal3.StateAvailable: api.BMHAvailable, metal3.StateReady: api.BMHReady, metal3.StateProvisioning: api.BMHProvisioning,
		metal3.StateProvisioned: api.BMHProvisioned, metal3.StateExternallyProvisioned: api.BMHExternallyProvisioned,
		metal3.StateDeprovisioning: api.BMHDeprovisioning,
	} {
		if string(state) != string(word) {
			t.Errorf("state %q is %q in pkg/api", state, word)
		}
	}
}

// A field of another type than it should have, or with a value that cannot be meant, is as if absent; the others count.
func TestOddFields(t *testing.T) {
	long := strings.Repeat("ä", 300)
	cut := strings.Repeat("ä", 64) + "…"
	for fields, want := range map[string]hosts.Host{
		`"status":{"errorCount":"3","provisioningFailCount":2}`:                                                              {ProvisioningFailCount: 2},
		`"status":{"errorCount":99999999999999999999}`:                                                                       {ErrorCount: 9},
		`"status":{"errorCount":-1e300,"provisioningFailCount":1e300}`:                                                       {ProvisioningFailCount: 9},
		`"status":{"errorCount":3.0,"provisioningFailCount":1e400}`:                                                          {ErrorCount: 3},
		`"status":{"errorCount":null,"provisioning":{"state":{}}}`:                                                           {},
		`"status":{"provisioning":{"ID":"temporary-fake-id"}}`:                                                               {},
		`"status":[],"spec":null`:                                                                                            {},
		`"spec":{"bmc":7},"status":{"errorType":"x"}`:                                                                        {ErrorType: "x"},
		`"spec":{"consumerRef":null}`:                                                                                        {},
		`"spec":{"consumerRef":{"kind":"Metal3Machine","name":"m-0"}}`:                                                       {},
		`"spec":{"consumerRef":{"namespace":"team-b"}}`:                                                                      {Consumer: "team-b"},
		`"spec":{"consumerRef":{"namespace":"Team B"}}`:                                                                      {},
		`"spec":{"consumerRef":{"namespace":"a~b"}}`:                                                                         {},
		`"spec":{"consumerRef":{"namespace":7}}`:                                                                             {},
		`"status":{"errorType":"` + long + `"}`:                                                                              {ErrorType: cut},
		`"status":{"provisioning":{"state":"` + long + `"}}`:                                                                 {State: api.BMHState(cut)},
		`"metadata":{"name":"one","namespace":"metal3","annotations":"no"}`:                                                  {},
		`"metadata":{"name":"one","namespace":"metal3","annotations":{"ironic-throttle.metal3.io/holdoff":true}}`:            {},
		`"metadata":{"name":"one","namespace":"metal3","annotations":{"ironic-throttle.metal3.io/release":"` + long + `"}}`:  {Release: cut},
		`"metadata":{"name":"one","namespace":"metal3","annotations":{"ironic-throttle.metal3.io/holdoff":"` + long + `h"}}`: {Holdoff: cut},
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
	other := "qcow2"
	one := func(change func(*metal3.BareMetalHost)) hosts.Host {
		b := fullHost()
		change(b)
		return read(t, toJSON(t, b))
	}
	before := one(func(*metal3.BareMetalHost) {}).Spec
	seen := map[string]string{before: "before"}
	for name, change := range map[string]func(*metal3.BareMetalHost){
		"image URL":           func(b *metal3.BareMetalHost) { b.Spec.Image.URL += "2" },
		"image checksum":      func(b *metal3.BareMetalHost) { b.Spec.Image.Checksum += "2" },
		"image format":        func(b *metal3.BareMetalHost) { b.Spec.Image.DiskFormat = &other },
		"RAID level":          func(b *metal3.BareMetalHost) { b.Spec.RAID.HardwareRAIDVolumes[0].Level = "5" },
		"no RAID":             func(b *metal3.BareMetalHost) { b.Spec.RAID = nil },
		"RAID of no volumes":  func(b *metal3.BareMetalHost) { b.Spec.RAID.HardwareRAIDVolumes = []metal3.HardwareRAIDVolume{} },
		"custom deployment":   func(b *metal3.BareMetalHost) { b.Spec.CustomDeploy = &metal3.CustomDeploy{Method: "install"} },
		"firmware":            func(b *metal3.BareMetalHost) { b.Spec.Firmware.SriovEnabled = new(false) }, //nolint:staticcheck // older operators
		"BMC address":         func(b *metal3.BareMetalHost) { b.Spec.BMC.Address += "2" },
		"credentials name":    func(b *metal3.BareMetalHost) { b.Spec.BMC.CredentialsName += "2" },
		"credentials version": func(b *metal3.BareMetalHost) { b.Status.TriedCredentials.Version = "13" },
		"address for name": func(b *metal3.BareMetalHost) {
			b.Spec.BMC.Address, b.Spec.BMC.CredentialsName = b.Spec.BMC.Address+b.Spec.BMC.CredentialsName, ""
		},
	} {
		got := one(change).Spec
		if was, ok := seen[got]; ok {
			t.Errorf("%s: the hash is that of %s", name, was)
		}
		seen[got] = name
	}
	for name, change := range map[string]func(*metal3.BareMetalHost){
		"the status": func(b *metal3.BareMetalHost) {
			b.Status = metal3.BareMetalHostStatus{TriedCredentials: b.Status.TriedCredentials, PoweredOn: true, ErrorCount: 7}
		},
		"what was provisioned": func(b *metal3.BareMetalHost) {
			b.Status.Provisioning.Image, b.Status.Provisioning.RAID = *b.Spec.Image, b.Spec.RAID
		},
		"credentials found good":   func(b *metal3.BareMetalHost) { b.Status.GoodCredentials.Version = "12" },
		"the rest of the metadata": func(b *metal3.BareMetalHost) { b.ObjectMeta = metav1.ObjectMeta{ResourceVersion: "78"} },
		"other parts of the spec":  func(b *metal3.BareMetalHost) { b.Spec.Online, b.Spec.Description = false, "x" },
		"an empty deployment":      func(b *metal3.BareMetalHost) { b.Spec.CustomDeploy = &metal3.CustomDeploy{} },
	} {
		if got := one(change); got.Spec != before || got.Bare {
			t.Errorf("%s: %+v, want %s", name, got, before)
		}
	}
	// Without an image, or with one that BMO takes for none, the rest of the hash is what it was.
	_, rest, _ := strings.Cut(before, "/")
	for name, change := range map[string]func(*metal3.BareMetalHost){
		"no image":                func(b *metal3.BareMetalHost) { b.Spec.Image = nil },
		"empty image URL":         func(b *metal3.BareMetalHost) { b.Spec.Image.URL = "" },
		"empty image":             func(b *metal3.BareMetalHost) { b.Spec.Image = &metal3.Image{} },
		"empty deployment method": func(b *metal3.BareMetalHost) { b.Spec.Image, b.Spec.CustomDeploy = nil, &metal3.CustomDeploy{} },
	} {
		if got := one(change); !got.Bare || got.Spec != "k2:-/"+rest {
			t.Errorf("%s: %+v, want it bare", name, got)
		}
	}
	a, b := read(t, `{"spec":{"image":{"url":"u","checksum":"c"},"raid":null}}`), read(t, `{"spec":{"image":{ "checksum":"c", "url":"\u0075"}}}`)
	if a.Spec != b.Spec {
		t.Errorf("the form of the text moves the hash: %+v, %+v", a, b)
	}
}

// FuzzObject: any JSON is a host, and what is kept of it is bounded.
func FuzzObject(f *testing.F) {
	f.Add([]byte(toJSON(f, fullHost())))
	for _, text := range []string{`{}`, `null`, `[]`, `{"metadata":{"name":"\ud800","namespace":"\"\""}}`, `{"status":{"errorCount":1e999,"errorType":"\u0000"}}`,
		`{"spec":{"image":{"a":1,"a":2}}}`, "{\"metadata\":{\"name\":\"\xff\"}}", `{"\"":1,"":2}`, `{"spec":{"raid":1e999,"firmware":[1e20]}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := hosts.Read(text)
		if !json.Valid(text) {
			return
		}
		if err != nil || h.Spec == "" || h.ErrorCount < 0 || h.ErrorCount > 9 || h.ProvisioningFailCount < 0 || h.ProvisioningFailCount > 9 {
			t.Errorf("%+v, %v", h, err)
		}
		for _, kept := range []string{h.Holdoff, h.Release, h.ErrorType, string(h.State), h.Namespace, h.Machine} {
			if len(kept) > 131 || len(kept) > 128 && !utf8.ValidString(kept) {
				t.Errorf("%d bytes are kept: %q", len(kept), kept)
			}
		}
	})
}
