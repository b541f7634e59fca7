package api

import "time"

// PlanReason says why a host is part of a plan.
type PlanReason string

// The reasons.
const (
	PlanEmpty         PlanReason = "Empty"         // no pods but those that go with the node
	PlanDrifted       PlanReason = "Drifted"       // it is not as it is wanted
	PlanUnderutilized PlanReason = "Underutilized" // its pods fit elsewhere, and that is cheaper
)

// PlanReasons lists the closed set of reasons.
func PlanReasons() []PlanReason { return []PlanReason{PlanEmpty, PlanDrifted, PlanUnderutilized} }

// PlanMethod is what found an action. Plan has actions of one method.
type PlanMethod string

// The methods, in their order.
const (
	MethodEmptiness   PlanMethod = "Emptiness"
	MethodStaticDrift PlanMethod = "StaticDrift"
	MethodDrift       PlanMethod = "Drift"
	MethodMulti       PlanMethod = "MultiNodeConsolidation"
	MethodSingle      PlanMethod = "SingleNodeConsolidation"
)

// PlanDecision is what an action does.
type PlanDecision string

// The decisions.
const (
	PlanRelease     PlanDecision = "release"     // the pool gets smaller by these hosts
	PlanReplace     PlanDecision = "replace"     // another host is deployed first, then these are released
	PlanReprovision PlanDecision = "reprovision" // the Machine is deleted, and its pool makes another one
)

// Plan is the body of GET /v1/plan (docs/planned-work.md).
type Plan struct {
	MadeAt       time.Time `json:"madeAt"`
	ExecuteAfter time.Time `json:"executeAfter"` // when it may be carried out, if it still holds then
	DryRun       bool      `json:"dryRun"`       // nothing of it will be carried out
	// Blocked says why nothing is carried out now: the breaker, a pause or a stale view, and then there are no actions,
	// or hosts that are not planned and wait; "" = nothing blocks.
	Blocked  string          `json:"blocked,omitempty"`
	Running  *PlanRunning    `json:"running,omitempty"` // the work that is being carried out; absent: none is
	Method   PlanMethod      `json:"method,omitempty"`  // what all actions come from; "" = there are none
	Actions  []PlanAction    `json:"actions"`
	Later    []PlanCandidate `json:"later,omitempty"`    // candidates that this plan leaves for a later one
	Excluded []PlanExcluded  `json:"excluded,omitempty"` // no candidates, by the first condition that they do not meet
	Faults   []string        `json:"faults,omitempty"`   // settings and annotations that could not be read
	// Hosts, Nodes and Pods are how many were looked at.
	Hosts    int           `json:"hosts"`
	Nodes    int           `json:"nodes"`
	Pods     int           `json:"pods"`
	Clusters []PlanCluster `json:"clusters,omitempty"` // the workload clusters among them
}

// PlanCluster is a Kubernetes cluster whose nodes are on hosts of ours.
type PlanCluster struct {
	Name  string `json:"name"`            // NAMESPACE/NAME of Cluster API's Cluster
	Fault string `json:"fault,omitempty"` // why it was not read: its hosts are no candidates; "" = it was
	Nodes int    `json:"nodes"`
	Pods  int    `json:"pods"`
}

// PlanRunning is planned work that has begun and not ended. Its action was one of an earlier plan.
type PlanRunning struct {
	ID          string       `json:"id"` // in the annotation and the labels ironic-throttle.metal3.io/command
	Decision    PlanDecision `json:"decision"`
	Reason      PlanReason   `json:"reason"`
	Hosts       []string     `json:"hosts"`                 // NAMESPACE/NAME; the annotation is on the first one
	Replacement string       `json:"replacement,omitempty"` // the host that is deployed first, NAMESPACE/NAME
	Step        string       `json:"step"`                  // what is done now, in words
	WaitsFor    string       `json:"waitsFor,omitempty"`    // if it waits
	Since       time.Time    `json:"since"`                 // when the step began
	Stuck       bool         `json:"stuck,omitempty"`       // the step takes longer than it should: look at it
	LastError   string       `json:"lastError,omitempty"`   // why it did not go on when that was tried last; "" = it did
}

