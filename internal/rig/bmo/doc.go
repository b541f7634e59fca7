// Package bmo is the BareMetal Operator as far as Ironic and a throttle can see it: what
// it does next for a host, given what the host's status says and what it sees of the
// node, as it was measured on the real one of August 2026 (docs/dev/reference/bmo.md).
//
//	registering ─► inspecting ─► preparing ─► available ─► provisioning ─► provisioned
//	                                             ▲              │ failed
//	                                             └─ deprovisioning
//
// Before a host enters or goes on in inspecting, provisioning or deprovisioning
// the capacity rule is asked. A no marks the host delayed: it asks again after
// 60 to 120 s and does nothing else until it is let through, not even go away.
//
// Reconcile is pure: no socket, no goroutine, no clock. Operator plays it over HTTP as the BareMetal Operator does,
// as Ironic and a throttle see it, in real time or in a bubble of testing/synctest; internal/rig/simulate plays it in
// virtual time.
package bmo
