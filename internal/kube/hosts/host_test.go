package hosts

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

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
				HoldoffAnnotation: "48h", ReleaseAnnotation: "e-1234", PlannedAnnotation: "true",
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

func toJSON(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func decode(raw []byte) (object, error) { return decodeObject(newStream(bytes.NewReader(raw)).Decode) }

func read(t testing.TB, raw []byte) Host {
	t.Helper()
	o, err := decode(raw)
	if o.fault != nil || err != nil {
		t.Fatalf("%v, %v", o.fault, err)
	}
	return o.host
}

// TestNamesOfTheAPI holds the names of fields and annotations equal to those of the API's
// own types, which cost too much memory to decode.
func TestNamesOfTheAPI(t *testing.T) {
	raw := toJSON(t, fullHost())
	o, err := decode(raw)
	if o.version != "77" || o.fault != nil || err != nil {
		t.Fatalf("version %q, %v, %v", o.version, o.fault, err)
	}
	h := o.host
	want := Host{
		Namespace: "metal3", Name: "one", UID: "u1", NodeUUID: nodeOne, State: api.BMHProvisioning, ErrorCount: 3,
		ErrorType: "provisioning error", Deleting: true, Paused: true, Detached: true, Planned: true, Spec: h.Spec, Consumer: "cluster-a", Machine: "m-0", Holdoff: "48h", Release: "e-1234",
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Error(diff)
	}
	if groupVersion.String() != metal3.GroupVersion.String() {
		t.Errorf("group and version %v, want %v", groupVersion, metal3.GroupVersion)
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

// Whoever consumes a host is its tenant; what is no name of a namespace is nobody's.
func TestConsumers(t *testing.T) {
	for spec, want := range map[string]string{
		`{}`:                   "",
		`{"consumerRef":null}`: "",
		`{"consumerRef":{"kind":"Metal3Machine","name":"m-0"}}`:                      "",
		`{"consumerRef":{"kind":"Metal3Machine","namespace":"","name":"m-0"}}`:       "",
		`{"consumerRef":{"kind":"Metal3Machine","namespace":"metal3","name":"m-0"}}`: "metal3",
		`{"consumerRef":{"kind":"HostClaim","namespace":"team-b","name":"c"}}`:       "team-b",
		`{"consumerRef":{"namespace":"Team B","name":"c"}}`:                          "",
		`{"consumerRef":{"namespace":"a~b","name":"c"}}`:                             "",
		`{"consumerRef":{"namespace":"` + strings.Repeat("n", 64) + `","name":"c"}}`: "",
	} {
		if h := read(t, []byte(`{"metadata":{"namespace":"metal3","name":"one"},"spec":`+spec+`}`)); h.Consumer != want {
			t.Errorf("%s: consumer %q, want %q", spec, h.Consumer, want)
		}
	}
	o, err := decode([]byte(`{"metadata":{"namespace":"metal3","name":"one"},"spec":{"consumerRef":{"namespace":7}}}`))
	if err != nil || o.fault == nil || o.host.Consumer != "" || o.host.Name != "one" {
		t.Errorf("of another type: %+v, %v", o, err)
	}
}

func TestCounts(t *testing.T) {
	for text, want := range map[string]int{
		`0`: 0, `4`: 4, `9`: 9, `10`: 9, `-1`: 0, `-99999999999999999999`: 0, `99999999999999999999`: 9, `1e300`: 9, `-1e300`: 0, `3.0`: 3, `2e0`: 2, `null`: 0,
	} {
		raw := []byte(`{"status":{"errorCount":` + text + `,"provisioningFailCount":` + text + `}}`)
		if h := read(t, raw); h.ErrorCount != want || h.ProvisioningFailCount != want {
			t.Errorf("%s is %d and %d, want %d", text, h.ErrorCount, h.ProvisioningFailCount, want)
		}
	}
	if a := (api.Ask{ErrorCount: math.MaxInt32}).Normalize(); a.ErrorCount != 9 {
		t.Errorf("an ask's count ends at %d, so ours should", a.ErrorCount)
	}
}

func TestOddFields(t *testing.T) {
	for raw, want := range map[string]string{
		`{"status":{"errorCount":"3"}}`:                                           `status.errorCount: of the wrong type: string`,
		`{"status":{"errorCount":{"a":[1]}},"metadata":[]}`:                       `status.errorCount: of the wrong type: object`,
		`{"status":{"errorCount":1e400,"provisioningFailCount":-1e400}}`:          `status.errorCount: of the wrong type: number 1e400`,
		`{"metadata":{"name":["a"]}}`:                                             `metadata.name: of the wrong type: array`,
		`{"metadata":{"annotations":"no"}}`:                                       `metadata.annotations: of the wrong type: string`,
		`{"metadata":{"annotations":{"ironic-throttle.metal3.io/holdoff":true}}}`: `metadata.annotations: of the wrong type: bool`,
		`{"spec":{"bmc":7}}`:                                                      `spec.bmc: of the wrong type: number`,
		`{"status":{"provisioning":{"state":{}}}}`:                                `status.provisioning.state: of the wrong type: object`,
		`{"status":{"triedCredentials":{"credentialsVersion":1}}}`:                `status.triedCredentials.credentialsVersion: of the wrong type: number`,
		`[]`: `object: of the wrong type: array`,
	} {
		o, err := decode([]byte(raw))
		if err != nil || o.fault == nil || o.fault.Error() != want {
			t.Errorf("%s: fault %v, error %v, want %q", raw, o.fault, err, want)
		}
		if o.host.Spec = ""; o.host != (Host{Bare: true}) {
			t.Errorf("%s: %+v, want what is absent", raw, o.host)
		}
	}
	for _, raw := range []string{`null`, `{}`, `{"metadata":null,"spec":null,"status":null}`, `{"status":{"provisioning":{"ID":"temporary-fake-id"}}}`,
		`{"metadata":{"annotations":{},"deletionTimestamp":null}}`} {
		if h := read(t, []byte(raw)); h.Spec == "" || h != (Host{Spec: h.Spec, Bare: true}) {
			t.Errorf("%s: %+v, want nothing but the hash of a host without an image", raw, h)
		}
	}
	for _, raw := range []string{``, `{`, `{"status":`, `{"status":{"errorCount":3}`, `{"metadata" 7}`} {
		if _, err := decode([]byte(raw)); err == nil {
			t.Errorf("%q is read", raw)
		}
	}
}

// TestLongTexts: who may write an annotation may not fill our memory, nor make another
// value of one that is cut.
func TestLongTexts(t *testing.T) {
	for _, long := range []string{strings.Repeat("1", 300) + "h", strings.Repeat("ä", 300), strings.Repeat("x", maxText+1)} {
		b := fullHost()
		b.Annotations[HoldoffAnnotation], b.Annotations[ReleaseAnnotation] = long, long
		b.Status.Provisioning.State, b.Status.ErrorType = metal3.ProvisioningState(long), metal3.ErrorType(long)
		h := read(t, toJSON(t, b))
		for _, got := range []string{h.Holdoff, h.Release, string(h.State), h.ErrorType} {
			if len(got) > maxText+3 || !strings.HasSuffix(got, "…") || !utf8.ValidString(got) {
				t.Errorf("%q of %d bytes", got, len(got))
			}
		}
	}
	exact := strings.Repeat("x", maxText)
	if short(exact) != exact {
		t.Error("a text that is just short enough is cut")
	}
}

// TestBO11_SpecHash: each of its inputs moves the hash, and nothing that BMO writes, nor
// the form in which it is written.
func TestBO11_SpecHash(t *testing.T) {
	before := read(t, toJSON(t, fullHost())).Spec
	other := "qcow2"
	moves := map[string]func(*metal3.BareMetalHost){
		"image URL":           func(b *metal3.BareMetalHost) { b.Spec.Image.URL += "2" },
		"image checksum":      func(b *metal3.BareMetalHost) { b.Spec.Image.Checksum += "2" },
		"image format":        func(b *metal3.BareMetalHost) { b.Spec.Image.DiskFormat = &other },
		"RAID level":          func(b *metal3.BareMetalHost) { b.Spec.RAID.HardwareRAIDVolumes[0].Level = "5" },
		"no RAID":             func(b *metal3.BareMetalHost) { b.Spec.RAID = nil },
		"RAID of no volumes":  func(b *metal3.BareMetalHost) { b.Spec.RAID.HardwareRAIDVolumes = []metal3.HardwareRAIDVolume{} },
		"custom deployment":   func(b *metal3.BareMetalHost) { b.Spec.CustomDeploy = &metal3.CustomDeploy{Method: "install"} },
		"firmware":            func(b *metal3.BareMetalHost) { b.Spec.Firmware.SriovEnabled = new(false) }, //nolint:staticcheck // hosts that older operators made have it
		"BMC address":         func(b *metal3.BareMetalHost) { b.Spec.BMC.Address += "2" },
		"credentials name":    func(b *metal3.BareMetalHost) { b.Spec.BMC.CredentialsName += "2" },
		"credentials version": func(b *metal3.BareMetalHost) { b.Status.TriedCredentials.Version = "13" },
		"address for name": func(b *metal3.BareMetalHost) {
			b.Spec.BMC.Address, b.Spec.BMC.CredentialsName = b.Spec.BMC.Address+b.Spec.BMC.CredentialsName, ""
		},
	}
	seen := map[string]string{before: "before"}
	for name, change := range moves {
		b := fullHost()
		change(b)
		got := read(t, toJSON(t, b)).Spec
		if was, ok := seen[got]; ok {
			t.Errorf("%s: the hash is that of %s", name, was)
		}
		seen[got] = name
	}
	stays := map[string]func(*metal3.BareMetalHost){
		"the status": func(b *metal3.BareMetalHost) {
			b.Status = metal3.BareMetalHostStatus{TriedCredentials: b.Status.TriedCredentials, PoweredOn: true, ErrorCount: 7}
		},
		"what was provisioned": func(b *metal3.BareMetalHost) {
			b.Status.Provisioning.Image, b.Status.Provisioning.RAID = *b.Spec.Image, b.Spec.RAID
		},
		"credentials found good":   func(b *metal3.BareMetalHost) { b.Status.GoodCredentials.Version = "12" },
		"the rest of the metadata": func(b *metal3.BareMetalHost) { b.ObjectMeta = metav1.ObjectMeta{ResourceVersion: "78"} },
		"other parts of the spec":  func(b *metal3.BareMetalHost) { b.Spec.Online, b.Spec.Description = false, "x" },
	}
	for name, change := range stays {
		b := fullHost()
		change(b)
		if got := read(t, toJSON(t, b)).Spec; got != before {
			t.Errorf("%s moves the hash", name)
		}
	}
	// Without an image, the rest of the hash is what it was.
	none := fullHost()
	none.Spec.Image = nil
	bare := read(t, toJSON(t, none))
	_, rest, _ := strings.Cut(before, "/")
	if full := read(t, toJSON(t, fullHost())); !bare.Bare || bare.Spec != "k1:-/"+rest || full.Bare {
		t.Errorf("bare: %+v, of %s", bare, before)
	}
	none.Spec.CustomDeploy = &metal3.CustomDeploy{Method: "install"}
	if read(t, toJSON(t, none)).Bare {
		t.Error("with a custom deployment it is bare")
	}
	// Nor with one that BMO takes for none.
	for name, change := range map[string]func(*metal3.BareMetalHost){
		"empty image URL":         func(b *metal3.BareMetalHost) { b.Spec.Image.URL = "" },
		"empty image":             func(b *metal3.BareMetalHost) { b.Spec.Image = &metal3.Image{} },
		"empty deployment method": func(b *metal3.BareMetalHost) { b.Spec.Image, b.Spec.CustomDeploy = nil, &metal3.CustomDeploy{} },
		"both":                    func(b *metal3.BareMetalHost) { b.Spec.Image.URL, b.Spec.CustomDeploy = "", &metal3.CustomDeploy{} },
	} {
		b := fullHost()
		change(b)
		if got := read(t, toJSON(t, b)); !got.Bare || got.Spec != bare.Spec {
			t.Errorf("%s: %+v, want it bare with %s", name, got, bare.Spec)
		}
	}
	beside := fullHost()
	beside.Spec.CustomDeploy = &metal3.CustomDeploy{}
	if got := read(t, toJSON(t, beside)); got.Bare || got.Spec != before {
		t.Errorf("an empty custom deployment beside an image: %+v, want %s", got, before)
	}
	const a = `{"spec":{"image":{"url":"u","checksum":"c"},"raid":null}}`
	for _, same := range []string{`{"spec":{"raid":null,"image":{ "checksum":"c", "url":"\u0075"}}}`, `{"spec":{"image":{"checksum":"c","url":"u"}}}`} {
		if read(t, []byte(same)).Spec != read(t, []byte(a)).Spec {
			t.Errorf("%s has another hash than %s", same, a)
		}
	}
}

// TestBO11_SchemeK1: a hash that a hold was made with is what it is now, or an upgrade
// would release the hold.
func TestBO11_SchemeK1(t *testing.T) {
	b := fullHost()
	b.Spec.Image.URL = "https://images/ä.raw?a=1&b=<2>"
	if got, want := read(t, toJSON(t, b)).Spec, "k1:ab699a2da90890cb/3800dacb3c84a7dd"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// FuzzObject: any text is a host, or no JSON, and what is kept is bounded.
func FuzzObject(f *testing.F) {
	f.Add(toJSON(f, fullHost()))
	for _, text := range []string{`{}`, `null`, `{"metadata":{"name":"\ud800","namespace":"\"\""}}`, `{"status":{"errorCount":1e999,"errorType":"\u0000"}}`,
		`{"spec":{"image":{"a":1,"a":2}}}`, "{\"metadata\":{\"name\":\"\xff\"}}", `{"\"":1,"":2}`, `{"spec":{"raid":1e999,"firmware":[1e20]}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := decode(raw)
		again, err2 := decode(raw)
		if o.host != again.host || o.version != again.version || (o.fault == nil) != (again.fault == nil) || (err == nil) != (err2 == nil) {
			t.Errorf("read twice: %+v, %+v", o, again)
		}
		if json.Valid(raw) && err != nil {
			t.Errorf("JSON is refused: %v", err)
		}
		if err != nil {
			return
		}
		h := o.host
		if h.Spec == "" || h.ErrorCount < 0 || h.ErrorCount > 9 || h.ProvisioningFailCount < 0 || h.ProvisioningFailCount > 9 {
			t.Errorf("%+v", h)
		}
		if h.NodeUUID != "" && !isUUID(h.NodeUUID) {
			t.Errorf("node %q", h.NodeUUID)
		}
		for _, text := range []string{h.Holdoff, h.Release, h.ErrorType, string(h.State)} {
			if len(text) > maxText+3 {
				t.Errorf("%d bytes are kept", len(text))
			}
		}
		if fault := o.fault; fault != nil && len(fault.Error()) > 2*maxText {
			t.Errorf("a fault of %d bytes", len(fault.Error()))
		}
	})
}

// FuzzPage: any answer is a whole page of hosts, of which each is shown, or an error.
func FuzzPage(f *testing.F) {
	const end = `],"kind":"BareMetalHostList","metadata":{"continue":"next","resourceVersion":"7"}}`
	for _, text := range []string{`{"items":[` + string(toJSON(f, fullHost())) + end, `{"items":[{},null,7,[]` + end, `{"items":[{}{}` + end, `{"items":[` + end + end,
		`{"kind":"BareMetalHostList","metadata":{"resourceVersion":"7"},"items":null}`, `{"items":[`, `[]`, ``, `{"items":[{"metadata":{"name":"\xff"}}` + end} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		shown := 0
		meta, err := readPage(bytes.NewReader(raw), func(object) { shown++ })
		if err != nil {
			return
		}
		var page struct {
			Kind  string            `json:"kind"`
			Items []json.RawMessage `json:"items"`
		}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &page); err != nil {
			t.Fatalf("read as a page: %v", err)
		}
		if page.Kind != listKind || meta.ResourceVersion == "" || shown < len(page.Items) {
			t.Errorf("%q of version %q, %d of %d shown", page.Kind, meta.ResourceVersion, shown, len(page.Items))
		}
	})
}

// TestHostIsAValue: a Host points nowhere but to its texts, so it may be given to anybody.
func TestHostIsAValue(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Host]()) {
		switch field.Type.Kind() {
		case reflect.String, reflect.Int, reflect.Bool:
		default:
			t.Errorf("%s is a %v", field.Name, field.Type)
		}
	}
}
