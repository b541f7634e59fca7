// Package disruption plans work that nobody asked for: it finds hosts that are empty, have drifted, or are under-used,
// and computes what it costs and saves to release them or to provision them again (docs/planned-work.md).
//
// A plan is a function of a State, a Config and the time; the package changes nothing. A host with pods that need
// something that the package does not simulate is no candidate.
package disruption
