// Package holdoff is the ledger of failed hosts: a host whose inspection, cleaning
// or deployment failed before there was an instance is left alone for a while, so
// that a human can look at it before it starts again (rows BO-1 ... BO-18 of
// docs/spec/hold-off.md).
//
// It is pure: it holds no clock, file, goroutine or lock. Every method takes now,
// and whoever owns the Book (pkg/admission) calls it under one lock.
//
// # The life of an episode
//
//	          Failed, or an ask that shows it          t0 + T, or Release,
//	(nothing) ───────────────────────────────▶ held ───────────────────▶ let go
//	    ▲                                       │ ▲   or another spec       │
//	    │   work of that kind went well, the    │ │                         │
//	    │   node is active, or gone from Ironic │ │     it fails again:     │
//	    └───────────────────────────────────────┤ └── a new episode, its ───┤
//	                                            │     own t0, one more      │
//	                                            │     failure in a row      │
//	                                            └───────────────────────────┘
//
// An episode is named by the node, the state that the failure left it in and
// Ironic's stamp of that change, so that one failure seen in a hundred polls is one
// episode (BO-4). Its t0 is when we saw it first (BO-3), T the time for which its host is held. That a node is available
// again ends nothing: BMO deprovisions what has failed by itself, and the next try
// is the one that waits (BO-6). A host has at most one episode of each kind, and the
// newest decides; when its cleaning goes well, the deployment that failed before it
// is in force again.
//
// # Time
//
// Within the process only differences of the monotonic clock count, and a now that is
// earlier than one seen before is taken for that one (BO-18). What is saved is wall
// time, for want of anything else that outlives a restart. When the wall clock is set
// while we run, every record is due to be saved again as if it had been right from the
// start. When a record is read back, an age below zero is taken for zero. So a clock that is set
// may make a hold longer. It makes one shorter only if it is set forward while no process runs.
package holdoff
