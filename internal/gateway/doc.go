// Package gateway is a reverse proxy in front of Ironic that lets an unmodified
// BMO obey (docs/spec/gateway.md): IRONIC_ENDPOINT points at it, everything passes through
// untouched, and a request that would start work while no slot is free is answered
// as Ironic answers for a node that is busy, with 409.
//
// It puts its parts together, counts, and serves:
//
//	request ── package request: what does it mean to Ironic?
//	   ├─ may start work ── gate: admission, the queue, the slot ─┐
//	   ├─ in a shape that leaves the node open: 400               │
//	   ├─ a read that cache answers                               ▼
//	   └─ anything else ────────────────────────────> proxy ──> Ironic
//
// Bodies of what the gate and the proxy send wait in a spool until they are whole.
package gateway
