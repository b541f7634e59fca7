package admission

import (
	"cmp"
	"math"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// queue is the queue of one pool.
type queue struct {
	*fairshare.Scheduler
	pool slots.Pool
}

// queues are those of all pools. They take from each other: conductor groups and the total
// the slots of the total, and all of them the starts of a minute where there is a rate. So a
// call that is due in one queue keeps a slot, and a start, from the others too (F-3).
type queues struct {
	ledger *slots.Ledger
	policy *policy

	by       map[slots.Pool]*queue
	outdated bool            // a queue does not know what is free
	retired  fairshare.Stats // of queues that are no more
	names    tenantNames
}

// configure makes a queue for every pool, and gives each its settings. It returns those that are
// no more; their hosts are still in them.
func (q *queues) configure(turns Turns) (gone []*queue, err error) {
	by := map[slots.Pool]*queue{}
	for i, pool := range q.ledger.Pools() {
		cfg := turns.config(q.ledger.Limit(pool))
		if i > 0 {
			cfg = turns.within(q.ledger.Limit(pool))
		}
		l := q.by[pool]
		if l == nil {
			s, err := fairshare.New(cfg)
			if err != nil {
				return nil, err
			}
			if total := by[slots.Pool{}]; total != nil {
				s.ShareClock(total.Scheduler)
			}
			l = &queue{Scheduler: s, pool: pool}
		} else if err := l.Configure(cfg); err != nil {
			return nil, err
		}
		by[pool] = l
	}
	for pool, l := range q.by {
		if by[pool] != l {
			gone = append(gone, l)
		}
	}
	q.by = by
	q.tie()
	return gone, nil
}

// retire empties a queue whose pool is no more; its hosts queue anew when they ask.
func (q *queues) retire(now time.Time, l *queue) {
	for _, p := range l.View(now, math.MaxInt).Hosts {
		if h, ok := p.Host.Owner.(*host); ok {
			q.leave(now, h)
		}
	}
	q.retired.Add(l.Stats())
}

// tie makes the queues know of each other. Without a rate, virtual media takes nothing from
// the others.
func (q *queues) tie() {
	var inTotal []*fairshare.Scheduler
	for _, pool := range q.ledger.Pools() {
		if l := q.by[pool]; !pool.VirtualMedia || q.policy.rate > 0 {
			inTotal = append(inTotal, l.Scheduler)
		} else {
			fairshare.Tie(l.Scheduler)
		}
	}
	fairshare.Tie(inTotal...)
}

// of is where the host of v queues.
func (q *queues) of(v slots.Verdict) *queue {
	pool, _ := v.Pool()
	return q.by[pool]
}

// newPlace gives h a place that is in no queue.
func (q *queues) newPlace(h *host) {
	id := h.ID()
	h.place = *fairshare.NewHost(cmp.Or(id.Name, id.UUID), tenant(id))
	h.place.Owner = h
	q.names.see(h.place.Tenant())
}

// join makes l the queue of h, and its namespace its tenant.
func (q *queues) join(now time.Time, h *host, l *queue) {
	if h.place.Tenant() != tenant(h.ID()) {
		q.leave(now, h)
		q.newPlace(h)
	}
	if h.queue != l {
		q.leave(now, h)
		h.queue = l
	}
}

// leave takes h out of its queue.
func (q *queues) leave(now time.Time, h *host) {
	if h.queue != nil {
		h.queue.Leave(now, &h.place)
		h.queue, q.outdated = nil, true
	}
}

// suspend takes the hosts that of accepts out of the order of their queues until they ask again.
func (q *queues) suspend(now time.Time, of func(slots.Facts) bool) {
	for _, l := range q.by {
		for _, p := range l.View(now, math.MaxInt).Hosts {
			if h, ok := p.Host.Owner.(*host); ok && of(h.Facts()) {
				l.Suspend(now, &h.place)
			}
		}
	}
}

// update sets how many slots are free for every queue, and in the total's how many
// of its slots the conductor groups hold.
func (q *queues) update(now time.Time) {
	q.outdated = false
	var healthy, failing int
	left := q.policy.startsLeft(now, false).left
	pools := q.ledger.Pools()
	for i := len(pools) - 1; i >= 0; i-- { // the total, which is first, at the end
		l := q.by[pools[i]]
		if i == 0 {
			l.Others(healthy, failing)
		} else if !l.pool.VirtualMedia {
			h, f := l.Held()
			healthy, failing = healthy+h, failing+f
		}
		l.Update(now, q.share(now, l, nil, q.ledger.Free(now, l.pool), left))
	}
}

// share is how many of the free slots of l a host may take, as far as other queues are
// concerned: of them, and of the starts that are left, those are kept that calls of
// others wait for which are due, and were before the host. No host: of a host that is not
// due.
func (q *queues) share(now time.Time, l *queue, place *fairshare.Host, free, left int) int {
	free = min(free, left)
	if len(q.by) == 1 || free == 0 {
		return free
	}
	var inTotal, beside int
	for pool, o := range q.by {
		if o == l {
			continue
		}
		kept := o.Kept(place)
		if kept > 0 {
			kept = min(kept, q.ledger.Free(now, pool))
		}
		if pool.VirtualMedia {
			beside += kept
		} else {
			inTotal += kept
		}
	}
	total := q.ledger.Free(now, slots.Pool{})
	if !l.pool.VirtualMedia {
		free = min(free, total-inTotal)
	}
	return max(0, min(free, left-min(inTotal, total)-beside))
}

// parkSilent parks the silent hosts of the queues that keep something from l: no slot is kept
// for a host that does not come back.
func (q *queues) parkSilent(l *queue) {
	for _, o := range q.by {
		if o != l && o.Kept(nil) > 0 && o.Expire() {
			q.outdated = true
		}
	}
}

// missed counts a grant to a host of l, before the ledger knows of it, in the other queues for which
// a slot, and a start, was left as well: a host that is called there has missed it.
func (q *queues) missed(now time.Time, l *queue, left int) {
	if len(q.by) == 1 || left == 0 {
		return
	}
	for _, pool := range q.ledger.Pools() {
		apart := l.pool.VirtualMedia != pool.VirtualMedia && q.policy.rate == 0
		o, free := q.by[pool], q.ledger.Free(now, pool)
		if o != l && !apart && free > 0 {
			o.Update(now, q.share(now, o, nil, free, left))
			o.Missed()
		}
	}
}

// waiting is how many hosts want a slot of the pools that share the total, with
// the calls that are open.
func (q *queues) waiting() (n int) {
	for pool, l := range q.by {
		if !pool.VirtualMedia {
			n += l.Queued()
		}
	}
	return n
}
