package snapshot

import (
	"context"
	"slices"
)

// maxLists is how many lists of one key may run at a time: one whose answer is too old
// for those who came later, and theirs.
const maxLists = 2

// list is a call of Options.List that runs.
type list struct {
	flight
	listing
}

// covers reports whether what l brings meets n.
func (l *list) covers(n need) bool {
	n.listed = true // its age will not matter
	return !l.left && n.unfit(&l.listing, 0, 0) == hit
}

// listLocked returns a list to wait for, running or new; or, if too many run, a channel that
// closes when another may begin; or the failure that forbids one for now.
func (c *Cache[K, V]) listLocked(e *entry[V], key K, n need) (*flight, <-chan struct{}, error) {
	if n.word.seq > e.newest.seq {
		e.newest = n.word
	}
	for _, l := range e.lists {
		if l.covers(n) {
			l.waiters++
			c.counters.waits.Add(1)
			return &l.flight, nil, nil
		}
	}
	now := c.clock()
	if f := e.source.Load(); f.paused(now, c.o.Retry) {
		return nil, nil, f.err
	}
	if len(e.lists) >= maxLists {
		return nil, e.lists[0].done, nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.o.ListTimeout)
	l := &list{
		flight:  newFlight("list", key, cancel),
		listing: listing{seq: e.seq.Add(1), events: e.events.Load(), word: e.newest, begun: now},
	}
	if !c.spawn(func() { c.list(ctx, e, key, l) }) {
		cancel()
		return nil, nil, ErrClosed
	}
	e.lists = append(e.lists, l)
	return &l.flight, nil, nil
}

// list runs l to its end.
func (c *Cache[K, V]) list(ctx context.Context, e *entry[V], key K, l *list) {
	defer l.cancel()
	var b *base[V]
	fault := l.err
	defer func() {
		took := c.clock() - l.begun
		c.counters.builds.Add(1)
		c.counters.listing.Add(int64(max(took, 0)))
		e.mu.Lock()
		defer e.mu.Unlock()
		l.err = fault
		if b != nil {
			b.took = took
		}
		c.landLocked(e, l, b)
		close(l.done)
	}()
	var v V
	v, fault = protect("list", key, func() (V, error) { return c.o.List(ctx, key) })
	if fault == nil {
		b = &base[V]{listing: l.listing, value: v}
	}
}

// landLocked keeps what l brought: b, or nil and a failure.
func (c *Cache[K, V]) landLocked(e *entry[V], l *list, b *base[V]) {
	e.lists = slices.DeleteFunc(e.lists, func(o *list) bool { return o == l })
	if l.left {
		return // cancelled: neither good nor bad (GC-6)
	}
	if cur := e.base.Load(); cur != nil && cur.seq > l.seq {
		return // a later list ended first (GC-8)
	}
	if b == nil {
		c.fail(e, l.err)
		return
	}
	e.base.Store(b)
}

// fail keeps a failure of the source for the pause that follows it.
func (c *Cache[K, V]) fail(e *entry[V], fault *Error) {
	if c.ctx.Err() != nil {
		return
	}
	c.counters.failures.Add(1)
	e.source.Store(&failure{err: fault, at: c.clock()})
}
