package hosts

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"unique"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Host is what the throttle needs of a BareMetalHost. It is a value, and comparable.
type Host struct {
	Namespace, Name, UID string
	// NodeUUID is status.provisioning.ID in lower case: the node in Ironic. It is empty
	// before registration, and where the text is no UUID.
	NodeUUID string
	State    api.BMHState // status.provisioning.state
	// ErrorCount is status.errorCount, ProvisioningFailCount is status.provisioningFailCount
	// of newer BMOs (it outlives a deprovision); both within the bounds of api.Ask.Normalize.
	ErrorCount, ProvisioningFailCount int
	ErrorType                         string // status.errorType; "" = none
	Deleting                          bool   // has a deletionTimestamp
	Paused, Detached                  bool   // BMO's annotations, whatever their text
	Bare                              bool   // neither image nor custom deployment is wanted
	Consumer                          string // spec.consumerRef.namespace; "" = none, or no name of a namespace
	Machine                           string // name of the Metal3Machine that has it, in Consumer; "" = none
	// Spec is a short hash of what a person changes to mend a host that fails: image or
	// custom deployment, RAID, firmware, BMC address, name and version of the credentials,
	// as holdoff compares it. It is never empty, and nothing else that BMO writes
	// into the status moves it.
	Spec    string
	Planned bool // PlannedAnnotation is "true"
	// Holdoff and Release are the texts of the annotations HoldoffAnnotation and
	// ReleaseAnnotation, unchecked; "" = none.
	Holdoff, Release string
}

// Annotations on a BareMetalHost.
const (
	// HoldoffAnnotation sets how long this host is held after a failure: 48h, or 0 for never.
	HoldoffAnnotation = "ironic-throttle.metal3.io/holdoff"
	// ReleaseAnnotation releases the hold whose episode id it names.
	ReleaseAnnotation = "ironic-throttle.metal3.io/release"
	// PlannedAnnotation says with "true" that the next work of this host is planned: it waits
	// behind everybody else (DC-24).
	PlannedAnnotation = "ironic-throttle.metal3.io/planned"
)

// wire is what is decoded of a BareMetalHost; the rest, nearly all of it, is passed over.
// It is not metal3.BareMetalHost as a whole: that costs 50 times the memory for hardware
// details that nobody reads, has no provisioningFailCount, would drop parts of the spec
// that a later version of the API adds, and one odd timestamp ends its decoding.
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

// object is a BareMetalHost, or what is in the place of one. Of a bookmark Name is empty.
type object struct {
	host    Host
	version string
	fault   error // the first field of another type than it should have; it is as if absent
}

func (o *object) key() key { return key{o.host.Namespace, o.host.Name} }

// decodeObject reads an object by the Decode of a decoder. Its error is that of the
// connection, or of text that is no JSON.
func decodeObject(decode func(into any) error) (object, error) {
	var w wire
	var odd *json.UnmarshalTypeError
	var fault error
	if err := decode(&w); errors.As(err, &odd) {
		fault = fmt.Errorf("%s: of the wrong type: %s", cmp.Or(odd.Field, "object"), short(odd.Value))
	} else if err != nil {
		return object{}, err
	}
	return object{w.host(), w.Metadata.ResourceVersion, fault}, nil
}

var isUUID = regexp.MustCompile("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$").MatchString

func (w *wire) host() Host {
	m, s := &w.Metadata, &w.Status
	ask := api.Ask{NodeUUID: s.Provisioning.ID, ErrorCount: count(s.ErrorCount), ProvisioningFailCount: count(s.ProvisioningFailCount)}.Normalize()
	h := Host{
		Namespace: shared(m.Namespace), Name: m.Name, UID: m.UID, Deleting: m.DeletionTimestamp != nil,
		ErrorCount: ask.ErrorCount, ProvisioningFailCount: ask.ProvisioningFailCount, ErrorType: shared(string(s.ErrorType)),
		State:   api.BMHState(shared(string(s.Provisioning.State))),
		Holdoff: short(m.Annotations[HoldoffAnnotation]), Release: short(m.Annotations[ReleaseAnnotation]),
	}
	h.Planned = m.Annotations[PlannedAnnotation] == "true"
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

// specScheme names how specs are hashed. It changes with every change of hash: holds of
// before then learn the new hash, and none is released by it.
const specScheme = "k1"

// hash tells apart any two specs of which a person changed something to mend a host that
// fails, as holdoff compares them: first what is to be deployed, and "-" where
// that is nothing, for a host from which the image is taken is the same when it has it
// again; then the rest. Image (or what is deployed instead), RAID and firmware are taken
// whole, so that a field which a later version of the API adds counts too.
func (w *wire) hash() (hash string, bare bool) {
	s := &w.Spec
	// BMO notes the version of the Secret that it tries before the one that it found good.
	credentials := cmp.Or(w.Status.TriedCredentials.Version, w.Status.GoodCredentials.Version)
	rest := sumOf(canonical(s.RAID), canonical(s.Firmware), s.BMC.Address, s.BMC.CredentialsName, credentials)
	image, custom := deployable(s.Image, "url"), deployable(s.CustomDeploy, "method")
	if image == "" && custom == "" {
		return specScheme + ":-/" + rest, true
	}
	return specScheme + ":" + sumOf(image, custom) + "/" + rest, false
}

// deployable is canonical for what says what to deploy, and nothing for an object whose
// key says nothing: to BMO that is none.
func deployable(value any, key string) string {
	if object, ok := value.(map[string]any); ok && (object[key] == nil || object[key] == "") {
		return ""
	}
	return canonical(value)
}

// canonical is a value in the one form that all texts of the same meaning share, and
// nothing for null.
func canonical(value any) string {
	if value == nil {
		return ""
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // as RFC 8785 has it, with which these hashes began
	if err := enc.Encode(value); err != nil {
		return err.Error() // cannot be: it was decoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// sumOf is a short hash of parts, each with its length before it, so that none can run
// into the next.
func sumOf(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		sum.Write([]byte(part))
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// count is a number in any of its forms, cut to what an int32 holds.
func count(n float64) int { return int(min(max(n, math.MinInt32), math.MaxInt32)) }

// shared is a text that many hosts share: it is in memory once.
func shared(s string) string { return unique.Make(short(s)).Value() }

// maxText is what is kept of a text that somebody may write as long as he likes.
const maxText = 128

// short cuts a text that is too long to be meant. What stays is no sound value either:
// it ends with an ellipsis.
func short(s string) string { return shorten(s, maxText) }

func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…" // a character may be cut in two
}
