package api

import "time"

// PlanReason says why the planner wants to act on a host.
type PlanReason string

// The reasons.
const (
	PlanEmpty         PlanReason = "Empty"         // no pod of the host needs another node
	PlanDrifted       PlanReason = "Drifted"       // the host no longer matches its specification
	PlanUnderutilized PlanReason = "Underutilized" // its pods fit on other hosts, which is cheaper
)

// PlanReasons returns all reasons.
func PlanReasons() []PlanReason { return []PlanReason{PlanEmpty, PlanDrifted, PlanUnderutilized} }

// PlanMethod is a way to find actions.
type PlanMethod string

// The methods, in the order in which the planner tries them. A plan has the actions of the first that finds some.
const (
	MethodEmptiness   PlanMethod = "Emptiness"               // releases all empty hosts
	MethodStaticDrift PlanMethod = "StaticDrift"             // one host whose template, image or firmware has changed
	MethodDrift       PlanMethod = "Drift"                   // one host that its pool no longer selects
	MethodMulti       PlanMethod = "MultiNodeConsolidation"  // several hosts whose pods fit on other hosts
	MethodSingle      PlanMethod = "SingleNodeConsolidation" // one such host
)

// PlanDecision is what an action does to its hosts.
type PlanDecision string

// The decisions.
const (
	PlanRelease     PlanDecision = "release"     // their pool gets smaller
	PlanReplace     PlanDecision = "replace"     // the pool gets another host first, and then releases them
	PlanReprovision PlanDecision = "reprovision" // the pool replaces the Machine, and so provisions a host again
)

// Plan is the body of GET /v1/plan. Here a pool is a MachineDeployment, or a MachineSet without one. Hosts, Machines
// and pods are NAMESPACE/NAME. Savings are in the currency of DISRUPTION_TARIFF.
type Plan struct {
	MadeAt       time.Time `json:"madeAt"`
	ExecuteAfter time.Time `json:"executeAfter"` // the throttle may carry it out then, if it is still right
	DryRun       bool      `json:"dryRun"`       // the throttle will not carry it out
	// Blocked says why planned work must not start now; "": it may. If hosts wait for slots, Actions says what is next;
	// with a breaker that is not CLOSED, a paused group or a stale view, there are none.
	Blocked  string          `json:"blocked,omitempty"`
	Running  *PlanRunning    `json:"running,omitempty"` // the work that the throttle carries out now; nil: none
	Method   PlanMethod      `json:"method,omitempty"`  // the one that found Actions; "": there are none
	Actions  []PlanAction    `json:"actions"`
	Later    []PlanCandidate `json:"later,omitempty"`    // candidates without an action in this plan
	Excluded []PlanExcluded  `json:"excluded,omitempty"` // hosts that are no candidates
	Faults   []string        `json:"faults,omitempty"`   // settings and annotations that the planner could not read
	Hosts    int             `json:"hosts"`              // how many hosts, nodes and pods the planner has looked at
	Nodes    int             `json:"nodes"`
	Pods     int             `json:"pods"`
	Clusters []PlanCluster   `json:"clusters,omitempty"` // the workload clusters that they belong to
}

// PlanCluster is a Kubernetes cluster with nodes on hosts that the throttle knows.
type PlanCluster struct {
	Name  string `json:"name"`            // NAMESPACE/NAME of Cluster API's Cluster
	Fault string `json:"fault,omitempty"` // why the throttle cannot read it, so its hosts are no candidates; "": it can
	Nodes int    `json:"nodes"`
	Pods  int    `json:"pods"`
}

// PlanRunning is planned work that the throttle has begun and not ended.
type PlanRunning struct {
	ID          string       `json:"id"` // value of the annotation and labels ironic-throttle.metal3.io/command
	Decision    PlanDecision `json:"decision"`
	Reason      PlanReason   `json:"reason"`
	Hosts       []string     `json:"hosts"`                 // the first has the annotation
	Replacement string       `json:"replacement,omitempty"` // the host that is deployed first; "": none
	Step        string       `json:"step"`                  // what the throttle does now, in words
	WaitsFor    string       `json:"waitsFor,omitempty"`    // in words; "": nothing
	Since       time.Time    `json:"since"`                 // when the step began
	Stuck       bool         `json:"stuck,omitempty"`       // the step takes too long: a person should look at it
	LastError   string       `json:"lastError,omitempty"`   // why the last try to go on failed; "": it did not
}

