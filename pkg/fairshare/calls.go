package fairshare

import "math/bits"

// callList holds the called hosts by ord, the order in which they were called.
// The due ones are the oldest, because due never falls with ord. Counts of older
// calls cost O(log n).
type callList struct {
	hosts []*Host // by ord; nil: ended
	all   fenwick // open calls
	kept  fenwick // of these, those whose last ask passed every earlier check: if due, a slot is kept
	open  int
	// dueEnd is the first ord that is not due yet (F-3).
	dueEnd int
	// The bounds of the youngest call.
	lastDue, lastMissed int64
}

// minCalls is for how many calls a list is made.
const minCalls = 64

// add appends a call of h.
func (c *callList) add(h *Host) {
	if len(c.hosts) == len(c.all) {
		c.compact()
	}
	h.ord = len(c.hosts)
	c.hosts = append(c.hosts, h)
	c.all.add(h.ord, 1)
	c.keep(h, 1)
	c.open++
}

// keep counts the call of h in or out, by its last ask.
func (c *callList) keep(h *Host, d int32) {
	if h.passed {
		c.kept.add(h.ord, d)
	}
}

// setPassed notes whether the last ask of h, which is called, passed every earlier check.
func (c *callList) setPassed(h *Host, passed bool) {
	c.keep(h, -1)
	h.passed = passed
	c.keep(h, 1)
}

// remove ends the call of h.
func (c *callList) remove(h *Host) {
	c.hosts[h.ord] = nil
	c.all.add(h.ord, -1)
	c.keep(h, -1)
	if c.open--; c.open == 0 {
		c.lastDue, c.lastMissed = 0, 0
	}
}

// handOver gives the call of from to h, which has none.
func (c *callList) handOver(from, h *Host) {
	c.keep(from, -1)
	h.stake, from.stake = from.stake, nil
	c.hosts[h.ord] = h
	c.keep(h, 1)
	if c.open == 1 { // as if it had just been made
		c.lastDue, c.lastMissed = 0, 0
	}
	c.lastDue, c.lastMissed = max(c.lastDue, h.due), max(c.lastMissed, h.missed)
}

// swap exchanges the calls of a and b.
func (c *callList) swap(a, b *Host) {
	c.keep(a, -1)
	c.keep(b, -1)
	a.call, b.call = b.call, a.call
	c.hosts[a.ord], c.hosts[b.ord] = a, b
	c.keep(a, 1)
	c.keep(b, 1)
}

// due counts the due calls for which a slot is kept.
func (c *callList) due() int { return c.kept.sum(c.dueEnd) }

// dueBefore is due for those that became due before the given dueSeq.
func (c *callList) dueBefore(seq int64) (n int) {
	for _, h := range c.hosts[:c.dueEnd] {
		if h != nil && h.dueSeq >= seq {
			break
		}
		if h != nil && h.passed {
			n++
		}
	}
	return n
}

// compact closes the gaps that ended calls have left, and makes space for more.
func (c *callList) compact() {
	space := max(minCalls, 1<<bits.Len(uint(2*c.open)))
	old, dueEnd := c.hosts, c.dueEnd
	c.hosts, c.all, c.kept = make([]*Host, 0, space), make(fenwick, space), make(fenwick, space)
	c.open, c.dueEnd = 0, 0
	for i, h := range old {
		if h == nil {
			continue
		}
		c.add(h)
		if i < dueEnd {
			c.dueEnd = len(c.hosts)
		}
	}
}

// fenwick is a binary indexed tree of counts: adding one and summing up the first ones
// cost O(log n).
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
