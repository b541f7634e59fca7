// Package soak plays random histories of the whole system in virtual time: replicas with clocks of their own, of which
// one leads by a Lease, the store of their holds, BMO's hosts, which ask or send PUTs through the gateway, and an
// Ironic with two conductors (fakeironic.World). The decision is the product's own code: pkg/admission with all below
// it, and the fence of the Lease. A model stands for what lies between them: requests that are lost, late, answered
// twice or broken off, processes that are paused, cut off or killed at any write, an election, a ConfigMap or a file.
//
// One goroutine plays a history, and its seed decides all of it: the same seed gives the same history.
//
// The laws that no history may break are in law.go, answerlaw.go, turnlaw.go and drain.go.
package soak
