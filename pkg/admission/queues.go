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
	// uprooted waited in a queue that is no more, and have not asked since: planned work yields to them.
	uprooted map[*host]struct{}
}

// configure makes a queue for every pool and configures each. It returns the queues whose pools
// no longer exist; their hosts are still in them.
func (qs *queues) configure(turns Turns) (gone []*queue, err error) {
	by := map[slots.Pool]*queue{}
	for _, pool := range qs.ledger.Pools() {
		cfg := turns.config(qs.ledger.Limit(pool))
		if cfg.Validate() != nil { // a pool within the total, or a limit in force that is below the one that is set
			cfg = turns.within(qs.ledger.Limit(pool))
		}
		q := qs.by[pool]
		if q == nil {
			s, err := fairshare.New(cfg)
			if err != nil {
				return nil, err
			}
			if total := by[slots.Pool{}]; total != nil {
				s.ShareClock(total.Scheduler)
			}
			q = &queue{Scheduler: s, pool: pool}
		} else if err := q.Configure(cfg); err != nil {
			return nil, err
		}
		by[pool] = q
	}
	for pool, q := range qs.by {
		if by[pool] != q {
			gone = append(gone, q)
		}
	}
	qs.by = by
	qs.tie()
	return gone, nil
}

// retire empties a queue whose pool is no more; its hosts queue anew when they ask.
func (qs *queues) retire(now time.Time, q *queue) {
	uproot := func(h *host) {
		qs.leave(now, h)
		if !q.pool.VirtualMedia { // such hosts are not limited any more
			qs.uprooted[h] = struct{}{}
		}
	}
	for _, p := range q.View(now, math.MaxInt).Hosts {
		if h, ok := p.Host.Owner.(*host); ok {
			uproot(h)
		}
	}
	qs.ledger.Members(now, func(ref slots.Ref) { // those that are parked stand in no order
		if h := hostOf(ref); h != nil && h.queue == q && h.keepsPlace() {
			uproot(h)
		}
	})
	qs.retired.Add(q.Stats())
}

// tie ties the queues that compete. Without a rate limit, virtual media does not compete with
// the others.
func (qs *queues) tie() {
	var inTotal []*fairshare.Scheduler
	for _, pool := range qs.ledger.Pools() {
		if q := qs.by[pool]; !pool.VirtualMedia || qs.policy.rate > 0 {
			inTotal = append(inTotal, q.Scheduler)
		} else {
			fairshare.Tie(q.Scheduler)
		}
	}
	fairshare.Tie(inTotal...)
}

// of returns the queue of the pool that the host of v belongs to.
func (qs *queues) of(v *slots.Verdict) *queue {
	pool, _ := v.Pool()
	return qs.by[pool]
}

// newPlace gives h a place that is in no queue.
func (qs *queues) newPlace(h *host) {
	id := h.ID()
	h.place = *fairshare.NewHost(cmp.Or(id.Name, id.UUID), tenant(id))
	h.place.Owner = h
	qs.names.see(h.place.Tenant())
}

// join moves h to the queue q, and to the tenant that its name says now.
func (qs *queues) join(now time.Time, h *host, q *queue) {
	if h.place.Tenant() != tenant(h.ID()) {
		qs.leave(now, h)
		qs.newPlace(h)
	}
	if h.queue != q {
		qs.leave(now, h)
		h.queue = q
	}
}

// leave takes h out of its queue.
func (qs *queues) leave(now time.Time, h *host) {
	delete(qs.uprooted, h)
	if h.queue != nil {
		h.queue.Leave(now, &h.place)
		h.queue, qs.outdated = nil, true
	}
}

// suspend suspends the hosts whose facts satisfy of: they leave the order of their queues until
// they ask again.
func (qs *queues) suspend(now time.Time, of func(slots.Facts) bool) {
	for _, q := range qs.by {
		for _, p := range q.View(now, math.MaxInt).Hosts {
			if h, ok := p.Host.Owner.(*host); ok && of(h.Facts()) {
				q.Suspend(now, &h.place)
			}
		}
	}
}

// update passes to every queue how many slots are free, and to that of the total how many of its
// slots the conductor groups hold.
func (qs *queues) update(now time.Time) {
	qs.outdated = false
	var healthy, failing int
	left := qs.policy.startsLeft(now, false).left
	pools := qs.ledger.Pools()
	for i := len(pools) - 1; i >= 0; i-- { // the total, which is first, at the end
		q := qs.by[pools[i]]
		if i == 0 {
			q.Others(healthy, failing)
		} else if !q.pool.VirtualMedia {
			h, f := q.Held()
			healthy, failing = healthy+h, failing+f
		}
		q.Update(now, qs.share(now, q, nil, qs.ledger.Free(now, q.pool), left))
	}
}

// share returns how many of q's free slots the host at place may take. free and left, the starts
// that are left in this minute, bound it; what is reserved for calls of other queues that became due
// before the host's call is taken off. A nil place stands for a host that is not due.
func (qs *queues) share(now time.Time, q *queue, place *fairshare.Host, free, left int) int {
	free = min(free, left)
	if len(qs.by) == 1 || free == 0 {
		return free
	}
	var inTotal, beside int
	for pool, o := range qs.by {
		if o == q {
			continue
		}
		kept := o.Kept(place)
		if kept > 0 {
			kept = min(kept, qs.ledger.Free(now, pool))
		}
		if pool.VirtualMedia {
			beside += kept
		} else {
			inTotal += kept
		}
	}
	total := qs.ledger.Free(now, slots.Pool{})
	if !q.pool.VirtualMedia {
		free = min(free, total-inTotal)
	}
	return max(0, min(free, left-min(inTotal, total)-beside))
}

// parkSilent parks the silent hosts of the queues that reserve a slot against q, so that none is
// reserved for a host that does not come back.
func (qs *queues) parkSilent(q *queue) {
	for _, o := range qs.by {
		if o != q && o.Kept(nil) > 0 && o.Expire() {
			qs.outdated = true
		}
	}
}

// missed tells the other queues of a grant to a host of q. Where they had a free slot and a start
// left too, their called hosts were overtaken. Call it before the ledger has the grant.
func (qs *queues) missed(now time.Time, q *queue, left int) {
	if len(qs.by) == 1 || left == 0 {
		return
	}
	for _, pool := range qs.ledger.Pools() {
		o, free := qs.by[pool], qs.ledger.Free(now, pool)
		if o != q && !qs.apart(q.pool, pool) && free > 0 {
			o.Update(now, qs.share(now, o, nil, free, left))
			o.Missed()
		}
	}
}

// last is when the last of all hosts that wait may have its slot; Unmeasured if nobody knows that
// of one queue.
func (qs *queues) last() (half, most time.Duration) {
	for _, q := range qs.by {
		if q.Queued() == 0 {
			continue
		}
		h, m := q.Last()
		if h == fairshare.Unmeasured {
			return h, m
		}
		half, most = max(half, h), max(most, m)
	}
	return half, most
}

// waiting is how many hosts wait for a slot of the total or of a conductor group, called ones
// included.
func (qs *queues) waiting() (n int) {
	for pool, q := range qs.by {
		if !pool.VirtualMedia {
			n += q.Queued()
		}
	}
	return n
}

// waitingFor is how many hosts wait for a slot of the pool.
func (qs *queues) waitingFor(pool slots.Pool) int {
	if pool == (slots.Pool{}) {
		return qs.waiting()
	}
	if q := qs.by[pool]; q != nil {
		return q.Queued()
	}
	return 0
}
