// Package gate decides about requests that may start work (docs/spec/gateway.md): whose node it
// is, whether pkg/admission lets it start, whether the request waits for a slot, and what
// became of it.
//
//	PUT states/provision, as package request reads it
//	   ├─ target abort, manage, adopt ────────────────────> Ironic   (GW-3)
//	   └─ starts work: whose node? (identity.go)                (GW-17)
//	        ├─ pkg/admission says no: 409 in Ironic's form       (GW-4)
//	        │     the next in the queue wait (queue.go)          (GW-19)
//	        └─ yes, the slot is held ── fetch the node ─── PUT > Ironic
//	              its answer settles the slot (flight.go)       (GW-5, 6, 9)
package gate

import "time"

const (
	// MaxAge bounds the time from a gated request's arrival to its first byte to
	// Ironic (GW-3): later its client may have given up and asked anew. BMO gives up
	// after 30 s; by then it should have its answer.
	MaxAge = 20 * time.Second
	// Beside is what may stand beside a config drive of MaxBody.
	Beside = 64 << 10

	tiny = 4 << 10 // a body of up to this is taken before it is known whether Ironic lets its client in

	// Of the operator's workers one in workersAPlace may wait with a request for a slot, for
	// maxQueued at most: longer than the 10 s after which a released BMO asks again, so that
	// another one comes before it goes, and shorter than MaxAge by what a yes still takes.
	workersAPlace = 4
	maxQueued     = 12 * time.Second
	queueTick     = 100 * time.Millisecond
	// fetchTimeout bounds the fetch of a node before its PUT (GW-17).
	fetchTimeout = 10 * time.Second
	// startingGap is the time between two fetches of the node of a host that is refused
	// because it is not known where it belongs, or because nobody gets a yes yet.
	startingGap   = 10 * time.Second
	maxIdentities = 100_000
)
