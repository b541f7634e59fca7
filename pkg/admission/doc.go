// Package admission makes the one decision: may this host start now?
//
// Everybody who asks, by HTTP, through a gateway or in a simulation, is answered
// by the same Controller, under one lock, in one order, first hit answers:
//
//	exempt | nothing left to start | already holds a slot
//	stale view | still starting
//	(held off | pool short-circuited | breaker | rate: not in this version)
//	turn: first come, first served (the fair turn takes this place)
//	free slot
//
// A Controller starts no goroutine and reads no clock: now is an argument, and
// whoever polls Ironic feeds it through the ironic.View methods. So the same
// code runs in a server, in virtual time, and in ten thousand random histories.
package admission
