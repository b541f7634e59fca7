// Package holdoff remembers failed hosts: it holds a host whose inspection, cleaning or deployment failed before it had
// an instance for a while, so that somebody can look at it before BMO tries again.
//
//	          Failed                          its time is over, Release, another spec
//	(nothing) ──────▶ held ───────────────────────────────────────────────▶ released
//	    ▲              │                                                      │
//	    └──────────────┴──── work of the kind that failed succeeds, ──────────┘
//	                         the node is active, or it leaves Ironic
//
// A host has one failure, the newest. UUID, provision state and provision_updated_at of the node tell it from others: a
// failure that a hundred polls show is one. A node that becomes available again ends no hold: BMO deprovisions a
// failed host by itself, and the hold stops the next try.
//
// The package has no clock, file, goroutine or lock. Within the process, only differences between times count; records
// have wall time.
package holdoff
