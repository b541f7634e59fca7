// Package admission makes the one decision: may this host start now?
//
// Everybody who asks, by HTTP, through a gateway or in a simulation, is answered
// by the same Controller, under one lock, in four steps (decide.go):
//
//	record    what the ask says: identity, errors, spec
//	survey    how things stand with the host: a situation
//	evaluate  the first rule that has something to say; it reads the situation and nothing else
//	apply     what follows for the queue, the breakers, the holds, and at last the slot
//
// evaluate.go lists the rules in their order. A dry run is survey and evaluate alone. The
// queue takes an ask only when nothing but its turn keeps the host from starting; then
// the situation is evaluated once more, with the answer of the queue.
//
// The ledger (pkg/slots) says how things stand, the queue of the host's pool
// (pkg/fairshare) whose turn it is. A host has one identity for both: its turn hangs
// on the ledger's host. What the ledger learns of slots that began or ended, by a
// poll or a PUT, goes on to the queues at once (sync).
//
// What Ironic shows of work that ended goes from the ledger to the breakers
// (pkg/breaker) and the holds (pkg/holdoff) before the slots that it ended are given
// back. A host that they stop is in no queue and has no call: it keeps its old place, and
// no slot waits for it.
//
// A Controller starts no goroutine and reads no clock: now is an argument, and
// whoever polls Ironic feeds it through the ironic.View methods. So the same
// code runs in a server, in virtual time, and in ten thousand random histories.
package admission
