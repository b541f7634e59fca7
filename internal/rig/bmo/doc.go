// Package bmo is the BareMetal Operator as far as Ironic and a throttle can see it: what it does next for a host, by
// the host's status and what it sees of the node. It does what the real one of August 2026 was measured to do
// (docs/dev/reference/bmo.md).
//
//	registering ─► inspecting ─► preparing ─► available ─► provisioning ─► provisioned
//	                                             ▲              │ failed
//	                                             └─ deprovisioning
//
// BMO asks the capacity rule before a host enters inspecting, provisioning or deprovisioning, and again while it is
// there. A no makes the host delayed: it asks again after 60 to 120 s, and does nothing else before it gets a yes.
//
// Reconcile is pure: no socket, no goroutine, no clock. Operator plays it over HTTP, in real time or in a bubble of
// testing/synctest; internal/rig/simulate plays it in virtual time.
package bmo
