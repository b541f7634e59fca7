package ironic

import "slices"

// State is a provision_state, spelled as Ironic spells it.
type State string

// The provision states.
const (
	Enroll         State = "enroll"
	Verifying      State = "verifying"
	Manageable     State = "manageable"
	Available      State = "available"
	Active         State = "active"
	Error          State = "error"
	Cleaning       State = "cleaning"
	CleanWait      State = "clean wait"
	CleanFailed    State = "clean failed"
	CleanHold      State = "clean hold"
	Inspecting     State = "inspecting"
	InspectWait    State = "inspect wait"
	InspectFailed  State = "inspect failed"
	Deploying      State = "deploying"
	DeployWait     State = "wait call-back"
	DeployFailed   State = "deploy failed"
	DeployHold     State = "deploy hold"
	Rescuing       State = "rescuing"
	RescueWait     State = "rescue wait"
	Rescue         State = "rescue"
	RescueFailed   State = "rescue failed"
	Unrescuing     State = "unrescuing"
	UnrescueFailed State = "unrescue failed"
	Deleting       State = "deleting"
	Adopting       State = "adopting"
	AdoptFailed    State = "adopt failed"
	Servicing      State = "servicing"
	ServiceWait    State = "service wait"
	ServiceHold    State = "service hold"
	ServiceFailed  State = "service failed"
)

// Busy reports whether s is one of the ten states that can occupy a slot:
// exactly these, exact strings.
func (s State) Busy() bool {
	switch s {
	case Cleaning, CleanWait, Inspecting, InspectWait, Deploying, DeployWait,
		Rescuing, RescueWait, Unrescuing, Deleting:
		return true
	}
	return false
}

// Extra reports whether s is a busy state that is counted only when asked for:
// the service and hold states of newer Ironics. A host that holds a
// slot keeps it through them.
func (s State) Extra() bool {
	switch s {
	case Servicing, ServiceWait, ServiceHold, DeployHold, CleanHold:
		return true
	}
	return false
}

// Inspection reports whether s is a busy state of an inspection.
func (s State) Inspection() bool { return s == Inspecting || s == InspectWait }

// Failed reports whether s is where Ironic leaves a node whose work failed.
// Adoption and verification are not work in our sense.
func (s State) Failed() bool { return slices.Contains(failedStates[:], s) }

var failedStates = [...]State{InspectFailed, CleanFailed, DeployFailed, RescueFailed, UnrescueFailed, ServiceFailed, Error}

// FailedStates lists the states that are Failed. Rescue and service came with later Ironics.
func FailedStates() []State { return slices.Clone(failedStates[:]) }

// Work is a kind of work that Ironic does on a node.
type Work string

// The kinds. A deprovision is WorkDelete until its cleaning begins.
const (
	WorkInspect  Work = "inspect"
	WorkClean    Work = "clean"
	WorkDeploy   Work = "deploy"
	WorkDelete   Work = "delete"
	WorkRescue   Work = "rescue"
	WorkUnrescue Work = "unrescue"
	WorkService  Work = "service"
)

// Work is the kind of work that a node in state s is at, waits in the middle of, or
// has failed at; "" for all other states.
func (s State) Work() Work {
	switch s {
	case Inspecting, InspectWait, InspectFailed:
		return WorkInspect
	case Cleaning, CleanWait, CleanHold, CleanFailed:
		return WorkClean
	case Deploying, DeployWait, DeployHold, DeployFailed:
		return WorkDeploy
	case Deleting, Error:
		return WorkDelete
	case Rescuing, RescueWait, RescueFailed:
		return WorkRescue
	case Unrescuing, UnrescueFailed:
		return WorkUnrescue
	case Servicing, ServiceWait, ServiceHold, ServiceFailed:
		return WorkService
	}
	return ""
}

// FailedBefore lists the states of a node that failed before it had an instance.
func FailedBefore() []State { return []State{InspectFailed, CleanFailed, DeployFailed} }

// BusyStates lists the ten busy states in flow order, each once.
func BusyStates() []State {
	return []State{
		Deleting, Cleaning, CleanWait, Inspecting, InspectWait,
		Deploying, DeployWait, Rescuing, RescueWait, Unrescuing,
	}
}

// ExtraStates lists the service and hold states with the lowest API minor
// version (1.x) that knows them; asking an older one for them is a 400.
func ExtraStates() map[State]int {
	return map[State]int{DeployHold: 85, CleanHold: 85, Servicing: 87, ServiceWait: 87, ServiceHold: 87}
}
