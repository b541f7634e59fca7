// Package decisionlog puts into the log what the decision does by itself, which no request would show: what happens to
// slots (slots.go), what failures stop (failures.go), what becomes of the limits (sizing.go), and that Ironic is out of
// sight (view.go). The message of a line names the event.
//
// What somebody does by hand is told by internal/server, what a single request meets by internal/gateway, and what the
// owner of a host should know by internal/clusterhosts.
package decisionlog
