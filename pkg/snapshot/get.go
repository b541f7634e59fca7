package snapshot

import "context"

// get is Get for an entry whose hits read the clock. cause says why it was no hit.
func (c *Cache[K, V]) get(ctx context.Context, key K) (*Snapshot[V], cause, error) {
	e := c.entry(key)
	if e == nil {
		return nil, failed, ErrClosed
	}
	n, err := c.need(ctx, e, key)
	if err != nil {
		return nil, failed, err
	}
	st, why := c.why(e, n)
	switch {
	case why == hit:
		if c.o.Ahead && c.clock()-st.base.begun >= st.ahead {
			c.goAhead(e, key, st)
		}
		return st.snap, hit, nil
	case ctx.Err() != nil:
		return nil, failed, ctx.Err()
	case st == nil:
		why = cold
	}
	if st, err = c.satisfy(ctx, e, key, n); err != nil {
		return nil, failed, err
	}
	return st.snap, why, nil
}

// need returns what a Get that begins now needs. It probes, unless the pause after a failure
// lasts. Its error is that of Get.
func (c *Cache[K, V]) need(ctx context.Context, e *entry[V], key K) (need, error) {
	n := need{overlay: e.overlay.Load()}
	if c.o.Probe == nil {
		return n, nil
	}
	if err := ctx.Err(); err != nil {
		return need{}, err
	}
	if f := e.source.Load(); f != nil && f.paused(c.clock(), c.o.Retry) {
		return need{}, f.err
	}
	n.word.seq = e.seq.Add(1)
	var fault error
	n.word.token, fault = protect("probe", key, func() (Token, error) { return c.o.Probe(ctx, key) })
	if fault == nil {
		return n, nil
	}
	if err := ctx.Err(); err != nil {
		return need{}, err // says nothing of the source
	}
	c.fail(e, fault)
	return need{}, c.orClosed(fault)
}

// satisfy waits for a state that meets n. It starts the list or the fold that is missing.
func (c *Cache[K, V]) satisfy(ctx context.Context, e *entry[V], key K, n need) (*state[V], error) {
	for {
		e.mu.Lock()
		st, why := c.why(e, n)
		if why == hit {
			e.mu.Unlock()
			return st, nil
		}
		relist := why != overlay
		var f *flight
		var joined bool
		var err error
		if relist {
			if b := e.base.Load(); b != nil {
				n.after = max(n.after, b.seq) // what began before one that will not do, will not either
			}
			f, joined, err = c.listLocked(e, key, n)
		} else {
			f, joined, err = c.foldLocked(e, key, n)
		}
		e.mu.Unlock()
		if err == nil {
			err = c.await(ctx, f)
		}
		switch {
		case err != nil:
			return nil, err
		case !joined: // it has ended: try again
		case f.err != nil:
			return nil, c.orClosed(f.err)
		case relist:
			n.listed = true
		default:
			return e.state.Load(), nil // what was folded, or newer
		}
	}
}

// orClosed returns the error of a Get after a failure: ErrClosed if Close cancelled the call.
func (c *Cache[K, V]) orClosed(fault error) error {
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
		n, err := c.need(c.ctx, e, key)
		if err != nil {
			return // kept as the entry's failure
		}
		n.after = st.base.seq
		_, _ = c.satisfy(c.ctx, e, key, n) // likewise
	}
	if !c.spawn(next) {
		e.ahead.Store(false)
	}
}
