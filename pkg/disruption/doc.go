// Package disruption plans work on hosts that nobody asked for: it finds hosts that are
// empty, have drifted, or are under-used, and tells what releasing them or provisioning them
// again costs and saves (docs/planned-work.md).
//
// It is pure: a plan is a function of a State, a Config and the time. It changes nothing.
// Whatever it does not model makes a host no candidate.
package disruption
