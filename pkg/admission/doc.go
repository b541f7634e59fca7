// Package admission makes the one decision: may this host start now?
//
// Everybody who asks, by HTTP, through a gateway or in a simulation, is answered
// by the same Controller, under one lock, in four steps (decide.go):
//
//	record    notes what the ask says: identity, errors, spec
//	survey    gathers how things stand with the host: a situation
//	evaluate  asks the rules; the first that applies decides. It reads the situation alone
//	apply     carries the decision out in the queue, the breakers and the holds
//
// The caller then takes the slot in the ledger.
//
// evaluate.go lists the rules in their order. A dry run is survey and evaluate alone. The
// queue is asked only when nothing else keeps the host from starting; then the situation is
// evaluated once more, with the answer of the queue.
//
// The ledger (pkg/slots) records who holds a slot, the queue of the host's pool
// (pkg/fairshare) decides who is next. Both use one record of a host: the ledger's host
// points to it (host.go). When a poll or a PUT shows that slots began or ended, the ledger
// reports it to the queues at once (sync).
//
// The ledger reports the end of work to the breakers (pkg/breaker) and the holds
// (pkg/holdoff) before the slots of that work are given back. A host that these stop is
// suspended: it has no call and no slot is reserved for it, and it keeps its place for when
// it may start again.
//
// A Controller starts no goroutine and reads no clock: now is an argument, and
// whoever polls Ironic feeds it through the ironic.View methods. So the same
// code runs in a server, in virtual time, and in ten thousand random histories.
package admission
