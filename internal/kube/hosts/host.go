package hosts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strings"
	"unique"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Annotations on a BareMetalHost.
const (
	// HoldoffAnnotation sets how long this host is held after a failure: 48h, or 0 for never.
	HoldoffAnnotation = "ironic-throttle.metal3.io/holdoff"
	// ReleaseAnnotation releases the hold whose episode id it names.
	ReleaseAnnotation = "ironic-throttle.metal3.io/release"
	// PlannedAnnotation says with "true" that the next work of this host is planned: it waits behind everybody else.
	PlannedAnnotation = "ironic-throttle.metal3.io/planned"
)

// Host is what the throttle needs of a BareMetalHost. It is a value, and comparable.
type Host struct {
	Namespace, Name, UID string
	// NodeUUID is status.provisioning.ID in lower case: the node in Ironic. It is empty before registration, and
	// where the text is no UUID.
	NodeUUID string
	State    api.BMHState // status.provisioning.state
	// ErrorCount and ProvisioningFailCount (of newer BMOs: it outlives a deprovision) are within the bounds of
	// api.Ask.Normalize.
	ErrorCount, ProvisioningFailCount int
	ErrorType                         string // status.errorType; "" = none
	Deleting                          bool   // has a deletionTimestamp
	Paused, Detached                  bool   // BMO's annotations, whatever their text
	Bare                              bool   // neither image nor custom deployment is wanted
	Consumer                          string // spec.consumerRef.namespace; "" = none, or no name of a namespace
	Machine                           string // name of the Metal3Machine that has it, in Consumer; "" = none
	// Spec is a short hash of what a person changes to repair a host that fails: image or custom deployment, RAID,
	// firmware, BMC address, name and version of the credentials. It is never empty, and nothing else that BMO writes
	// into the status changes it.
	Spec    string
	Planned bool // PlannedAnnotation is "true"
	// Holdoff and Release are the texts of HoldoffAnnotation and ReleaseAnnotation, unchecked; "" = none.
	Holdoff, Release string
}

type key struct{ namespace, name string }

func (h *Host) key() key { return key{h.Namespace, h.Name} }

// object is a BareMetalHost as the Reflector decodes it: its identity, and the Host made of the rest. A BareMetalHost
// is 5 to 30 kB of JSON, nearly all of it hardware details; they are in memory of one host at a time.
type object struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	host *Host
}

const listKind = "BareMetalHostList"

// objects is a page of a list.
type objects struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []object `json:"items"`
}

// DeepCopyObject implements runtime.Object. The copy is shallow: nobody changes an object once it is decoded.
func (o *object) DeepCopyObject() runtime.Object { c := *o; return &c }

// DeepCopyObject implements runtime.Object.
func (l *objects) DeepCopyObject() runtime.Object { c := *l; return &c }