// PlanAction is one thing to do to hosts of one pool.
type PlanAction struct {
	ID          string       `json:"id"` // a hash of what it does and to which hosts
	Decision    PlanDecision `json:"decision"`
	Reason      PlanReason   `json:"reason"`
	Pool        string       `json:"pool,omitempty"` // KIND NAMESPACE/NAME
	Hosts       []PlanHost   `json:"hosts"`
	Replacement *PlanHost    `json:"replacement,omitempty"` // the host that is deployed first; nil: none
	Evidence    []string     `json:"evidence"`              // sentences that say why
	// SavingPerHour is the price of the power that the hosts draw no more, less that of the Replacement. Saving says the
	// same in words, or why nothing is saved.
	SavingPerHour float64  `json:"savingPerHour"`
	Saving        string   `json:"saving"`
	SlotMinutes   float64  `json:"slotMinutes"`            // minutes of slots that the work takes
	PaybackHours  *float64 `json:"paybackHours,omitempty"` // until the saving has paid for the work; nil: it never does
	// DisruptionCost adds up SlotMinutes and the pods that move, by deletion cost and priority. It has no unit.
	DisruptionCost float64    `json:"disruptionCost"`
	SavingPerCost  float64    `json:"savingPerCost"`   // SavingPerHour / DisruptionCost: the planner prefers high ones
	Moves          []PlanMove `json:"moves,omitempty"` // where the pods would go
}

// PlanHost is a host of an action.
type PlanHost struct {
	Name     string `json:"name"`
	Cluster  string `json:"cluster,omitempty"`  // the workload cluster, as PlanCluster.Name; "": the throttle's own
	Node     string `json:"node,omitempty"`     // its name in that cluster
	Machine  string `json:"machine,omitempty"`  // "": it has none
	PowerOff bool   `json:"powerOff,omitempty"` // the action ends with spec.online false
}

// PlanMove is a pod that must move.
type PlanMove struct {
	Pod string `json:"pod"`
	To  string `json:"to"` // a node, or the host that replaces
}

// PlanCandidate is a host that a later plan may act on. Its numbers are those of an action for it alone.
type PlanCandidate struct {
	Host           string     `json:"host"`
	Pool           string     `json:"pool,omitempty"`
	Reason         PlanReason `json:"reason"`
	SavingPerHour  float64    `json:"savingPerHour"`
	DisruptionCost float64    `json:"disruptionCost"`
	SavingPerCost  float64    `json:"savingPerCost"`
	Note           string     `json:"note,omitempty"` // why this plan leaves it alone
}

// PlanExcluded counts the hosts that are no candidates because of one condition, the first that they do not meet.
type PlanExcluded struct {
	Condition string   `json:"condition"` // as PlanCondition.Type
	Hosts     int      `json:"hosts"`
	Names     []string `json:"names,omitempty"` // the first ten of them
}

// PlanExplanation says why a host is a candidate, or why not.
type PlanExplanation struct {
	Host       string          `json:"host"`
	Candidate  bool            `json:"candidate"`
	Reason     PlanReason      `json:"reason,omitempty"` // why it is a candidate; "": it is none
	Summary    string          `json:"summary"`          // one sentence
	Conditions []PlanCondition `json:"conditions"`
}

// PlanCondition is a condition that a candidate must meet.
type PlanCondition struct {
	Type    string `json:"type"` // such as ConsolidateAfter or PodsMovable
	Met     bool   `json:"met"`
	Message string `json:"message"` // what the planner saw
}

// Fields of an *Error with Code 404 of Client.Plan and Client.PlanExplanation.
const (
	PlannerOff      = "disruption" // the throttle makes no plans; the message names the setting that changes this
	PlanHostUnknown = "name"       // there is no such host
)
