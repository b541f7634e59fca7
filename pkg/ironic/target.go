package ironic

import (
	"cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Target is the target of a PUT /v1/nodes/<id>/states/provision.
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

// starts says what each target starts; the others start no work that needs a slot.
var starts = map[Target]struct {
	state State
	op    api.Op
}{
	TargetActive:   {Deploying, api.OpProvision},
	TargetDeploy:   {Deploying, api.OpProvision},
	TargetRebuild:  {Deploying, api.OpProvision},
	TargetDeleted:  {Deleting, api.OpDeprovision},
	TargetUndeploy: {Deleting, api.OpDeprovision},
	TargetProvide:  {Cleaning, api.OpProvision},
	TargetClean:    {Cleaning, api.OpPrepare},
	TargetInspect:  {Inspecting, api.OpInspect},
	TargetRescue:   {Rescuing, api.OpRescue},
	TargetUnrescue: {Unrescuing, api.OpUnrescue},
	TargetService:  {Servicing, api.OpService},
}

// Starts returns the first busy state that t leads to, and false if t starts no work.
func (t Target) Starts() (State, bool) {
	first, ok := starts[t]
	return first.state, ok
}

// Op returns the operation of the API that t belongs to, api.OpNone if t starts no work.
func (t Target) Op() api.Op { return cmp.Or(starts[t].op, api.OpNone) }
