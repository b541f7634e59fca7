package hosts

import (
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

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
	// Spec is a short hash of what a person changes to mend a host that fails: image or
	// custom deployment, RAID, firmware, BMC address, name and version of the credentials
	// (BO-11), as holdoff compares it. It is never empty, and nothing else that BMO writes
	// into the status moves it.
	Spec string
	// Holdoff and Release are the texts of the annotations HoldoffAnnotation and
	// ReleaseAnnotation, unchecked; "" = none.
	Holdoff, Release string
}

// Annotations on a BareMetalHost.
const (
	// HoldoffAnnotation sets how long this host is held after a failure: 48h, or 0 for never.
	HoldoffAnnotation = "ironic-throttle.metal3.io/holdoff"
	// ReleaseAnnotation releases the hold whose episode id it names (BO-10).
	ReleaseAnnotation = "ironic-throttle.metal3.io/release"

	pausedAnnotation   = metal3.PausedAnnotation
	detachedAnnotation = metal3.DetachedAnnotation
)
