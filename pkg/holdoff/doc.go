// Package holdoff remembers failed hosts: a host whose inspection, cleaning or deployment failed before it had an instance is
// left alone for a while, so that somebody can look at it before it is tried again.
//
//	          Failed                            its time is over, Release, or another spec
//	(nothing) ──────▶ held ───────────────────────────────────────────────▶ let go
//	    ▲              │                                                      │
//	    └──────────────┴──── work of the kind that failed succeeds, ──────────┘
//	                         the node is active, or it leaves Ironic
//
// A host has one failure, the newest. It is named by the node, the state that the failure left it in, and Ironic's stamp of
// that change: one failure that a hundred polls show is one. That the node becomes available again ends nothing: BMO
// deprovisions what has failed by itself, and the next try is the one that waits.
//
// The package is pure: it has no clock, file, goroutine or lock. Within the process only differences of now count; what is
// saved is wall time.
package holdoff
