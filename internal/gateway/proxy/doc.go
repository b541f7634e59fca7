// Package proxy passes requests on to Ironic and changes nothing (GW-1): bounded, so that slow
// clients and a slow Ironic hold up nobody else (GW-13), and with errors in Ironic's own form
// where Ironic does not answer (GW-9). It knows from the answers whom Ironic lets in (GW-12).
package proxy

import "time"

// Grace is the time to read or write what belongs to an answer of our own.
const Grace = 10 * time.Second

// Every other bound that is no setting.
const (
	maxWords   = 300 // bytes of a text of somebody else's in a log, or an answer of ours
	copyBuffer = 32 << 10
	maxAnswer  = 64 << 10 // bytes of Ironic's answer to a question of ours

	upstreamIdle = 5 * time.Second // of a connection to Ironic
	// upstreamConns bounds the connections to Ironic: its server has 100 threads a
	// worker, and even an idle connection holds one.
	upstreamConns = 64
	streamedConns = 16 // of them, for bodies that are passed on while they come
	// Where Ironic takes slowAnswer for a small list of the throttle's own, which is then a
	// good part of MAX_STALE for a whole poll, fewer requests are on their way at once, down
	// to leastConns.
	slowAnswer = time.Second
	leastConns = 4

	accessMaxAge = time.Minute // how long Ironic's word about credentials is good
	maxAccepted  = 1_000
)
