// Package breaker stops new work where work keeps failing, and lets it start again with a few probes: a circuit
// breaker, a rate limit and a concurrency limit for each scope (a whole Ironic, a conductor group, an image).
//
// It has no clock, lock or goroutine: the caller passes the time, and makes one call at a time. A time before an
// earlier one counts as that. Check, Status and All change only what time alone changes.
//
//	          FailureThreshold failures, or the ratio     Trip
//	CLOSED ───────────────────────────────────────────▶ OPEN ◀────── (any state)
//	  ▲                                                 │  ▲
//	  │ a probe succeeds (or Reset)     RecoveryTimeout │  │ a probe fails
//	  └───────────────────────────────────────────── HALF_OPEN
//
// A permit is the right to run one piece of work. In HALF_OPEN at most HalfOpenMaxRequests probes run; the first
// outcome of one decides. The outcome of work that began before the scope last opened does not count.
//
// In CLOSED a failure counts while it is younger than FailureWindow. A host counts once, and again only after it has
// succeeded at the work that failed, or has not failed for a day. So fewer hosts than FailureThreshold do not open a
// scope, however often somebody tries them again.
package breaker
