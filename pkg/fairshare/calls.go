package fairshare

import "math/bits"

// callList holds the called hosts by ord, the order in which they were called.
// The due ones are the oldest, because due never falls with ord. Counts of older
// calls cost O(log n).
type callList struct {
	hosts []*Host // by ord; nil: ended
	all   fenwick // live calls
	open  fenwick // of these, those whose last ask passed every earlier check
	live  int
	// dueEnd is the first ord that is not due yet (F-3).
	dueEnd int
	// The bounds of the youngest call.
	lastDue, lastMissed int64
}

const minCallRoom = 64

// add appends a call of h.
func (c *callList) add(h *Host) {
	if len(c.hosts) == len(c.all) {
		c.compact()
	}
	h.ord = len(c.hosts)
	c.hosts = append(c.hosts, h)
	c.all.add(h.ord, 1)
	if h.passed {
		c.open.add(h.ord, 1)
	}
	c.live++
}

// remove ends the call of h.
func (c *callList) remove(h *Host) {
	c.hosts[h.ord] = nil
	if c.live == 1 {
		c.lastDue, c.lastMissed = 0, 0
	}
	c.all.add(h.ord, -1)
	if h.passed {
		c.open.add(h.ord, -1)
	}
	c.live--
}

// restore enters the call of h, which was another's that was just removed.
func (c *callList) restore(h *Host) {
	c.hosts[h.ord] = h
	c.all.add(h.ord, 1)
	if h.passed {
		c.open.add(h.ord, 1)
	}
	c.live++
	c.lastDue, c.lastMissed = max(c.lastDue, h.due), max(c.lastMissed, h.missed)
}

// swap exchanges the calls of a and b, which are in no list of their lanes.
func (c *callList) swap(a, b *Host) {
	c.hosts[a.ord], c.hosts[b.ord] = b, a
	if a.passed != b.passed {
		d := int32(1)
		if a.passed {
			d = -1
		}
		c.open.add(a.ord, d)
		c.open.add(b.ord, -d)
	}
	a.call, b.call = b.call, a.call
}

// setPassed notes whether the last ask of h, which is called, passed every earlier
// check.
func (c *callList) setPassed(h *Host, passed bool) {
	switch {
	case passed && !h.passed:
		c.open.add(h.ord, 1)
	case h.passed && !passed:
		c.open.add(h.ord, -1)
	}
	h.passed = passed
}

// advance makes calls due that so many grants and missed slots have made so, and takes
// them out of the lists of those that may be taken over. turn counts those that became
// due.
func (c *callList) advance(grants, missed int64, turn *int64) {
	for ; c.dueEnd < len(c.hosts); c.dueEnd++ {
		h := c.hosts[c.dueEnd]
		if h == nil {
			continue
		}
		if h.due > grants && h.missed > missed {
			return
		}
		*turn++
		h.turn = *turn
		h.t.lanes[h.lane].unlink(h)
	}
}

// older counts live calls older than h's.
func (c *callList) older(h *Host) int { return c.all.sum(h.ord) }

// olderDue counts the due calls older than h's for which a slot is kept.
func (c *callList) olderDue(h *Host) int { return c.open.sum(min(h.ord, c.dueEnd)) }

// due counts all due calls for which a slot is kept.
func (c *callList) due() int { return c.open.sum(c.dueEnd) }

// dueBefore counts the due calls for which a slot is kept and that became due before the
// given turn.
func (c *callList) dueBefore(turn int64) (n int) {
	for _, h := range c.hosts[:c.dueEnd] {
		if h != nil && h.turn >= turn {
			break
		}
		if h != nil && h.passed {
			n++
		}
	}
	return n
}

// isDue reports whether h, which is called, is due.
func (c *callList) isDue(h *Host) bool { return h.ord < c.dueEnd }

// compact closes the gaps that ended calls have left, and makes room.
func (c *callList) compact() {
	room := max(minCallRoom, 1<<bits.Len(uint(2*c.live)))
	old, dueEnd := c.hosts, c.dueEnd
	c.hosts, c.all, c.open = make([]*Host, 0, room), make(fenwick, room), make(fenwick, room)
	for i, h := range old {
		if i == dueEnd {
			c.dueEnd = len(c.hosts)
		}
		if h == nil {
			continue
		}
		h.ord = len(c.hosts)
		c.hosts = append(c.hosts, h)
		c.all.add(h.ord, 1)
		if h.passed {
			c.open.add(h.ord, 1)
		}
	}
	if dueEnd == len(old) {
		c.dueEnd = len(c.hosts)
	}
}

// fenwick is a binary indexed tree of counts.
type fenwick []int32

func (f fenwick) add(i int, v int32) {
	for i++; i <= len(f); i += i & -i {
		f[i-1] += v
	}
}

// sum adds the first n counts.
func (f fenwick) sum(n int) int {
	var s int32
	for n = min(n, len(f)); n > 0; n -= n & -n {
		s += f[n-1]
	}
	return int(s)
}
