// Package fairshare decides whose turn it is: in which order hosts that wait for
// a slot are called, and whether the host that asks now may take one.
//
// It is pure: no clock, lock, goroutine or randomness. Whoever owns a Scheduler
// (pkg/admission) passes now and the number of free slots, under one lock. There is one
// Scheduler per limit. The formulas in full and the laws F-1 … F-11 are in
// docs/spec/fair-share.md; L is the limit, e a host's number of errors.
//
// # Why a call list
//
// A host that is refused goes away and asks again after 3 s (gateway) or 60 to 120 s
// (check), so a free slot cannot be handed to the host whose turn it is. Instead that
// host is called: a slot is meant for it for as long as it may be expected back. Who is
// called depends on fairness alone; who of the called takes a free slot depends on who
// asks first; nobody is overtaken for ever:
//
//	       Ask                 call                    Ask, and
//	new ─────────▶ waiting ─────────────▶ called ─────────────────▶ holding
//	                ▲   │ silent           │  │  enough slots free    │
//	      Ask, with │   ▼                  │  │                       │ Release
//	     its old key│  parked ◀────────────┘  │ Redeem by another     ▼
//	                └────────────────────────-┘                      gone
//
// # An ask, step by step
//
//  1. Enqueue records the ask (ask.go): the clocks, the gap since the host's last ask,
//     its errors. It parks hosts that have been silent for too long (silence.go) and
//     puts this one into the queue (enter).
//  2. makeCalls calls hosts, while there are too few calls for the free slots. Each time
//     next chooses the tenant (order.go), and callNext the host (scheduler.go).
//  3. A healthy host may get the call of a failing one of its tenant (giveway.go).
//  4. mayTake says whether a called host may take a slot, redeemFrom whether one that
//     waits may take over the call of another (redeem.go). Otherwise the answer is a
//     refusal with the position in the queue (position.go).
//  5. Take grants the slot. Release ends it (lease.go).
//
// Whatever changes the state of a host passes through move, which keeps all counts and
// search trees.
//
// # The order (start-time fair queueing; F-2, F-6)
//
// Tenants first. Tenant i has a weight w, a quantum q = round(10^6/w), and a start
// tag F; V is the virtual time. A call goes to the eligible tenant with the least
// (F, name): V = max(V, F), then F += q. So over any time in which two tenants both
// wait they are called in proportion to their weights. A tenant is eligible while
// it has a waiting host in an open lane. One that is eligible now and was not when
// the call before this one was made gets F = max(F, V): no credit while absent. When
// nobody waits and nobody is called, what is owed ends: V is raised to the greatest F
// that was ever given, and nobody counts as having been eligible. A tenant without hosts
// is forgotten once F <= V.
//
// Then the tenant's hosts. A host enters with the key v + P(e), where v counts the calls
// of its tenant and P(e) = 2^min(e,6) - 1: a host with errors lets 1, 3, 7 … 63 of the
// tenant's others pass. The next host is the one with the least (key, seq) in the open
// lanes; seq counts entries. Key and seq stay while the host waits, is called or is
// parked. From Threshold errors on (at entry) a host belongs to the failing lane, else
// to the healthy one. A waiting host whose errors cross the threshold enters anew.
//
// The failing lane is open while failing leases + failing calls < max(Cap, L - Reserve -
// H), where H are the healthy hosts that hold a slot, are called or wait (F-4). So
// failing hosts may use an otherwise idle site but always leave Reserve, and are held to
// Cap while healthy hosts want slots. This is checked when calling only.
//
// # Calls (F-3, F-5)
//
// Hosts are called while
//
//	called < free, or called < free + AHEAD and redeemers < free + AHEAD
//	redeemers = Σ (called + waiting) over the (tenant, lane) pairs that have a call
//
// where AHEAD (callAhead) is for how often hosts ask and how long slots are held.
// A call has a number ord and a bound due, the number of grants from which on a free
// slot is kept for it: that of now, the hosts called and B (bound) more. As due never
// falls with ord the due calls are the oldest ones. The ask of a called host is a yes iff
// more slots are free than older calls are due (those whose last ask was Refused do not
// count), and it need not give way.
//
// Where limits share another one (conductor groups the total), grants of other
// Schedulers may pass over a call, while the count of its own stands still. So they are
// tied (Tie), and a call is also due once enough slots were Missed. A due call keeps a
// slot from all that are tied, in the order of becoming due (Kept).
//
// Called hosts that do not ask must not keep slots idle. Once slots have been idle for a
// while a waiting host takes over (redeems) the oldest call of its tenant and lane that
// is not due, whose former holder waits again with its old key. No tag and no number of
// calls changes.
//
// On a small site all hosts are called, and whoever asks first would get the slot,
// whatever its errors. So a healthy host is overtaken by one failing host of its tenant
// at most; those behind it give way from then on (F-11).
//
// # Silence
//
// A host is expected back within its claim window, clamp(2 · max(G95, own last gap),
// 10 s, 1 h), and one that has not shown a gap yet within at least ClaimWindow. A gap is
// the time between two asks of one host; G50 and G95 are percentiles of the last 512.
// Silence runs on the ask clock, which advances from one ask of anybody to the next, by
// a bounded step: while nobody asks nobody grows silent. A silent host is parked; was it
// called, its tenant gets back exactly what the call cost.
//
// # A worked example
//
// L = 2, tenants a (hosts a1, a2, a3) and b (b1), weights 1, q = 10^6, AHEAD = 4,
// nobody has errors. Both slots are taken when all four ask, a1 first.
//
//	a1 enters, key 0: the only tenant, called: ord 1, F(a) = 1.0, due = 0+1+20 = 21
//	a2 enters, key 1: a's call makes a1, a2 redeemers, 2 < 4: called, F(a) = 2.0, V = 1.0
//	a3 enters, key 2: called, ord 3, F(a) = 3.0, V = 2.0
//	b1 enters, key 0: b was absent, so F(b) = V = 2.0: called, ord 4, F(b) = 3.0
//
// A slot becomes free: free = 1. b1 asks first and takes it, since no older call is
// due yet. It overtook three, and may do so 20 times before a1 is due at g = 21;
// from then on the slot waits for a1. Were there ten hosts of each tenant, the four
// calls ahead would go to a, b, a, b in turn, whoever asks.
//
// # Cost (F-10)
//
// A host asks, waits, is called or leaves in O(log n). Nothing is ever scanned but the
// position in Answer, for which no more than 64 tenants are read, and the calls of one
// tenant's lane. Memory is that of the hosts that the owner has not let go (Leave) and of
// their tenants.
package fairshare
