// Package fairshare decides whose turn it is: in which order hosts that wait for
// a slot are called, and whether the host that asks now may take one.
//
// It is pure: no clock, lock, goroutine or randomness. Whoever owns a Scheduler
// (pkg/admission) passes now and the number of free slots, under one lock. The
// rules, with the laws F-1 … F-11, are docs/spec/fair-share.md. There is one Scheduler
// per limit.
//
// # Why a call list
//
// Nobody waits on an open line. A host that is refused goes away and asks again
// after 3 s (gateway) or 60 to 120 s (check), so a free slot cannot be handed to
// the host whose turn it is. Instead that host is called: a slot is meant for it
// for as long as it may be expected back. Who is called goes by fairness alone,
// who of the called takes a free slot goes by who asks, and nobody is overtaken
// for ever:
//
//	       Ask                 call                    Ask, and
//	new ─────────▶ waiting ─────────────▶ called ─────────────────▶ holding
//	                ▲   │ silent           │  │  enough slots free    │
//	      Ask, with │   ▼                  │  │                       │ Release
//	     its old key│  parked ◀────────────┘  │ Redeem by another     ▼
//	                └────────────────────────-┘                      gone
//
// # The order (start-time fair queueing)
//
// Tenants first. Tenant i has a weight w, a quantum q = round(10^6/w), and a start
// tag F; V is the virtual time. A call goes to the eligible tenant with the least
// (F, name): V = max(V, F), then F += q. So over any time in which two tenants both
// wait they are called in proportion to their weights. A tenant is eligible while
// it has a waiting host in an open lane. One that is eligible now and was not when
// the call before this one was made gets F = max(F, V): no credit while absent.
// When, after an Ask or Update, nobody waits and nobody is called, V is raised to
// the greatest F that was ever given, and nobody counts as having been eligible:
// what is owed ends with the rush. A tenant without hosts is forgotten once F <= V.
//
// Then the tenant's hosts, in two lanes, healthy and failing. A host enters with
// the key v + P(e), where v counts the calls of its tenant, e is its error count
// (0 to 9) and P(e) = 2^min(e,6) - 1: a host with errors lets 1, 3, 7 … 63 of the
// tenant's others go first. The next host is the one with the least (key, seq)
// in the open lanes; seq counts entries. From Threshold errors on (at entry) a host
// belongs to the failing lane. A key stays while the host waits, is called or is
// parked; a host that comes back with an old key has both key and seq of then. A
// waiting host whose errors cross the threshold enters anew.
//
// # The cap on failing hosts
//
// With L slots, Cap (auto: max(1, ceil(L/4))) and Reserve (auto: max(1, ceil(L/10)),
// 0 for L = 1), the failing lane is open while
//
//	failing leases + failing calls < max(Cap, L - Reserve - H)
//	H = healthy leases + healthy calls + healthy hosts that wait
//
// so failing hosts may use an otherwise idle site but always leave Reserve, and are
// held to Cap while healthy hosts want slots. It is looked at when calling only.
//
// # Calling
//
// Each Ask, and each Update after a change of the free slots, first parks silent
// hosts (as does Refused, which makes no calls) and then calls while
//
//	called < free, or called < free + AHEAD and redeemers < free + AHEAD
//	redeemers = Σ (called + waiting) over the (tenant, lane) pairs that have a call
//	AHEAD     = clamp(ceil(G50/D · max(100, 4L)), 4, 4096)      (auto)
//	B         = max(20, L, 2·AHEAD)                             (auto)
//
// G50 is the median gap between two asks of a host (90 s until one is known), D the
// mean time for which granted slots are held (from 20 min, each one that ends as
// Finished weighing 1/32); free is at least 0. A call has a number ord and a bound
//
//	due = max(due of the call before, g + rank + B)
//
// (without the former when nobody else is called; Configure lowers it where B is less
// now), where g counts grants and rank the called hosts, itself included. From g >= due
// on the host is due: a free slot is kept for it. As due never falls with ord the
// due hosts are the oldest ones. The ask of a called host is a yes iff more slots
// are free than older calls are due (those whose last ask was refused for another
// reason, see Refused, do not count), and it need not give way.
//
// # Several schedulers
//
// Where limits share another one (conductor groups the total), a call of one Scheduler
// may be passed over by grants of the others, however often: its own count of grants
// stands still. So they are tied (Tie), and a call is also due once
//
//	missed >= missed at the call + 2 · (calls open in all that are tied, itself included)
//
// where missed counts the grants of the others made while a slot was free for this
// Scheduler too (Missed). Like due, this bound never falls with ord. A due call keeps a
// slot from all that are tied, in the order of becoming due (Kept): the owner takes
// from what is free for a host those of the other Schedulers' calls that were due
// before it, in each as many at most as are free within its own limit. So the call
// that has been due for longest takes the next slot that it can use. Silence ends
// that as it ends a call; the owner has it looked for in all (Expire).
//
// # Giving way
//
// On a small site all hosts are called, and whoever asks first would go first, whatever
// its errors. So a healthy host is overtaken by one failing host of its tenant at most
// (F-11). A healthy host that waits or is called is overtaken once a failing host of
// its tenant has got a slot since it entered. From then on failing hosts of its tenant
// that stand behind it in (key, seq) give way: an ask of theirs is a no, due or not.
// That ends when the healthy host has a slot or is parked.
//
// Meanwhile nothing is kept from the healthy host for their sake: at its ask, after
// the calls, it gets the oldest call, with ord, due and charge, of those that give way
// to it. Is it called itself, and later, the two exchange their calls. Is it not, and
// the first such host of its tenant that waits, the former holder waits again with its
// old key, and calls are made once more.
//
// # Redeem
//
// Called hosts that do not ask (a saturated BMO takes long to come round) must not
// keep slots idle. A waiting host that asks while free > due calls, after
// idle >= R since the last grant or since slots became free, takes over
// the oldest call of its own tenant and lane that is not due and whose holder has
// losses left (max(20, L) per wait), provided that
//
//	key - holder's key <= max(1, L/4) · free · 2^floor(idle/R)
//	R = RedeemAfter · min(1, D/20 min), at least 1 ms; for failing hosts three times that where L < 8
//
// and that its own ask before was CLAIM/5 ago or more, by the clock (else whoever asks
// every second would step in for all that keep to what they are told), and that it need
// not give way. It is answered
// yes at once. The former holder waits again with its old key. No tag and no number of
// calls changes. The cap does not matter here: the lane's calls and leases together
// stay as many.
//
// # Silence
//
// A host is expected back within its claim window
//
//	CLAIM = clamp(2 · max(G95, own last gap), 10 s, 1 h)
//
// and one that has not shown a gap yet within at least ClaimWindow. Silence runs on
// the ask clock, which advances from one ask of anybody to the next by the time
// between them, but at most max(2 s, CLAIM/4), where CLAIM is clamp(2 · G95, 10 s,
// 1 h), or ClaimWindow before any gap: while nobody asks nobody grows silent. A host
// is silent when the whole seconds of the ask clock have reached last ask + CLAIM,
// rounded up to a second. The window is the one at the host's last ask; when that
// ends and the present one is longer, the host has until that one ends. A silent host is parked;
// was it called, its tenant gets back exactly what the call cost. A gap is the time
// between two asks of one host while it waits, is called or parked, if at least 1 s:
// the greater of the time on the ask clock and that on the clock, of which no more
// than ClaimWindow counts (the ask clock lags where few ask); percentiles are nearest-rank over the last 512 gaps,
// taken anew at every gap below 64 and then at every 32nd.
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
// # Cost
//
// A host asks, waits, is called or leaves in O(log n). Nothing is ever scanned but
// the position in Answer, which looks at no more than 64 tenants; memory is that of
// the hosts that the owner has not let go (Leave) and of their tenants.
package fairshare
