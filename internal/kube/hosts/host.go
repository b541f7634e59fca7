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
	// ReleaseAnnotation names the episode of the hold that it releases.
	ReleaseAnnotation = "ironic-throttle.metal3.io/release"
	// PlannedAnnotation is "true" if the next work of this host is planned: it waits behind all other work.
	PlannedAnnotation = "ironic-throttle.metal3.io/planned"
)

// Host is what the throttle needs of a BareMetalHost. It is a value, and comparable.
type Host struct {
	// NodeUUID is in lower case, and the counts are within the bounds of api.Ask.Normalize. Spec is a short hash of what
	// a person changes to repair a host that fails: image or custom deployment, RAID, firmware, BMC address, name and
	// version of the credentials.
	admission.Host
	Machine string // name of the Metal3Machine that has the host, in the namespace Tenant; "": none
	Holdoff string // text of HoldoffAnnotation, unchecked; "": none
}

func (h *Host) key() string { return h.Namespace + "/" + h.Name }

// wire has the fields that UnmarshalJSON decodes. metal3.BareMetalHost takes 50 times the memory, has no
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

// UnmarshalJSON reads a BareMetalHost. A field of the wrong type counts as absent: one odd host must not hide others.
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

// hash returns a text that differs when a person has changed the spec to repair a host that fails, for pkg/holdoff:
// first a hash of what BMO is to deploy, "-" for nothing, then one of the rest. It takes image, custom deployment, RAID
// and firmware whole, so that a field of a later version of the API counts too.
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

// deployable returns value, or nil if it is an object without that key: to BMO, there is then nothing to deploy.
func deployable(value any, key string) any {
	if object, ok := value.(map[string]any); ok && (object[key] == nil || object[key] == "") {
		return nil
	}
	return value
}

// sum returns a short hash of values. The order of their fields does not matter.
func sum(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		text = []byte(err.Error()) // impossible: the values come from JSON
	}
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:8])
}

// maxText is how much the directory keeps of a text whose length its writer chooses, in bytes.
const maxText = 128

// shared returns a text that many hosts share, so that it is in memory once. It cuts a text after maxText bytes.
func shared(s string) string { return unique.Make(ironic.Line(s, maxText)).Value() }
