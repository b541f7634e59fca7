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
//	            Grant                    seen busy, or 2xx to a PUT
//	(nothing) ─────────▶ leased, waiting ─────────────────────────▶ working
//	    ▲                  │        ▲                                │   ▲
//	    │  never used:     │        │ yes to an ask:                 │   │ seen busy again
//	    │  idle LEASE_TTL  │        │ same slot, renewed   seen in   │   │ (next phase)
//	    │  after the last  │        │                      no busy   ▼   │
//	    ├──── yes (LH-12) ─┘        └───────────────────── state:  lingering
//	    │                                                            │
//	    └──── at once when the op's goal is reached (LH-13), ────────┘
//	          else LINGER after it was seen (LH-14)
//
// A lease whose node is found in a failed state that it was not in before the yes goes
// from "waiting" to "lingering": its work began and failed between two looks. Rescue and
// service may begin at their goal, which is reached only once that work was seen, or
// accepted by Ironic, since the last yes.
//
// A node found busy, in service or held while we start enters at "working" as adopted
// (LH-24). A node that is busy without having asked enters there as foreign, when it is
// counted at all (LH-11). A node that Ironic denies twice is gone (LH-23). No slot ever
// ends because a node is merely absent from a list (LH-36), because a look began before
// the last yes (LH-15), or while a PUT is on its way (GW-3).
//
// # Sequence numbers
//
// "Begun after" is decided by Mark.Seq, a number that grows with every look
// begun and every yes given, never by comparing clocks; durations are measured
// on the clock that is passed in, which may stand still or step back without
// harm: the ledger goes on with the latest now it has seen.
package slots
