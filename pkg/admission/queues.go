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

// queues are the queues of all pools. They compete: conductor groups and the total for the
// slots of the total, and all of them for the starts of a minute if there is a rate limit. So a
// call that is due in one queue reserves a slot, and a start, against the others (F-3).
type queues struct {
	ledger *slots.Ledger
	policy *policy

	by       map[slots.Pool]*queue
	outdated bool            // slots became free or taken: update must run
	retired  fairshare.Stats // of queues whose pools no longer exist
	names    tenantNames
}

// configure makes a queue for every pool and configures each. It returns the queues whose pools
// no longer exist; their hosts are still in them.
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

// tie ties the queues that compete. Without a rate limit, virtual media does not compete with
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

// of returns the queue of the pool that the host of v belongs to.
func (q *queues) of(v *slots.Verdict) *queue {
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

// join moves h to the queue l, and to the tenant that its name says now.
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

// suspend suspends the hosts whose facts satisfy of: they leave the order of their queues until
// they ask again.
func (q *queues) suspend(now time.Time, of func(slots.Facts) bool) {
	for _, l := range q.by {
		for _, p := range l.View(now, math.MaxInt).Hosts {
			if h, ok := p.Host.Owner.(*host); ok && of(h.Facts()) {
				l.Suspend(now, &h.place)
			}
		}
	}
}

// update passes to every queue how many slots are free, and to that of the total how many of its
// slots the conductor groups hold.
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

// share returns how many of l's free slots the host at place may take. free and left, the starts
// that are left in this minute, bound it; what is reserved for calls of other queues that became due
// before the host's call is taken off. A nil place stands for a host that is not due.
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

// parkSilent parks the silent hosts of the queues that reserve a slot against l, so that none is
// reserved for a host that does not come back.
func (q *queues) parkSilent(l *queue) {
	for _, o := range q.by {
		if o != l && o.Kept(nil) > 0 && o.Expire() {
			q.outdated = true
		}
	}
}

// missed tells the other queues of a grant to a host of l. Where they had a free slot and a start
// left too, their called hosts were overtaken. Call it before the ledger has the grant.
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

// waiting is how many hosts wait for a slot of the total or of a conductor group, called ones
// included.
func (q *queues) waiting() (n int) {
	for pool, l := range q.by {
		if !pool.VirtualMedia {
			n += l.Queued()
		}
	}
	return n
}
