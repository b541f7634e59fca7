package admission

import (
	"cmp"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// line is the queue of one pool.
type line struct {
	*fairshare.Scheduler
	pool slots.Pool
}

// turn ties a host of the ledger to its place in a line: one identity, whatever
// names the host is asked about with (LH-25).
type turn struct {
	ref    slots.Ref
	host   *fairshare.Host
	line   *line // nil: in none
	asked  bool
	errors int // as the last ask told them
}

// Keep implements slots.Owner: whoever waits is not forgotten, not even while
// nobody asks.
func (t *turn) Keep() bool {
	return t.host.State() == fairshare.Waiting || t.host.State() == fairshare.Called
}

// turnOf returns the turn of a host that wants a slot of a pool.
func (c *Controller) turnOf(now time.Time, ref slots.Ref, pool slots.Pool) *turn {
	t := c.turn(ref)
	if want := tenant(ref.ID()); t.host.Tenant() != want {
		c.leave(now, t)
		t.host = c.newHost(t)
	}
	if l := c.lines[pool]; t.line != l {
		c.leave(now, t)
		t.line = l
	}
	return t
}

// turn returns the turn of a host, making it where there is none.
func (c *Controller) turn(ref slots.Ref) *turn {
	if t, ok := ref.Owner().(*turn); ok {
		return t
	}
	t := &turn{ref: ref}
	t.host = c.newHost(t)
	ref.SetOwner(t)
	return t
}

func (c *Controller) newHost(t *turn) *fairshare.Host {
	id := t.ref.ID()
	h := fairshare.NewHost(cmp.Or(id.Name, id.UUID), tenant(id))
	h.Owner = t
	c.names.see(h.Tenant())
	return h
}

// tenant is the namespace in a node's name, "" in one that BMO has not given.
func tenant(id slots.ID) string {
	namespace, _, ok := strings.Cut(id.Name, "~")
	if !ok {
		return ""
	}
	return namespace
}

// leave takes t out of its line.
func (c *Controller) leave(now time.Time, t *turn) {
	if t.line != nil {
		t.line.Leave(now, t.host)
		t.line = nil
	}
}

// errorsOf weighs a host by the worst that anybody knows of it: BMO's counts, of
// which a deprovision wipes the first, and our own. One that is being deleted is
// never held back for its errors (LH-26).
func errorsOf(ask api.Ask, ref slots.Ref, known bool) int {
	if ask.Deleting {
		return 0
	}
	e := max(ask.ErrorCount, ask.ProvisioningFailCount)
	if known {
		e = max(e, ref.Failures())
	}
	return e
}

// sync brings the lines to what the ledger says of slots that began, ended or
// moved, and makes the calls that follow.
func (c *Controller) sync(now time.Time) {
	changes := c.ledger.Changes()
	moved := false
	for _, change := range changes {
		moved = c.follow(now, change) || moved
	}
	if moved {
		c.update(now)
	}
}

func (c *Controller) update(now time.Time) {
	for _, pool := range c.ledger.Pools() {
		c.lines[pool].Update(now, c.ledger.Free(now, pool))
	}
}

// follow takes one change, and reports whether it was news.
func (c *Controller) follow(now time.Time, change slots.Change) bool {
	t, known := change.Host.Owner().(*turn)
	switch {
	case change.Into != nil:
		return known && c.merge(now, t, *change.Into)
	case change.Gone:
		if known {
			c.leave(now, t)
		}
		return known
	case change.Holds:
		return c.hold(now, change)
	case known && t.line != nil && t.host.State() == fairshare.Holding:
		t.line.Release(now, t.host, ends[change.End])
		if t.host.State() == fairshare.Absent {
			t.line = nil
		}
		return true
	}
	return false
}

var ends = map[slots.End]fairshare.End{
	slots.EndFinished: fairshare.Finished, slots.EndUnused: fairshare.Unused, slots.EndRefused: fairshare.Refunded,
}

// hold makes a host hold a slot that its line does not know of yet.
func (c *Controller) hold(now time.Time, change slots.Change) bool {
	t := c.turn(change.Host)
	l := c.lines[change.Pool]
	if t.line == l && t.host.State() == fairshare.Holding {
		return false
	}
	c.leave(now, t)
	errors := fairshare.Unknown
	if t.asked {
		errors = max(t.errors, t.ref.Failures())
	}
	l.Hold(now, t.host, errors)
	t.line = l
	return true
}

// merge gives the turn of a host that turned out to be another one to that one,
// unless it has a turn of its own.
func (c *Controller) merge(now time.Time, t *turn, into slots.Ref) bool {
	if _, has := into.Owner().(*turn); has {
		c.leave(now, t)
		return true
	}
	t.ref = into
	into.SetOwner(t)
	return false
}

// tenantNames bounds the tenants that metrics name, so that nobody can blow them
// up: the first ones that were seen, the others share one name.
type tenantNames map[string]bool

const (
	namedTenants = 50
	otherTenants = "(others)"
)

func (n tenantNames) see(tenant string) {
	if len(n) < namedTenants {
		n[tenant] = true
	}
}

func (n tenantNames) shown(tenant string) string {
	if n[tenant] {
		return tenant
	}
	return otherTenants
}
