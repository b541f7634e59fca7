// Package gateway is a reverse proxy in front of Ironic that lets an unmodified BMO obey (docs/behaviour.md):
// IRONIC_ENDPOINT points at it, everything passes through untouched, and a request that would start work while no slot
// is free is answered as Ironic answers for a node that is busy, with 409.
//
// It is read in this order:
//
//	gateway.go  ServeHTTP: a request as Ironic would see it, and what is to be done with it
//	classify/   what it means to Ironic, whoever spells it how
//	gate.go     a PUT that may start work: its body, its client, the decision, the slot
//	node.go     whose node that is
//	flight.go   the PUT on its way to Ironic, and what became of it
//	answers.go  refusals, and faults in Ironic's form
//	lists.go    BMO's capacity list, answered from the list of all nodes
//	proxy.go    everything else, passed on
//	spool.go    bodies that wait until they are whole
//	serve.go    the listener, and the bounds on the client's side
package gateway

import "time"

const (
	// maxAge bounds the time from a gated request's arrival to its first byte to Ironic: later its client may have
	// given up and asked anew. BMO gives up after 30 s; by then it should have its answer.
	maxAge = 20 * time.Second
	// fetchTimeout bounds the fetch of a node before its PUT.
	fetchTimeout = 10 * time.Second
	// grace is the time to read or write what belongs to an answer of our own.
	grace = 10 * time.Second
	// beside is what may stand beside a config drive of MaxBody.
	beside = 64 << 10

	maxIdentities = 100_000
	clientMaxAge  = time.Minute // how long Ironic's word about a client is good
	maxClients    = 1_000

	listPatience = 10 * time.Second // how long a capacity list waits for the list of all nodes

	// upstreamConns bounds the requests that are on their way to Ironic at once. Its API does one thing at a time, so
	// more make each answer later and none sooner, those to the throttle's own polls too; and of its 100 threads a
	// worker even an idle connection holds one.
	upstreamConns = 48
	streamedConns = 16              // of them, for bodies that are passed on while they come
	upstreamIdle  = 5 * time.Second // of a connection to Ironic

	maxWords  = 300      // bytes of a text of somebody else's in a log, or an answer of ours
	maxAnswer = 64 << 10 // bytes of Ironic's answer to a question of ours
)
