// Package admission makes the one decision: may this host start now?
//
// Everybody who asks, by HTTP, through a gateway or in a simulation, is answered
// by the same Controller, under one lock, in one order, first hit answers:
//
//	exempt | nothing left to start | already holds a slot
//	stale view | still starting
//	held off
//	pool short-circuited | breaker | rate
//	fair turn
//	free slot
//
// The ledger (pkg/slots) says how things stand, the line of the host's pool
// (pkg/fairshare) whose turn it is. A host has one identity for both: its turn hangs
// on the ledger's host. What the ledger learns of slots that began or ended, by a
// poll or a PUT, goes on to the lines at once (sync).
//
// What Ironic shows of work that ended goes from the ledger to the breakers
// (pkg/breaker) and the holds (pkg/holdoff) before the slots that it ended are given
// back. A host that they stop is in no line and has no call: it keeps its old place, and
// no slot waits for it.
//
// A Controller starts no goroutine and reads no clock: now is an argument, and
// whoever polls Ironic feeds it through the ironic.View methods. So the same
// code runs in a server, in virtual time, and in ten thousand random histories.
package admission
