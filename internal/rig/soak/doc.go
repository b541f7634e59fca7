// Package soak plays random histories of the whole system in virtual time: replicas with clocks of
// their own, of which one leads by a Lease, the store of their holds, BMO's hosts, which ask or send PUTs
// through the gateway, and an Ironic with two conductors (fakeironic.World). What decides is the
// product's own: pkg/admission with all below it, and the fence of the Lease. What is modelled is what
// lies between them: requests that are lost, late, answered twice or torn off, processes that are paused,
// cut off or killed at any write, an election, a ConfigMap or a file.
//
// One goroutine plays a history, and one seed decides all of it: Play of the same seed tells the same story.
//
// What must hold is in law.go, answerlaw.go, turnlaw.go and drain.go.
package soak
