// Package fakeironic is a stateful and honest fake of OpenStack Ironic's API.
//
// It has two layers. World is pure: nodes, their state machine, work that takes time, and what is still to happen.
// Nothing runs by itself; every call names the time, and the world first plays everything that was due until then,
// each event at its own exact time. Server is the thin shell round it: one lock, an injected clock and Ironic's HTTP,
// as an http.Handler for real sockets or as an http.RoundTripper in memory (safe inside testing/synctest bubbles).
//
//	PUT accepted ──► busy state, at once ──► steps of a plan ──► goal state
//	                      │  wait states: PXE boot, then the agent's heartbeats
//	                      └► fail state (told to fail, time-out, conductor restart)
//
// The world knows the truth that no client of Ironic can see: how many hosts really work now, the peak, and for how
// long it was above a limit (Truth).
//
// What is copied from a real Ironic is in docs/dev/reference/ironic.md, time lines too; a case of e2e/suite that a real
// one answers otherwise is a defect of this package.
package fakeironic
