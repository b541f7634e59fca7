// Package decisionlog puts into the log what the decision does by itself, which no request
// would show.
//
//	slots.go      "slot event": a slot that was found, lost, written off or given back
//	failures.go   "host failed", "hold ended", "circuit breaker" and "conductor group": what failures have stopped
//	sizing.go     "the limit has changed" and "another limit is recommended"
//	view.go       "ironic was last seen too long ago", "ironic is seen again" and "all busy hosts are known"
//
// What somebody does by hand is told by internal/server, what a single request meets by
// internal/gateway, and what the owner of a host should know by internal/clusterhosts.
package decisionlog
