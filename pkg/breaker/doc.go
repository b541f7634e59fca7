// Package breaker stops the start of work where work keeps failing, and lets it begin
// again with a few probes: a circuit breaker, a rate limit and a concurrency limit for
// each scope (a whole Ironic, a conductor group, an image …). The rules are rows CB-1 …
// CB-31 of docs/spec/breaker.md.
//
// It is pure: it has no clock and no goroutine, every method takes now. It is not safe
// for concurrent use: its owner, pkg/admission, calls it under its one lock. Take now from
// a monotonic clock (time.Now has one): then it does not matter that somebody sets the wall
// clock. Each scope goes by the latest now that it was given (CB-26).
//
// Read set.go and ask.go first; circuit.go has the states, evidence.go what opens a scope.
//
// # The life of a scope
//
//	         FailureThreshold failures, or the ratio     Trip
//	CLOSED ──────────────────────────────────────────▶ OPEN ◀────── (any)
//	  ▲                                                │  ▲
//	  │ a probe succeeds          RecoveryTimeout has  │  │ a probe
//	  │ (or Reset)                passed, nothing else ▼  │ fails
//	  └──────────────────────────────────────────── HALF_OPEN
//
// Time alone makes it HALF_OPEN: Tick does so for all scopes, every other method for the
// scopes that it is about.
//
// # The life of a permit
//
// Ask gives one when all its scopes allow it, and takes nothing when one of them does
// not. In a HALF_OPEN scope it is a probe: at most HalfOpenMaxRequests of them run at a
// time. It ends once, with Succeed, Fail or Cancel, and always gives its concurrency
// back. Whether its outcome is a verdict depends on the scope:
//
//   - begun before the scope opened last: never, also after it has closed (CB-12)
//   - a probe that outlived ProbeLifetime: never; its place is free again (CB-13)
//   - begun with Take while the scope was not CLOSED: never (CB-28)
//   - a probe in HALF_OPEN: closes or opens the scope (CB-10, CB-11); those that still
//     run at the close are ordinary permits from then on
//   - anything else: counts, if the scope is CLOSED
//
// RecordForeign and RecordSuccess are outcomes without a permit; they count in CLOSED
// alone (CB-15).
//
// # What counts in CLOSED
//
// A failure counts while it is younger than FailureWindow. That of a named host counts
// once: it counts again only after the host has not failed for a FailureWindow. Each
// failure, counted or not, begins that time anew. So one bad host never opens a
// scope whose threshold is 2 or more. The counted failures of all kinds of work add up
// to FailureThreshold. In mode Consecutive a success takes away those of its own kind:
// cleaning that succeeds says nothing about images. In mode Window it takes away none
// (CB-6). The ratio is judged per kind, at each outcome of that kind (CB-30). Nothing
// opens by time alone. A scope that closes forgets its failures.
//
// # Bounds
//
// A scope keeps at most 1,000 failures of the run, the newest 512 outcomes of each of
// the 32 kinds of work that ended last, and the 4,096 hosts that failed last (CB-27).
// Clean forgets a scope that nobody uses. A permit that is never settled is never freed:
// who loses the work behind one must Cancel it.
package breaker
