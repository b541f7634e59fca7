package hosts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"
	"unique"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Annotations on a BareMetalHost.
const (
	// HoldoffAnnotation sets how long this host is held after a failure: 48h, or 0 for never.
	HoldoffAnnotation = "ironic-throttle.metal3.io/holdoff"
	// ReleaseAnnotation releases the hold whose episode id it names.
	ReleaseAnnotation = "ironic-throttle.metal3.io/release"
	// PlannedAnnotation says with "true" that the next work of this host is planned: it waits behind all other work.
	PlannedAnnotation = "ironic-throttle.metal3.io/planned"
)

// Host is what the throttle needs of a BareMetalHost. It is a value, and comparable.
type Host struct {
	// Host has its NodeUUID in lower case, its counts within the bounds of api.Ask.Normalize, and as Spec a short hash of
	// what a person changes to repair a host that fails: image or custom deployment, RAID, firmware, BMC address, name and
	// version of the credentials.
	admission.Host
	Machine string // name of the Metal3Machine that has it, in the namespace Tenant; "" = none
	Holdoff string // text of HoldoffAnnotation, unchecked; "" = none
}

func (h *Host) key() string { return h.Namespace + "/" + h.Name }

// wire is what is decoded of a BareMetalHost. It is not metal3.BareMetalHost, which costs 50 times the memory, has no
// provisioningFailCount, and drops what a later version of the API adds to image, RAID or firmware.
type wire struct {
	Metadata struct {
		Namespace         string            `json:"namespace"`
		Name              string            `json:"name"`
		UID               string            `json:"uid"`
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
		ErrorCount            int `json:"errorCount"`
		ProvisioningFailCount int `json:"provisioningFailCount"`
		Provisioning          struct {
			ID string `json:"ID"`
		} `json:"provisioning"`
		TriedCredentials metal3.CredentialsStatus `json:"triedCredentials"`
		GoodCredentials  metal3.CredentialsStatus `json:"goodCredentials"`
	} `json:"status"`
}

// UnmarshalJSON reads a BareMetalHost. It takes a field of another type than it should have as absent: one odd host
// must not keep the others from being seen.
func (h *Host) UnmarshalJSON(text []byte) error {
	var w wire
	err := kjson.UnmarshalCaseSensitivePreserveInts(text, &w)
	if err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
		return err
	}
	m, s := &w.Metadata, &w.Status
	ask := api.Ask{
		NodeUUID: s.Provisioning.ID, ErrorCount: s.ErrorCount, ProvisioningFailCount: s.ProvisioningFailCount,
	}.Normalize()
	*h = Host{Holdoff: shared(m.Annotations[HoldoffAnnotation])}
	h.Namespace, h.Name, h.UID, h.Deleting = shared(m.Namespace), m.Name, m.UID, m.DeletionTimestamp != nil
	h.ErrorCount, h.FailCount = ask.ErrorCount, ask.ProvisioningFailCount
	h.Planned, h.Release = m.Annotations[PlannedAnnotation] == "true", shared(m.Annotations[ReleaseAnnotation])
	if isUUID(ask.NodeUUID) {
		h.NodeUUID = ask.NodeUUID
	}
	if consumer := w.Spec.ConsumerRef.Namespace; len(validation.IsDNS1123Label(consumer)) == 0 {
		h.Tenant = shared(consumer)
		if w.Spec.ConsumerRef.Kind == "Metal3Machine" {
			h.Machine = shared(w.Spec.ConsumerRef.Name)
		}
	}
	_, paused := m.Annotations[metal3.PausedAnnotation]
	_, detached := m.Annotations[metal3.DetachedAnnotation]
	h.Left = paused || detached
	h.Spec, h.Bare = w.hash()
	return nil
}

var isUUID = regexp.MustCompile("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$").MatchString

// hash tells apart any two specs of which a person changed something to repair a host that fails, as pkg/holdoff
// compares them: first what is to be deployed, and "-" where that is nothing, then the rest. Image, custom deployment,
// RAID and firmware are taken whole, so that a field of a later version of the API counts too.
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

// sum is a hash of values, whatever the order of their fields.
func sum(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		text = []byte(err.Error()) // cannot be: they were decoded
	}
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:8])
}

// maxText is what is kept of a text that its writer may make as long as they like, in bytes.
const maxText = 128

// shared is a text that many hosts share: it is in memory once. One that is too long to be meant ends in an ellipsis.
func shared(s string) string { return unique.Make(ironic.Line(s, maxText)).Value() }
