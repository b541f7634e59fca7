package cache

import (
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/request"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// write begins a write that goes to Ironic. The end must be told; sure is whether all that
// it changes has changed by then, or is seen by polls. Whoever writes to a node takes it out
// of its rest, until its host is refused again.
func (c *Reads) write(to request.Touch) (end func(now time.Time, sure bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case to.All:
		c.all.writes++
		c.dropAll()
	case to.Node != "":
		w := c.waiterOf(to.Node)
		w.writes++
		w.refused = time.Time{}
		c.drop(w)
	default:
		return func(time.Time, bool) {}
	}
	return func(now time.Time, sure bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sweep(now)
		b := &c.all // nothing is kept between begin and end
		if !to.All {
			w := c.waiterOf(to.Node)
			b = &w.barrier
			defer c.leave(now, w)
		}
		b.writes--
		if !sure {
			b.doubt = now.Add(readMaxAge)
		}
	}
}

// leave lets go of a node that was only written to.
func (c *Reads) leave(now time.Time, w *waiter) {
	if w.refused.IsZero() && w.open(now) { // so it has no answers
		delete(c.waiters, w.uuid)
	}
}

// lost lets go of all answers: an Ironic that cannot be reached may come back as another.
func (c *Reads) lost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropAll()
}

func (c *Reads) dropAll() {
	c.all.generation = c.next()
	for _, w := range c.waiters {
		c.drop(w)
	}
}

// Polled takes what a complete poll has shown, however long ago it was begun. One that did
// not ask what changed last has not observed nodes that do not work, so it confirms
// nothing. Where more has changed than it was shown, what is known of a node does not count
// until the node is observed again.
func (c *Reads) Polled(now time.Time, o ironic.Observation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep(now)
	switch {
	case !o.Listed:
		c.coveredTo = o.Mark.At
	default:
		c.coveredFrom, c.coveredTo = o.Mark.At, o.Mark.At
	}
	if len(c.waiters) == 0 {
		return
	}
	saw := map[*waiter]bool{}
	see := func(uuid string, state ironic.State, stamp string, at time.Time) {
		if w := c.waiters[strings.ToLower(uuid)]; w != nil {
			saw[w] = true
			c.see(w, shown{state, stamp, at})
		}
	}
	for _, n := range o.Nodes {
		see(n.UUID, n.State, n.ProvisionUpdatedAt, o.Mark.At)
	}
	for _, s := range o.Fetched {
		switch w := c.waiters[strings.ToLower(s.Node.UUID)]; {
		case s.Found:
			see(s.Node.UUID, s.Node.State, s.Node.ProvisionUpdatedAt, s.Mark.At)
		case w != nil:
			saw[w] = true
			c.gone(w)
		}
	}
	if !o.Listed {
		return
	}
	for _, w := range c.waiters { // whoever worked and works no more has changed as well
		if !saw[w] && w.shown != nil && w.shown.state.Busy() {
			c.gone(w)
		}
	}
}

// see compares a node with what was known of it. What was not known has changed. An
// observation that is older than the known one is ignored.
func (c *Reads) see(w *waiter, now shown) {
	if w.shown != nil && now.at.Before(w.shown.at) {
		return
	}
	if w.shown == nil || !now.same(w.shown) {
		c.drop(w)
	}
	w.shown = &now
}

func (s *shown) same(as *shown) bool { return s.state == as.state && s.stamp == as.stamp }

func (c *Reads) gone(w *waiter) {
	c.drop(w)
	w.shown = nil
}