// wire is what is decoded of a BareMetalHost. It is not metal3.BareMetalHost, which costs 50 times the memory, has no
// provisioningFailCount, and drops what a later version of the API adds to image, RAID or firmware.
type wire struct {
	Metadata struct {
		Namespace         string            `json:"namespace"`
		Name              string            `json:"name"`
		UID               string            `json:"uid"`
		ResourceVersion   string            `json:"resourceVersion"`
		DeletionTimestamp any               `json:"deletionTimestamp"`
		Annotations       map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Image        any `json:"image"`
		CustomDeploy any `json:"customDeploy"`
		ConsumerRef  struct {
			Kind      string `json:"kind"`
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"consumerRef"`
		RAID     any               `json:"raid"`
		Firmware any               `json:"firmware"`
		BMC      metal3.BMCDetails `json:"bmc"`
	} `json:"spec"`
	Status struct {
		ErrorCount            float64          `json:"errorCount"`
		ProvisioningFailCount float64          `json:"provisioningFailCount"`
		ErrorType             metal3.ErrorType `json:"errorType"`
		Provisioning          struct {
			ID    string                   `json:"ID"`
			State metal3.ProvisioningState `json:"state"`
		} `json:"provisioning"`
		TriedCredentials metal3.CredentialsStatus `json:"triedCredentials"`
		GoodCredentials  metal3.CredentialsStatus `json:"goodCredentials"`
	} `json:"status"`
}

// UnmarshalJSON takes a field of another type than it should have as absent: one odd host must not keep the others
// from being seen.
func (o *object) UnmarshalJSON(text []byte) error {
	var w wire
	err := kjson.UnmarshalCaseSensitivePreserveInts(text, &w)
	if err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
		return err
	}
	m := &w.Metadata
	o.host = w.host()
	o.ObjectMeta = metav1.ObjectMeta{
		Namespace: o.host.Namespace, Name: m.Name, UID: types.UID(m.UID), ResourceVersion: m.ResourceVersion,
	}
	return nil
}

var isUUID = regexp.MustCompile("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$").MatchString

func (w *wire) host() *Host {
	m, s := &w.Metadata, &w.Status
	ask := api.Ask{
		NodeUUID: s.Provisioning.ID, ErrorCount: count(s.ErrorCount), ProvisioningFailCount: count(s.ProvisioningFailCount),
	}.Normalize()
	h := &Host{
		Namespace: shared(m.Namespace), Name: m.Name, UID: m.UID, Deleting: m.DeletionTimestamp != nil,
		ErrorCount: ask.ErrorCount, ProvisioningFailCount: ask.ProvisioningFailCount, ErrorType: shared(string(s.ErrorType)),
		State: api.BMHState(shared(string(s.Provisioning.State))), Planned: m.Annotations[PlannedAnnotation] == "true",
		Holdoff: short(m.Annotations[HoldoffAnnotation]), Release: short(m.Annotations[ReleaseAnnotation]),
	}
	if isUUID(ask.NodeUUID) {
		h.NodeUUID = ask.NodeUUID
	}
	if consumer := w.Spec.ConsumerRef.Namespace; len(validation.IsDNS1123Label(consumer)) == 0 {
		h.Consumer = shared(consumer)
		if w.Spec.ConsumerRef.Kind == "Metal3Machine" {
			h.Machine = short(w.Spec.ConsumerRef.Name)
		}
	}
	_, h.Paused = m.Annotations[metal3.PausedAnnotation]
	_, h.Detached = m.Annotations[metal3.DetachedAnnotation]
	h.Spec, h.Bare = w.hash()
	return h
}

// hash tells apart any two specs of which a person changed something to repair a host that fails, as pkg/holdoff
// compares them: first what is to be deployed, and "-" where that is nothing, for a host from which the image is
// taken is the same when it has it again; then the rest. Image, custom deployment, RAID and firmware are taken whole,
// so that a field which a later version of the API adds counts too. Another hash needs another scheme than k2: holds
// of before then learn the new one.
func (w *wire) hash() (spec string, bare bool) {
	s := &w.Spec
	// BMO notes the version of the Secret that it tries before the one that it found good.
	credentials := cmp.Or(w.Status.TriedCredentials.Version, w.Status.GoodCredentials.Version)
	rest := sum(s.RAID, s.Firmware, s.BMC.Address, s.BMC.CredentialsName, credentials)
	image, custom := deployable(s.Image, "url"), deployable(s.CustomDeploy, "method")
	if image == nil && custom == nil {
		return "k2:-/" + rest, true
	}
	return "k2:" + sum(image, custom) + "/" + rest, false
}

// deployable is what says what to deploy. An object without its key is none to BMO.
func deployable(value any, key string) any {
	if object, ok := value.(map[string]any); ok && (object[key] == nil || object[key] == "") {
		return nil
	}
	return value
}

// sum is a short hash of values, whatever the order of their fields.
func sum(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		text = []byte(err.Error()) // cannot be: they were decoded
	}
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:8])
}

// count is a number in any of its forms, cut to what an int32 holds.
func count(n float64) int { return int(min(max(n, math.MinInt32), math.MaxInt32)) }

// shared is a text that many hosts share: it is in memory once.
func shared(s string) string { return unique.Make(short(s)).Value() }

// maxText is what is kept of a text that its writer may make as long as they like.
const maxText = 128

// short cuts a text that is too long to be meant. What stays is no sound value either: it ends with an ellipsis.
func short(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…" // a character may be cut in two
}
