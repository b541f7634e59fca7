// Package api is the Go client of ironic-throttle, and the types of its HTTP API.
//
// ironic-throttle hands out a fixed number of slots, so that no more hosts than that work in Ironic at once. A
// controller asks it before each phase of work on a host:
//
//	controller                             ironic-throttle
//	    | IsReady(host, op) ----------------->|  decides from what it knows: no request to Ironic
//	    |<----- Answer: Ready, Reason --------|  a yes takes a slot for the host
//	    | starts the work in Ironic           |  sees the host at work, and later idle: the slot is free again
//	    | IsReady before each further phase ->|  the host holds a slot: yes at once, ReasonHeldSlot
//
// A no is an Answer and not an error: start nothing, and ask again after RetryAfterSeconds. The host keeps its place.
// After an error the decision is not known: start nothing either. Most callers need only NewClient and Client.IsReady.
//
// These words are the same in all types. A host is a BareMetalHost and its node in Ironic. A slot is the right of one
// host to let Ironic work on it; it is a lease until Ironic shows that work. A pool is the slots of one limit: "" has
// all of them, others are called like their conductor group, or "virtual-media". A tenant is the namespace of a host's
// consumer, or else of the host. A view is what the throttle knows of Ironic. Names in upper case, such as MAX_FAILED,
// are settings of the throttle, without their prefix IRONIC_THROTTLE_.
//
// The package imports only the standard library.
package api
