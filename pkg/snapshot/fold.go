package snapshot

// folding is a call of Options.Overlay that runs.
type folding[V any] struct {
	flight
	base    *base[V]
	overlay uint64 // read before it began
}

// foldLocked is listLocked for the overlay on the base that there is. There is one of
// them at a time.
func (c *Cache[K, V]) foldLocked(e *entry[V], key K, n need) (*flight, <-chan struct{}, error) {
	b, now := e.base.Load(), c.clock()
	if g := e.folding; g != nil {
		if g.base != b || g.overlay < n.overlay {
			return nil, g.done, nil
		}
		g.waiters++
		c.counters.waits.Add(1)
		return &g.flight, nil, nil
	}
	e.passLocked(now)
	g := &folding[V]{flight: newFlight("overlay", key, func() {}), base: b, overlay: e.overlay.Load()}
	if s := e.spoilt; s != nil && s.base == b && s.overlay == g.overlay && s.paused(now, c.o.Retry) {
		return nil, nil, s.err
	}
	if !c.spawn(func() { c.fold(e, key, g) }) {
		return nil, nil, ErrClosed
	}
	e.folding = g
	return &g.flight, nil, nil
}

// fold runs g to its end.
func (c *Cache[K, V]) fold(e *entry[V], key K, g *folding[V]) {
	var st *state[V]
	fault := g.err
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.folding = nil
		g.err = fault
		if fault == nil {
			e.calm.Store(nil) // first: nobody sees st and then what was before it
			e.state.Store(st) // folds run one at a time, each on the newest base (GC-8)
			c.calmLocked(e)
			e.spoilt = nil
		} else {
			c.counters.failures.Add(1)
			e.spoilt = &spoilt[V]{failure: failure{err: fault, at: c.clock()}, base: g.base, overlay: g.overlay}
		}
		close(g.done)
	}()
	st, fault = protect("overlay", key, func() (*state[V], error) { return c.build(e, key, g) })
}

// build returns the state of g's base with the overlay folded in.
func (c *Cache[K, V]) build(e *entry[V], key K, g *folding[V]) (*state[V], error) {
	b := g.base
	v := b.value
	if c.o.Overlay != nil {
		c.counters.folds.Add(1)
		var err error
		if v, err = c.o.Overlay(key, b.value); err != nil {
			return nil, err
		}
	}
	gen := Generation{Epoch: e.epoch, Probe: b.word.token, Events: b.events, Overlay: g.overlay}
	st := &state[V]{
		base:    b,
		snap:    &Snapshot[V]{value: v, gen: gen, begun: c.start.Add(b.begun)},
		until:   b.begun + c.o.MaxAge,
		aheadAt: never,
	}
	if c.o.Size != nil {
		st.items, st.bytes = c.o.Size(v)
	}
	if c.o.Ahead {
		st.aheadAt = st.until - min(2*b.took, c.o.MaxAge/4)
	}
	return st, nil
}
