package api

// HoldCounts counts the hosts that have failed and not gone well since; each is in one of both.
type HoldCounts struct {
	Held   int `json:"held"`   // left alone for a human to look at
	Failed int `json:"failed"` // not held, not any more, or released
}

// Storm is what GET /v1/status shows of the failure policy beside Breakers and Holds. All counts are since the start
// of the process and only grow.
type Storm struct {
	// Outcomes counts ended work. What never happened may be left out.
	Outcomes []OutcomeCount `json:"outcomes"`
	// Pools are those of Holds.Pools.
	Pools []PoolFailures `json:"pools"`
}

// OutcomeCount counts ended work of one kind.
type OutcomeCount struct {
	Result string `json:"result"` // one of OutcomeResults
	Work   string `json:"work"`   // one of OutcomeWorks
	Whose  string `json:"whose"`  // one of OutcomeOwners
	Count  uint64 `json:"count"`
}

// ScopeKinds lists the kinds of scopes that a breaker can watch: a scope is "ironic", or begins with another of them
// and a colon.
func ScopeKinds() []string { return []string{"ironic", "group"} }

// BreakerStates lists the states of a breaker.
func BreakerStates() []string { return []string{"CLOSED", "OPEN", "HALF_OPEN"} }

// HoldEnds lists how a hold ends: released by hand, by a change of the host's spec, as its time is over, as the host
// has gone well, or with the host.
func HoldEnds() []string { return []string{"hand", "spec", "time", "success", "gone"} }

// OutcomeResults lists how work ends. A neutral end says nothing about Ironic: the node vanished, or an operator aborted
// it.
func OutcomeResults() []string { return []string{"success", "failure", "neutral"} }

// OutcomeWorks lists the work that has an outcome.
func OutcomeWorks() []string {
	return []string{"inspect", "clean", "deploy", "delete", "rescue", "unrescue", "service"}
}

// OutcomeOwners lists who started work: a host that had a yes, or one that had not asked.
func OutcomeOwners() []string { return []string{"ours", "foreign"} }
