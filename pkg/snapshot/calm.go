package snapshot

import "time"

// lead is how long before an entry may be due its hits read the clock again. So a hit is as
// exact as the clock, unless the timer fires later than this.
const lead = 50 * time.Millisecond

// calmly returns the snapshot if hits need not read the clock and it is current; else nil.
func (e *entry[V]) calmly() *Snapshot[V] {
	snap := e.calm.Load()
	if snap == nil || snap.overlay != e.overlay.Load() {
		return nil
	}
	return snap
}

// calmLocked decides whether hits of e need not read the clock, and until when: where no Get
// probes and the clock is the machine's. Call it after each change of state; its timer calls it too.
func (c *Cache[K, V]) calmLocked(e *entry[V]) {
	st := e.state.Load()
	if c.o.Now != nil || c.o.Probe != nil || st == nil || c.ctx.Err() != nil {
		return
	}
	wait := st.ahead - (c.clock() - st.base.begun) - lead
	if wait <= 0 {
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

// stopCalm ends the timer of an entry that Close dropped; none is set after Close.
func (e *entry[V]) stopCalm() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calm.Store(nil)
	if e.timer != nil {
		e.timer.Stop()
	}
}
