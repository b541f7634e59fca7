package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// maxLists is how many lists of one key may run at a time: one whose answer is too old
// for those who came later, and theirs.
const maxLists = 2

// errGone is the failure of a function that ended its goroutine (runtime.Goexit).
var errGone = errors.New("ended without a result")

// flight is a call of List or Overlay that several Gets may wait for. It runs to its end, however
// many of them still wait.
type flight struct {
	done chan struct{} // closed at the end; what the flight brought is set before
	err  error
}

// newFlight returns one that has failed until its end: so it has when its function ends
// the goroutine.
func newFlight[K any](op string, key K) flight {
	return flight{done: make(chan struct{}), err: failureOf(op, key, errGone)}
}

// await waits for the end of f. Its error is that of ctx, or ErrClosed.
func (c *Cache[K, V]) await(ctx context.Context, f *flight) error {
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return ErrClosed
	}
}

// protect calls f. Its failures, a panic too, come back as an error that names op and key.
func protect[K, R any](op string, key K, f func() (R, error)) (r R, fault error) {
	var err error
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
		if err != nil {
			fault = failureOf(op, key, err)
		}
	}()
	r, err = f()
	return r, nil
}

func failureOf[K any](op string, key K, err error) error {
	return fmt.Errorf("snapshot: %s of %v: %w", op, key, err)
}

// list is a call of Options.List in flight.
type list struct {
	flight
	listing
}

// covers reports whether what l brings meets n.
func (l *list) covers(n need) bool {
	n.listed = true // its age will not matter
	return n.unfit(&l.listing, 0, 0) == hit
}

// listLocked returns a list that will meet n, in flight or new, and true; or, if too many are
// in flight, one whose end to wait for, and false; or the failure that forbids one for now.
func (c *Cache[K, V]) listLocked(e *entry[V], key K, n need) (*flight, bool, error) {
	if n.word.seq > e.newest.seq {
		e.newest = n.word
	}
	for _, l := range e.lists {
		if l.covers(n) {
			c.counters.waits.Add(1)
			return &l.flight, true, nil
		}
	}
	now := c.clock()
	if f := e.source.Load(); f.paused(now, c.o.Retry) {
		return nil, false, f.err
	}
	if len(e.lists) >= maxLists {
		return &e.lists[0].flight, false, nil
	}
	l := &list{flight: newFlight("list", key), listing: listing{seq: e.seq.Add(1), word: e.newest, begun: now}}
	if !c.spawn(func() { c.list(e, key, l) }) {
		return nil, false, ErrClosed
	}
	e.lists = append(e.lists, l)
	return &l.flight, true, nil
}

// list runs l to its end.
func (c *Cache[K, V]) list(e *entry[V], key K, l *list) {
	ctx, cancel := context.WithTimeout(c.ctx, c.o.ListTimeout)
	defer cancel()
	fault := l.err
	var v V
	defer func() {
		took := c.clock() - l.begun
		c.counters.builds.Add(1)
		c.counters.listing.Add(int64(max(took, 0)))
		e.mu.Lock()
		defer e.mu.Unlock()
		l.err = fault
		c.landLocked(e, l, v, took)
		close(l.done)
	}()
	v, fault = protect("list", key, func() (V, error) { return c.o.List(ctx, key) })
}

// landLocked keeps what l brought: v, or a failure.
func (c *Cache[K, V]) landLocked(e *entry[V], l *list, v V, took time.Duration) {
	e.lists = slices.DeleteFunc(e.lists, func(o *list) bool { return o == l })
	if b := e.base.Load(); b != nil && b.seq > l.seq {
		return // a later list ended first (GC-8)
	}
	if l.err != nil {
		c.fail(e, l.err)
		return
	}
	e.base.Store(&base[V]{listing: l.listing, value: v, took: took})
}

// fail keeps a failure of the source for the pause that follows it.
func (c *Cache[K, V]) fail(e *entry[V], fault error) {
	if c.ctx.Err() == nil {
		e.source.Store(&failure{err: fault, at: c.clock()})
	}
}

// folding is a call of Options.Overlay in flight.
type folding[V any] struct {
	flight
	base    *base[V]
	overlay uint64 // read before it began
}

// foldLocked is listLocked for the overlay on the base that there is. There is one of
// them at a time.
func (c *Cache[K, V]) foldLocked(e *entry[V], key K, n need) (*flight, bool, error) {
	b := e.base.Load()
	if g := e.folding; g != nil {
		if g.base != b || g.overlay < n.overlay {
			return &g.flight, false, nil
		}
		c.counters.waits.Add(1)
		return &g.flight, true, nil
	}
	g := &folding[V]{flight: newFlight("overlay", key), base: b, overlay: e.overlay.Load()}
	if s := e.spoilt; s != nil && s.base == b && s.overlay == g.overlay && s.paused(c.clock(), c.o.Retry) {
		return nil, false, s.err
	}
	if !c.spawn(func() { c.fold(e, key, g) }) {
		return nil, false, ErrClosed
	}
	e.folding = g
	return &g.flight, true, nil
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
			e.calm.Store(nil) // first: nobody reads st and then what was before it
			e.state.Store(st) // folds run one at a time, each on the newest base (GC-8)
			c.calmLocked(e)
			e.spoilt = nil
		} else {
			e.spoilt = &spoilt[V]{failure: failure{err: fault, at: c.clock()}, base: g.base, overlay: g.overlay}
		}
		close(g.done)
	}()
	st, fault = protect("overlay", key, func() (*state[V], error) { return c.build(key, g) })
}

// build returns the state of g's base with the overlay folded in.
func (c *Cache[K, V]) build(key K, g *folding[V]) (*state[V], error) {
	v := g.base.value
	if c.o.Overlay != nil {
		var err error
		if v, err = c.o.Overlay(key, v); err != nil {
			return nil, err
		}
	}
	st := &state[V]{
		base:  g.base,
		snap:  &Snapshot[V]{value: v, begun: c.start.Add(g.base.begun), overlay: g.overlay},
		ahead: c.o.MaxAge,
	}
	if c.o.Size != nil {
		st.items, st.bytes = c.o.Size(v)
	}
	if c.o.Ahead {
		st.ahead -= min(2*g.base.took, c.o.MaxAge/4)
	}
	return st, nil
}
