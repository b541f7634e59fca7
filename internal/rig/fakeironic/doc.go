// Package fakeironic is a fake of OpenStack Ironic's API, with nodes, states and work that takes time.
//
// It has two layers. World is pure: nodes, their state machine, and what is still to happen. Nothing runs by itself:
// each call names the time, and the world first plays all that was due until then, each event at its own time. Server
// adds a lock, a clock and Ironic's HTTP: as an http.Handler for sockets, or as an http.RoundTripper in memory, which
// is safe in bubbles of testing/synctest.
//
//	PUT accepted ──► busy state, at once ──► steps of a plan ──► goal state
//	                      │  wait states: PXE boot, then the agent's heartbeats
//	                      └► fail state (on demand, time-out, conductor restart)
//
// The world also knows what no client of Ironic can see: how many hosts really work, the most so far, and for how long
// they were more than a limit (Truth).
//
// docs/dev/reference/ironic.md has the behaviour and the times of real Ironics that this package copies. If a real one
// answers a case of e2e/suite in another way, this package is wrong.
package fakeironic
