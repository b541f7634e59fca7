// Package fakebmo plays the BareMetal Operator as far as Ironic and a throttle
// can see it: reconcile workers round a work queue, one BareMetalHost per node,
// and the order and spacing of asks and requests that were measured on the real
// one of August 2026 (docs/dev/reference/bmo.md).
//
//	registering ─► inspecting ─► preparing ─► available ─► provisioning ─► provisioned
//	                                             ▲              │ failed        │ told to
//	                                             └─ deprovisioning ◄────────────┘
//
// Before a host enters or goes on in inspecting, provisioning or deprovisioning
// the capacity rule is asked. A no marks the host delayed: it asks again after
// 60 to 120 s and does nothing else until it is let through, not even go away.
// The rule can be exchanged: a throttle, BMO's own, or the original proposal's.
//
// All durations are divided by one Speed. Time comes from package time, so all
// of it runs inside testing/synctest as well.
package fakebmo
