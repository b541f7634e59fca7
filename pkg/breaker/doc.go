// Package breaker stops the start of work where work keeps failing, and lets it start again with a few probes: a circuit
// breaker, a rate limit and a concurrency limit for each scope (a whole Ironic, a conductor group, an image).
//
// It is pure: it has no clock and no goroutine, every method takes now, and Check, Status and All change nothing but what
// time alone changes. It is not safe for concurrent use: its owner, pkg/admission, calls it under its one lock. A now that
// lies before one that was given earlier is taken for that one.
//
//	          FailureThreshold failures, or the ratio     Trip
//	CLOSED ───────────────────────────────────────────▶ OPEN ◀────── (any state)
//	  ▲                                                 │  ▲
//	  │ a probe succeeds (or Reset)     RecoveryTimeout │  │ a probe fails
//	  └───────────────────────────────────────────── HALF_OPEN
//
// A permit is the right to run one piece of work. In HALF_OPEN at most HalfOpenMaxRequests permits are out, as probes; the
// first outcome of a probe decides. Work that began before the scope opened last says nothing about it any more.
//
// In CLOSED a failure counts while it is younger than FailureWindow. A host counts once, and again only after it has succeeded
// at the work that failed, or has not failed for a day: that a bad host is bad is no news. So no host alone opens a scope whose
// threshold is 2 or more, nor do many bad hosts that are tried again and again.
package breaker
