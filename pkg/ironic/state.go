package ironic

// State is a provision state, in Ironic's spelling.
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

// part says what a provision state is to its work.
type part int

const (
	busy   part = iota + 1 // the node is at work: its host may need a slot
	extra                  // the node is in service or on hold, which counts as work only on request
	failed                 // the work has failed
)

// works has the provision states of work. since: API 1.since is the first that knows the state; an older one answers a
// request for it with 400.
var works = map[State]struct {
	work  Work
	part  part
	since int
}{
	Deleting:       {WorkDelete, busy, 0},
	Cleaning:       {WorkClean, busy, 0},
	CleanWait:      {WorkClean, busy, 0},
	Inspecting:     {WorkInspect, busy, 0},
	InspectWait:    {WorkInspect, busy, 0},
	Deploying:      {WorkDeploy, busy, 0},
	DeployWait:     {WorkDeploy, busy, 0},
	Rescuing:       {WorkRescue, busy, 0},
	RescueWait:     {WorkRescue, busy, 0},
	Unrescuing:     {WorkUnrescue, busy, 0},
	Servicing:      {WorkService, extra, minorService},
	ServiceWait:    {WorkService, extra, minorService},
	ServiceHold:    {WorkService, extra, minorService},
	DeployHold:     {WorkDeploy, extra, minorHolds},
	CleanHold:      {WorkClean, extra, minorHolds},
	InspectFailed:  {WorkInspect, failed, 0},
	CleanFailed:    {WorkClean, failed, 0},
	DeployFailed:   {WorkDeploy, failed, 0},
	RescueFailed:   {WorkRescue, failed, 0},
	UnrescueFailed: {WorkUnrescue, failed, 0},
	ServiceFailed:  {WorkService, failed, minorService},
	Error:          {WorkDelete, failed, 0},
}

// Busy reports whether s is a state of work.
func (s State) Busy() bool { return works[s].part == busy }

// Extra reports whether s is one of the service and hold states of newer Ironics, which count as work only on request.
// A host that holds a slot keeps it through them.
func (s State) Extra() bool { return works[s].part == extra }

// Failed reports whether s is the state of a node whose work has failed.
func (s State) Failed() bool { return works[s].part == failed }

// Work returns the kind of work of a node in state s that is at work, on hold, or has failed; "" for other states.
func (s State) Work() Work { return works[s].work }

// FailedBefore returns the states of nodes whose work failed before they had an instance.
func FailedBefore() []State { return []State{InspectFailed, CleanFailed, DeployFailed} }

// BusyStates returns the busy states in flow order.
func BusyStates() []State { return PollOrder(false, false) }

// PollOrder returns the states whose lists a poll reads, in flow order: a node that moves on meanwhile is in a later
// list. A node that moves back from a wait state is among the newest changes of the next poll.
func PollOrder(extras, whole bool) []State {
	order := []State{
		Deleting, Cleaning, CleanWait, Inspecting, InspectWait,
		Deploying, DeployWait, Rescuing, RescueWait, Unrescuing,
	}
	if extras || whole {
		order = append(order, Servicing, ServiceWait, ServiceHold, DeployHold, CleanHold)
	}
	if whole {
		order = append(order, InspectFailed, CleanFailed, DeployFailed, RescueFailed, UnrescueFailed, ServiceFailed, Error)
	}
	return order
}

// Since returns n if API 1.n is the first that knows s; 0: all supported versions do.
func (s State) Since() int { return works[s].since }
