// Package simulate plays a storm of hosts in virtual time: an Ironic, an operator that wants all hosts provisioned, and
// the rule between them. Days pass in seconds, and the same options give the same events, byte for byte.
//
//	operator: work queue, W workers ──ask, or PUT through the gateway──► rule
//	   └──GET, PUT states/provision──► fakeironic.World ◄──lists, fetches── poller
//
// Ironic is a World of internal/rig/fakeironic. The rule "throttle" is the real pkg/admission.Controller, to which the
// simulation passes the virtual time, with a poller that does what pkg/ironic's Poller does. The other rule is BMO's
// own, which users have today.
//
// The operator does what internal/rig/bmo does, as events instead of goroutines. Results count what is true in the
// World, not what the throttle believes.
package simulate
