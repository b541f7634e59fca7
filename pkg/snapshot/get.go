package snapshot

import (
	"context"
	"time"
)

// atOnce returns the snapshot if the clock alone shows that it is current, else nil. It takes no
// lock and allocates nothing.
func (c *Cache[K, V]) atOnce(e *entry[V], key K) *Snapshot[V] {
	st := e.state.Load()
	if st == nil || st.snap.gen.Events != e.events.Load() || st.snap.gen.Overlay != e.overlay.Load() {
		return nil
	}
	// until is when somebody has to be asked: read before the clock, else what was
	// published meanwhile may seem to lie ahead.
	began, until := st.base.begun, min(st.until, time.Duration(e.edge.Load()))
	if c.o.Probe != nil {
		w := e.word.Load()
		if w == nil || w.token != st.snap.gen.Probe {
			return nil
		}
		began, until = max(began, w.began), min(until, w.began+c.o.ProbeEvery)
	}
	now := c.clock()
	if now < began || now >= until {
		return nil
	}
	if now >= st.aheadAt {
		c.goAhead(e, key, st)
	}
	return st.snap
}

// settle is Get when the entry alone does not show whether it is current. cause says why it was
// not; it is hit when the probe found no change.
func (c *Cache[K, V]) settle(ctx context.Context, key K) (*Snapshot[V], cause, error) {
	if err := ctx.Err(); err != nil {
		return nil, failed, err
	}
	e := c.entry(key)
	if e == nil {
		return nil, failed, ErrClosed
	}
	c.pass(e)
	n := need{events: e.events.Load(), overlay: e.overlay.Load()}
	if c.o.Probe != nil {
		w, err := c.ask(ctx, e, key)
		if err != nil {
			return nil, failed, err
		}
		n.word = w
	}
	now := c.clock()
	st, why := e.why(n, now, c.o.MaxAge)
	switch {
	case why == hit:
		if now >= st.aheadAt {
			c.goAhead(e, key, st)
		}
		return st.snap, hit, nil
	case st == nil:
		why = cold
	}
	st, err := c.satisfy(ctx, e, key, n)
	if err != nil {
		return nil, failed, err
	}
	return st.snap, why, nil
}

// satisfy waits for a state that meets n. It starts the list or the fold that is missing.
func (c *Cache[K, V]) satisfy(ctx context.Context, e *entry[V], key K, n need) (*state[V], error) {
	for {
		e.mu.Lock()
		st, why := e.why(n, c.clock(), c.o.MaxAge)
		if why == hit {
			e.mu.Unlock()
			return st, nil
		}
		relist := why != overlay
		var f *flight
		var place <-chan struct{}
		var err error
		if relist {
			if b := e.base.Load(); b != nil {
				n.after = max(n.after, b.seq) // what began before one that will not do, will not either
			}
			f, place, err = c.listLocked(e, key, n)
		} else {
			f, place, err = c.foldLocked(e, key, n)
		}
		e.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case place != nil:
			err = c.until(ctx, place)
		default:
			err = c.await(ctx, e, f)
		}
		switch {
		case err != nil:
			return nil, err
		case place != nil: // look again
		case f.err != nil:
			return nil, c.told(f.err)
		case relist:
			n.listed = true
		default:
			return e.state.Load(), nil // what was folded, or newer
		}
	}
}

// told returns the error of a Get after a failure: ErrClosed if Close cancelled the call.
func (c *Cache[K, V]) told(fault *Error) error {
	if c.ctx.Err() != nil {
		return ErrClosed
	}
	return fault
}

// goAhead starts the list that is to follow st, unless one runs or has just failed.
func (c *Cache[K, V]) goAhead(e *entry[V], key K, st *state[V]) {
	if e.ahead.Load() || e.source.Load().paused(c.clock(), c.o.Retry) || !e.ahead.CompareAndSwap(false, true) {
		return
	}
	next := func() {
		defer e.ahead.Store(false)
		ctx, cancel := context.WithTimeout(c.ctx, c.o.ListTimeout) // for the probe and for places to list
		defer cancel()
		n := need{events: e.events.Load(), overlay: e.overlay.Load(), after: st.base.seq}
		if c.o.Probe != nil {
			w, err := c.ask(ctx, e, key)
			if err != nil {
				return // kept as the entry's failure
			}
			n.word = w
		}
		_, _ = c.satisfy(c.ctx, e, key, n) // likewise
	}
	if !c.spawn(next) {
		e.ahead.Store(false)
	}
}
