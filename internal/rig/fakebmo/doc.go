// Package fakebmo plays the BareMetal Operator of internal/rig/bmo over HTTP: reconcile
// workers round a work queue, one BareMetalHost per node, and the requests that the real
// one makes. The capacity rule can be exchanged: a throttle, or BMO's own.
//
// All durations are divided by one Speed. Time comes from package time, so all
// of it runs inside testing/synctest as well.
package fakebmo
