package api

// PlanReasons lists the closed set of reasons.
func PlanReasons() []PlanReason {
	return []PlanReason{PlanEmpty, PlanDrifted, PlanUnderutilized}
}

// Fields of a 404 of the planner.
const (
	// PlannerOff: nothing is planned here, and the message says which setting changes that.
	PlannerOff = "disruption"
	// PlanHostUnknown: there is no such host.
	PlanHostUnknown = "name"
)
