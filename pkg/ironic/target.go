package ironic

import "github.com/ironic-throttle/ironic-throttle/pkg/api"

// Target is what PUT /v1/nodes/<id>/states/provision asks Ironic for.
type Target string

// The targets.
const (
	TargetActive   Target = "active"
	TargetDeploy   Target = "deploy" // alias of active from API 1.73
	TargetRebuild  Target = "rebuild"
	TargetDeleted  Target = "deleted"
	TargetUndeploy Target = "undeploy" // alias of deleted from API 1.73
	TargetProvide  Target = "provide"
	TargetClean    Target = "clean"
	TargetInspect  Target = "inspect"
	TargetRescue   Target = "rescue"
	TargetUnrescue Target = "unrescue"
	TargetService  Target = "service"
	TargetManage   Target = "manage"
	TargetAdopt    Target = "adopt"
	TargetAbort    Target = "abort"
	TargetUnhold   Target = "unhold"
)

// Starts returns the first busy state that t leads to, and false for a target
// that starts no work which could occupy a slot.
func (t Target) Starts() (State, bool) {
	switch t {
	case TargetActive, TargetDeploy, TargetRebuild:
		return Deploying, true
	case TargetDeleted, TargetUndeploy:
		return Deleting, true
	case TargetProvide, TargetClean:
		return Cleaning, true
	case TargetInspect:
		return Inspecting, true
	case TargetRescue:
		return Rescuing, true
	case TargetUnrescue:
		return Unrescuing, true
	case TargetService:
		return Servicing, true
	}
	return "", false
}

// Op maps t on the operation that the decision speaks of; none for a
// target that starts nothing.
func (t Target) Op() api.Op {
	switch t {
	case TargetInspect:
		return api.OpInspect
	case TargetClean:
		return api.OpPrepare
	case TargetProvide, TargetActive, TargetDeploy, TargetRebuild:
		return api.OpProvision
	case TargetDeleted, TargetUndeploy:
		return api.OpDeprovision
	case TargetRescue:
		return api.OpRescue
	case TargetUnrescue:
		return api.OpUnrescue
	case TargetService:
		return api.OpService
	}
	return api.OpNone
}
