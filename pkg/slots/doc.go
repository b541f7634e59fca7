// Package slots is the ledger of provisioning slots: who holds one, since when,
// and what must be observed before it is given back.
//
// It is pure: it reads no clock and holds no socket, goroutine or lock. Every method takes
// now, and the owner of the Ledger (pkg/admission) calls it under one lock. The
// rules are rows LH-1 … LH-40 of docs/spec/slots.md, and GW-3 … GW-6 for the PUTs of a
// gateway; each was found by searching random histories for one that breaks the
// limit. Do not simplify a rule without such a search.
//
// Asks come in by Check, then Commit or Grant (check.go, lease.go), PUTs by Forward (put.go), and
// what Ironic shows by Observe and ObserveNode (observe.go), where slots begin and end. The Ledger
// is made of parts that do not know each other: clock, directory, pools, journal, view and fetchList.
//
// # The life of a slot
//
//	vacant    ──granted───▶  leased       a yes gives the slot
//	vacant    ──found─────▶  working      its node is at work, and had no slot
//
//	leased    ──began─────▶  working      work is observed, or Ironic accepts the PUT
//	leased    ──expired───▶  vacant       idle LEASE_TTL after the last yes
//	leased    ──finished──▶  vacant       the goal was reached already
//	leased    ──refused───▶  vacant       Ironic did not accept the PUT
//
//	working   ──began─────▶  working      it is observed at work again
//	working   ──stopped───▶  lingering    its node is observed idle
//
//	lingering ──began─────▶  working      the next part of its work
//	lingering ──finished──▶  vacant       at its goal, or LINGER after that
//
//	leased    ──vanished──▶  vacant       Ironic has denied the node twice
//	working   ──vanished──▶  vacant
//	lingering ──vanished──▶  vacant
//	leased    ──moved─────▶  leased       the same, but the yes was to a name, which a new node may have
//	working   ──moved─────▶  leased
//	lingering ──moved─────▶  leased
//
// A yes to a host that holds a slot renews it in every phase. While a PUT is in flight
// no slot of its host ends. A slot that is written off as stuck (LH-33) keeps its phase and does
// not count.
//
// When a leased slot's node is found in a failed state that it was not in before the yes, the
// slot begins and stops at once: the work failed between two polls. A rescue or a service may
// begin in the state that is also its goal. So its goal counts as reached only when such work
// was observed, or accepted by Ironic, since the last yes.
//
// A node that is found busy, or in a service or hold state, while we start is adopted (LH-24). A
// node that is busy later without a yes of ours is foreign, if it counts at all (LH-11). A slot
// does not end because its node is absent from a list (LH-36), nor by an observation that began
// before the last yes (LH-15).
//
// # Sequence numbers
//
// "Begun after" is decided by Mark.Seq, a number that grows with every poll or fetch
// begun and every yes given, never by comparing clocks. Durations are measured
// on the clock that is passed in, which may stand still or step back: the ledger
// then continues with the latest now that was passed in.
package slots
