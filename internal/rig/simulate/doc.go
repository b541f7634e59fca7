// Package simulate plays a storm of hosts in virtual time: an Ironic, an operator
// that wants all hosts provisioned, and the rule between them. Days pass in
// seconds, and the same options give the same events, byte for byte.
//
//	operator: work queue, W workers ──ask, or PUT through the gateway──► rule
//	   └──GET, PUT states/provision──► fakeironic.World ◄──lists, fetches── poller
//
// The Ironic is internal/rig/fakeironic's World itself. The rule throttle is the real
// pkg/admission.Controller, told the virtual time, and its view is polled as
// pkg/ironic's Poller does it: list after list, each at its own instant. The other
// rule is what users have today: BMO's own.
//
// The operator does what internal/rig/bmo does, as events instead of goroutines.
// What is told of a storm is the truth inside the World.
package simulate
