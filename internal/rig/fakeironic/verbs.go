package fakeironic

import "github.com/ironic-throttle/ironic-throttle/pkg/ironic"

// verb is Ironic's internal name for what a target asks for.
type verb uint8

const (
	verbManage verb = iota + 1
	verbProvide
	verbInspect
	verbClean
	verbDeploy
	verbRebuild
	verbDelete
	verbRescue
	verbUnrescue
	verbService
	verbAdopt
	verbAbort
	verbUnhold
)

var verbs = map[ironic.Target]verb{
	ironic.TargetActive: verbDeploy, ironic.TargetDeploy: verbDeploy, ironic.TargetRebuild: verbRebuild,
	ironic.TargetDeleted: verbDelete, ironic.TargetUndeploy: verbDelete, ironic.TargetProvide: verbProvide,
	ironic.TargetClean: verbClean, ironic.TargetInspect: verbInspect, ironic.TargetRescue: verbRescue,
	ironic.TargetUnrescue: verbUnrescue, ironic.TargetService: verbService, ironic.TargetManage: verbManage,
	ironic.TargetAdopt: verbAdopt, ironic.TargetAbort: verbAbort, ironic.TargetUnhold: verbUnhold,
}

// minVersion is the first API version that takes the target: an older one is
// answered 406.
var minVersion = map[ironic.Target]int{
	ironic.TargetManage: 4, ironic.TargetProvide: 4, ironic.TargetInspect: 6, ironic.TargetAbort: 13,
	ironic.TargetClean: 15, ironic.TargetAdopt: 17, ironic.TargetRescue: 38, ironic.TargetUnrescue: 38,
	ironic.TargetDeploy: 73, ironic.TargetUndeploy: 73, ironic.TargetUnhold: 85, ironic.TargetService: 87,
}

// from lists the states in which a verb is understood (docs/dev/reference/ironic.md).
var from = map[verb][]ironic.State{
	verbDeploy:  {ironic.Available, ironic.DeployFailed},
	verbRebuild: {ironic.Active, ironic.Error, ironic.DeployFailed},
	verbDelete: {ironic.Active, ironic.Error, ironic.DeployWait, ironic.DeployFailed, ironic.Rescue,
		ironic.RescueWait, ironic.RescueFailed, ironic.UnrescueFailed, ironic.ServiceWait, ironic.ServiceFailed},
	verbProvide:  {ironic.Manageable},
	verbClean:    {ironic.Manageable},
	verbInspect:  {ironic.Manageable, ironic.InspectFailed},
	verbRescue:   {ironic.Active, ironic.Rescue, ironic.RescueFailed, ironic.UnrescueFailed, ironic.ServiceFailed},
	verbUnrescue: {ironic.Rescue, ironic.RescueFailed, ironic.UnrescueFailed},
	verbService:  {ironic.Active, ironic.ServiceFailed, ironic.ServiceHold},
	verbManage: {ironic.Enroll, ironic.Available, ironic.CleanFailed, ironic.InspectFailed,
		ironic.AdoptFailed},
	verbAdopt: {ironic.Manageable, ironic.AdoptFailed},
	verbAbort: {ironic.CleanWait, ironic.InspectWait, ironic.RescueWait, ironic.CleanHold, ironic.DeployHold,
		ironic.ServiceHold, ironic.ServiceWait, ironic.ServiceFailed},
	verbUnhold: {ironic.DeployHold, ironic.CleanHold, ironic.ServiceHold},
}

// failed is where each busy state goes when its work fails or is aborted.
var failed = map[ironic.State]ironic.State{
	ironic.CleanWait: ironic.CleanFailed, ironic.InspectWait: ironic.InspectFailed,
	ironic.DeployWait: ironic.DeployFailed, ironic.RescueWait: ironic.RescueFailed,
	ironic.ServiceWait: ironic.ServiceFailed, ironic.CleanHold: ironic.CleanFailed,
	ironic.DeployHold: ironic.DeployFailed, ironic.ServiceHold: ironic.ServiceFailed,
	ironic.ServiceFailed: ironic.Active,
}

// unheld is where unhold leads to.
var unheld = map[ironic.State]ironic.State{
	ironic.DeployHold: ironic.DeployWait, ironic.CleanHold: ironic.CleanWait, ironic.ServiceHold: ironic.ServiceWait,
}

// failState returns where a work that fails in s leaves the node.
func failState(s ironic.State) ironic.State {
	if f, ok := failed[s]; ok {
		return f
	}
	return stuck[s]
}

// failTarget is the target state that a failed work leaves behind: Ironic keeps
// it where the work can be taken up again.
func failTarget(s, goal ironic.State) ironic.State {
	switch s {
	case ironic.Enroll, ironic.Active:
		return ""
	}
	return goal
}
