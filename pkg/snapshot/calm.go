package snapshot

import "time"

// lead is how long before the earliest deadline of an entry its hits read the clock
// again. So a hit is as exact as the clock, unless the timer fires later than this.
const lead = 50 * time.Millisecond

// calmly returns the snapshot if hits need not read the clock and it is current; else nil.
func (e *entry[V]) calmly() *Snapshot[V] {
	snap := e.calm.Load()
	if snap == nil || snap.gen.Events != e.events.Load() || snap.gen.Overlay != e.overlay.Load() {
		return nil
	}
	return snap
}

// calmLocked decides whether hits of e need not read the clock, and until when. Call it after
// each change of state, word and edge; its timer calls it too.
func (c *Cache[K, V]) calmLocked(e *entry[V]) {
	if c.o.Now != nil {
		return // it fires no timers
	}
	st, wait := c.deadlineLocked(e)
	if wait -= lead; wait <= 0 {
		e.calm.Store(nil)
		return // a timer that runs still will find the same
	}
	if e.timer == nil {
		e.timer = time.AfterFunc(wait, func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			c.calmLocked(e)
		})
	} else {
		e.timer.Reset(wait)
	}
	e.calm.Store(st.snap)
}

// deadlineLocked returns the state and how long it stays current unless there is an event or a
// revision of the overlay; 0 when it is not known to be current, as always where each Get
// probes.
func (c *Cache[K, V]) deadlineLocked(e *entry[V]) (*state[V], time.Duration) {
	st := e.state.Load()
	if st == nil || e.gone {
		return nil, 0
	}
	until := min(st.until, st.aheadAt, time.Duration(e.edge.Load()))
	if c.o.Probe != nil {
		w := e.word.Load()
		if w == nil || w.token != st.snap.gen.Probe {
			return nil, 0
		}
		until = min(until, w.began+c.o.ProbeEvery)
	}
	return st, until - c.clock()
}

// drop ends the life of e, which is no longer in the table: lists and probes that still run for
// it arm no timer.
func (e *entry[V]) drop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = true
	e.calm.Store(nil)
	if e.timer != nil {
		e.timer.Stop()
	}
}
