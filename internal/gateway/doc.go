// Package gateway is a reverse proxy in front of Ironic that makes an unmodified BMO obey (docs/behaviour.md). BMO's
// IRONIC_ENDPOINT points at it. It answers a request that would start work while no slot is free as Ironic does for a
// busy node, with 409, and passes all others on as they came.
//
// Read it in this order:
//
//	gateway.go  ServeHTTP: where each request goes
//	head.go     a request as Ironic would see it
//	classify/   what it means to Ironic, in any spelling
//	gate.go     a PUT that may start work: its body, its client, the decision, the slot
//	node.go     the host that the PUT's node belongs to
//	flight.go   the PUT on its way to Ironic, and its outcome
//	answers.go  refusals, and faults in Ironic's form
//	lists.go    BMO's capacity list, answered from the list of all nodes
//	proxy.go    all other requests, passed on
//	spool.go    bodies that wait until they are whole
//	serve.go    the listener, and what bounds its clients
package gateway

import "time"

const (
	// maxAge bounds the time from a gated request's arrival to its first byte to Ironic: later its client may have
	// given up and sent another. BMO gives up after 30 s, and should have its answer by then.
	maxAge = 20 * time.Second
	// fetchTimeout bounds the fetch of a node before its PUT.
	fetchTimeout = 10 * time.Second
	// grace is how long a client may take to send a small body, or to take the next part of its answer.
	grace = 10 * time.Second
	// beside is how much more than MaxBody a gated body may have: the JSON around a config drive of MaxBody.
	beside = 64 << 10

	maxIdentities = 100_000
	clientMaxAge  = time.Minute // how long the gateway remembers that Ironic has let a client in
	maxClients    = 1_000

	listPatience = 10 * time.Second // how long a capacity list waits for the list of all nodes

	// upstreamConns bounds the requests that are at Ironic at once. Its API does one thing at a time, so more requests
	// only delay every answer, those to the throttle's polls too. And each connection, even an idle one, holds one of
	// the 100 threads of an Ironic worker.
	upstreamConns = 48
	streamedConns = 16              // of them, for bodies that are passed on while they come
	upstreamIdle  = 5 * time.Second // how long an idle connection to Ironic stays open

	maxWords  = 300      // bytes of a foreign text in a log line or an answer
	maxAnswer = 64 << 10 // bytes of Ironic's answer to the gateway's own GET
)
