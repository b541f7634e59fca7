// Package slots is the ledger of provisioning slots: who holds one, since when,
// and what must be seen before it is given back.
//
// It is pure: it holds no clock, socket, goroutine or lock. Every method takes
// now, and whoever owns the Ledger (pkg/admission) calls it under one lock. The
// rules are rows LH-1 … LH-40 of docs/spec/slots.md, and GW-3 … GW-6 for the PUTs of a
// gateway; each was found by searching random histories for one that breaks the
// limit. Do not simplify a rule without such a search.
//
// # The life of a slot
//
//	vacant    ──granted───▶  leased       a yes gives the slot
//	vacant    ──found─────▶  working      its node is at work, and had no slot
//
//	leased    ──began─────▶  working      work is seen, or Ironic takes the PUT
//	leased    ──expired───▶  vacant       idle LEASE_TTL after the last yes
//	leased    ──finished──▶  vacant       the goal was reached already
//	leased    ──refused───▶  vacant       Ironic did not take the PUT
//
//	working   ──began─────▶  working      it is seen at work again
//	working   ──stopped───▶  lingering    its node is seen outside of work
//
//	lingering ──began─────▶  working      the next part of its work
//	lingering ──finished──▶  vacant       at its goal, or LINGER after it was seen
//
//	leased    ──vanished──▶  vacant       Ironic has denied the node twice
//	working   ──vanished──▶  vacant
//	lingering ──vanished──▶  vacant
//	leased    ──moved─────▶  leased       it has, but the yes was to a name
//	working   ──moved─────▶  leased
//	lingering ──moved─────▶  leased
//
// A yes to a host that holds a slot renews it in whatever phase it is. While a PUT is on its
// way nothing ends. A slot that is written off as stuck (LH-33) keeps its phase and does
// not count.
//
// A leased slot whose node is found in a failed state that it was not in before the yes
// began and stopped at once: its work failed between two looks. Rescue and service may begin
// at their goal, which is reached only once that work was seen, or accepted by Ironic,
// since the last yes.
//
// A node found busy, in service or held while we start is adopted (LH-24). A node that is
// busy without having asked is foreign, when it is counted at all (LH-11). No slot ends
// because a node is merely absent from a list (LH-36), or because a look began before the
// last yes (LH-15).
//
// # Sequence numbers
//
// "Begun after" is decided by Mark.Seq, a number that grows with every look
// begun and every yes given, never by comparing clocks; durations are measured
// on the clock that is passed in, which may stand still or step back without
// harm: the ledger goes on with the latest now it has seen.
package slots
