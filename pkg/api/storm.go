package api

// HoldCounts counts the hosts that have failed and not gone well since; each is in one of both.
type HoldCounts struct {
	Held   int `json:"held"`   // left alone for a human to look at
	Failed int `json:"failed"` // not held, not any more, or released
}

// Storm is what GET /v1/status shows of the failure policy beside Breakers and Holds. All counts are since the start
// of the process and only grow.
type Storm struct {
	// Outcomes counts ended work, each kind of it.
	Outcomes []OutcomeCount `json:"outcomes"`
	// Pools are those of Holds.Pools.
	Pools []PoolFailures `json:"pools"`
}

// OutcomeCount counts ended work of one kind.
type OutcomeCount struct {
	// Result is success, failure or neutral, which says nothing about Ironic: the node vanished, or an operator aborted.
	Result string `json:"result"`
	Work   string `json:"work"` // inspect, clean, deploy, delete, rescue, unrescue or service
	Count  uint64 `json:"count"`
}
