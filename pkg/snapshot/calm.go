package snapshot

import "time"

// lead is how long before the earliest deadline of an entry its hits read the clock
// again. So a hit is as exact as the clock, unless the timer fires later than this.
const lead = 50 * time.Millisecond

// calmly returns the snapshot if hits may do without the clock, and it is right; else nil.
func (e *entry[V]) calmly() *Snapshot[V] {
	snap := e.calm.Load()
	if snap == nil || snap.gen.Events != e.events.Load() || snap.gen.Overlay != e.overlay.Load() {
		return nil
	}
	return snap
}

// calmLocked decides whether hits of e may do without the clock, and until when. It
// follows each change of state, word and edge; that is also all that its timer does.
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

// deadlineLocked returns the state and the time for which nothing but an event or a
// revision of the overlay makes it old; 0 when it is not known to be right now: so
// it is where each Get probes, as there is no word to believe.
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

// drop ends the life of e, which is in the table no more: what still runs for it arms
// no timer.
func (e *entry[V]) drop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = true
	e.calm.Store(nil)
	if e.timer != nil {
		e.timer.Stop()
	}
}
