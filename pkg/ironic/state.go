package ironic

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

// part is what a state is in its work.
type part int

const (
	busy   part = iota + 1 // a state of work: it can occupy a slot
	extra                  // a busy one that is counted only when asked for: those of newer Ironics
	failed                 // where Ironic leaves a node whose work failed; adoption and verification are no such work
)

// works are the states of work. since is the API version 1.n that first knows a state, where not all do; asking an older one
// for it is a 400.
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

// Busy reports whether s is a state of work, which can occupy a slot: exact strings.
func (s State) Busy() bool { return works[s].part == busy }

// Extra reports whether s is a busy state that is counted only when asked for: the service and hold states of newer
// Ironics. A host that holds a slot keeps it through them.
func (s State) Extra() bool { return works[s].part == extra }

// Failed reports whether s is where Ironic leaves a node whose work failed.
func (s State) Failed() bool { return works[s].part == failed }

// Work is the kind of work that a node in state s is at, waits in the middle of, or has failed at; "" for all other
// states.
func (s State) Work() Work { return works[s].work }

// FailedBefore lists the states of a node that failed before it had an instance.
func FailedBefore() []State { return []State{InspectFailed, CleanFailed, DeployFailed} }

// BusyStates lists the busy states in flow order.
func BusyStates() []State { return PollOrder(false, false) }

// PollOrder lists the states whose lists a poll reads, in flow order: a node that moves on while they are read is met
// again further down. One that steps back from waiting to working is among the newest changes of the next poll.
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

// Since is the lowest API minor version (1.x) that knows s; 0: every Ironic does.
func (s State) Since() int { return works[s].since }