// PlanAction is one line of a plan. Hosts are NAMESPACE/NAME.
type PlanAction struct {
	ID          string       `json:"id"` // the same for the same action of the same plan
	Decision    PlanDecision `json:"decision"`
	Reason      PlanReason   `json:"reason"`
	Pool        string       `json:"pool,omitempty"` // KIND NAMESPACE/NAME, or "" for hosts of none
	Hosts       []PlanHost   `json:"hosts"`
	Replacement *PlanHost    `json:"replacement,omitempty"` // the host that is deployed first
	Evidence    []string     `json:"evidence"`              // sentences that say why
	// SavingPerHour is what the action's own act, power off, saves. Saving says in words how, or why nothing is saved.
	SavingPerHour float64  `json:"savingPerHour"`
	Saving        string   `json:"saving"`
	SlotMinutes   float64  `json:"slotMinutes"`            // for how long slots are held
	PaybackHours  *float64 `json:"paybackHours,omitempty"` // until the saving has paid for the work, if there is one
	// DisruptionCost is of the pods and the slots; SavingPerCost is what candidates are ordered by.
	DisruptionCost float64    `json:"disruptionCost"`
	SavingPerCost  float64    `json:"savingPerCost"`
	Moves          []PlanMove `json:"moves,omitempty"` // where its pods would go
}

// PlanHost is a host of an action.
type PlanHost struct {
	Name     string `json:"name"`               // NAMESPACE/NAME
	Cluster  string `json:"cluster,omitempty"`  // NAMESPACE/NAME of the workload cluster; "" = the throttle's own
	Node     string `json:"node,omitempty"`     // of the cluster
	Machine  string `json:"machine,omitempty"`  // NAMESPACE/NAME
	PowerOff bool   `json:"powerOff,omitempty"` // spec.online becomes false once it is available and unclaimed
}

// PlanMove is one pod that moves.
type PlanMove struct {
	Pod string `json:"pod"` // NAMESPACE/NAME
	To  string `json:"to"`  // a node, or the host that replaces
}

// PlanCandidate is a host that a later plan may act on.
type PlanCandidate struct {
	Host           string     `json:"host"`
	Pool           string     `json:"pool,omitempty"`
	Reason         PlanReason `json:"reason"`
	SavingPerHour  float64    `json:"savingPerHour"`
	DisruptionCost float64    `json:"disruptionCost"`
	SavingPerCost  float64    `json:"savingPerCost"`
	Note           string     `json:"note,omitempty"` // why not now
}

// PlanExcluded counts hosts that are no candidates for one reason.
type PlanExcluded struct {
	Condition string   `json:"condition"`
	Hosts     int      `json:"hosts"`
	Names     []string `json:"names,omitempty"` // the first ten of them by name, NAMESPACE/NAME
}

// PlanExplanation tells why a host is a candidate or not, condition by condition.
type PlanExplanation struct {
	Host       string          `json:"host"`
	Candidate  bool            `json:"candidate"`
	Reason     PlanReason      `json:"reason,omitempty"` // for which it is one
	Summary    string          `json:"summary"`          // one sentence
	Conditions []PlanCondition `json:"conditions"`
}

// PlanCondition is one condition of a candidate.
type PlanCondition struct {
	Type    string `json:"type"` // such as ConsolidateAfter, ConsolidationPolicy, Consolidatable
	Met     bool   `json:"met"`
	Message string `json:"message"`
}

// Fields of a 404 of the planner.
const (
	PlannerOff      = "disruption" // nothing is planned here, and the message says which setting changes that
	PlanHostUnknown = "name"       // there is no such host
)
