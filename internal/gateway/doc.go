// Package gateway is a reverse proxy in front of Ironic that lets an unmodified
// BMO obey (docs/spec/gateway.md): IRONIC_ENDPOINT points at it, everything passes through
// untouched, and a request that would start work while no slot is free is answered
// as Ironic answers for a node that is busy, with 409.
//
//	request ── another path ───────────────────────────────> Ironic   (GW-1)
//	   └─ may reach states/provision (read.go: classify)
//	        ├─ not a PUT, target abort, manage, adopt ──────> Ironic   (GW-3)
//	        ├─ in a shape that leaves the node open: 400             (GW-7)
//	        └─ starts work: whose node? (identity.go)                (GW-17)
//	             ├─ pkg/admission says no: 409 in Ironic's form       (GW-4)
//	             │     the next in the queue wait (queue.go)          (GW-19)
//	             └─ yes, the slot is held ── fetch the node ─── PUT > Ironic
//	                   its answer settles the slot (flight.go)       (GW-5, 6, 9)
//
// The gate must never let anything round it that a real Ironic would carry out.
// So a request is suspect as soon as its path could lead to states/provision by any
// reading, and free only when every reading of its target is a free one. What
// spellings there are was found by trying them on a real Ironic (e2e holds them).
package gateway
