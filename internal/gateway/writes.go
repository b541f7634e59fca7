package gateway

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// write begins a write that goes to Ironic; uuid is "" where it may concern any node. The
// end must be told; sure is whether all that it changes has changed by then, or is seen by
// polls.
func (c *reads) write(uuid string) (end func(now time.Time, sure bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if uuid == "" {
		c.all.writes++
		c.dropAll()
	} else {
		w := c.waiterOf(uuid)
		w.writes++
		c.drop(w)
	}
	return func(now time.Time, sure bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sweep(now)
		b := &c.all // nothing is kept between begin and end
		if uuid != "" {
			w := c.waiterOf(uuid)
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
func (c *reads) leave(now time.Time, w *waiter) {
	if w.refused.IsZero() && w.open(now) { // so it has no answers
		delete(c.waiters, w.uuid)
	}
}

func (c *reads) dropAll() {
	c.all.generation = c.next()
	for _, w := range c.waiters {
		c.drop(w)
	}
}

// polled takes what a complete poll has seen. One that did not ask what changed last has
// not looked at nodes that do not work, so it confirms nothing. Where more has changed than
// it was told, no answer can be trusted, and what follows is compared from here on.
func (c *reads) polled(now time.Time, look ironic.Look) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep(now)
	switch {
	case look.Newest == nil:
	case look.Covered:
		c.polledAt = look.Mark.At
	default:
		c.dropAll()
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
	for _, n := range look.Newest { // it came before the lists
		see(n.UUID, n.State, n.UpdatedAt, look.Mark.At)
	}
	for _, n := range look.Nodes {
		see(n.UUID, n.State, n.ProvisionUpdatedAt, look.Mark.At)
	}
	for _, s := range look.Fetched {
		switch w := c.waiters[strings.ToLower(s.Node.UUID)]; {
		case s.Found:
			see(s.Node.UUID, s.Node.State, s.Node.ProvisionUpdatedAt, s.Mark.At)
		case w != nil:
			saw[w] = true
			c.gone(w)
		}
	}
	if look.Unmoved {
		return
	}
	for _, w := range c.waiters { // whoever worked and works no more has changed as well
		if !saw[w] && w.shown != nil && w.shown.state.Busy() {
			c.gone(w)
		}
	}
}

// see compares a node with what was known of it. What was not known has changed.
func (c *reads) see(w *waiter, now shown) {
	if w.shown == nil || w.shown.state != now.state || w.shown.stamp != now.stamp {
		c.drop(w)
	}
	w.shown = &now
}

func (c *reads) gone(w *waiter) {
	c.drop(w)
	w.shown = nil
}

// over reports whether a write has changed by its answer what it changes, as far as no poll
// sees it. With 202 Ironic goes on by itself: power, for one, moves no provision state. The
// states that polls see move before the 202 of a PUT states/provision.
func over(r *http.Request, status int) bool {
	if status == http.StatusAccepted {
		segments, _ := segmentsOf(r.URL)
		return reach(segments) == 2
	}
	return status < http.StatusInternalServerError
}

// writes reports whether a request on its way to Ironic may change something, by its
// head. A lookup does, though it is a GET.
func writes(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	default:
		return true
	}
	if mayOverrideMethod(r) {
		return true
	}
	segments, _ := segmentsOf(r.URL)
	for _, s := range segments {
		if is(s, "lookup") {
			return true
		}
	}
	return false
}

// uuidForm is the one spelling of a UUID that names a node for sure.
var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

// writtenNode is the UUID of the only node that a write can change, "" where its path
// does not tell for sure. Names do not: they move from node to node. prefix is the path
// of the endpoint, escaped.
func writtenNode(r *http.Request, prefix string) string {
	path := strings.TrimPrefix(r.URL.EscapedPath(), prefix)
	if r.URL.Opaque != "" || strings.Contains(path, "%") {
		return ""
	}
	parts := strings.Split(path, "/")
	if len(parts) < 4 || parts[0] != "" || parts[1] != "v1" || parts[2] != "nodes" && parts[2] != "heartbeat" || !uuidForm.MatchString(parts[3]) {
		return ""
	}
	for _, part := range parts[4:] {
		if part == "." || part == ".." {
			return ""
		}
	}
	return parts[3]
}
