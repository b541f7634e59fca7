package admission

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// queue is the queue of one pool.
type queue struct {
	*fairshare.Scheduler
	pool slots.Pool
}

// entry ties a host of the ledger to its place in a queue: one identity, whatever
// names the host is asked about with (LH-25).
type entry struct {
	ref    slots.Ref
	host   *fairshare.Host
	queue  *queue          // nil: in none
	permit *breaker.Permit // of its slot; nil: none, or settled

	askedAt   time.Time
	uid, spec string // of its BareMetalHost, as last told
	told      int32  // errors, as the last ask that knew them said
	asked     bool
	spared    bool // it was being deleted at its last ask (LH-26)
	deployed  bool // it had an instance, as last told
}

// record takes what an ask tells of the host. A PUT may not know its errors, where the
// cluster does not either: what was told before stays then.
func (t *entry) record(now time.Time, ask question, put bool) {
	t.asked, t.spared, t.askedAt = true, ask.Deleting, now
	if ask.BMHState != "" {
		t.deployed = ask.BMHState == api.BMHProvisioned || ask.BMHState == api.BMHExternallyProvisioned
	}
	t.uid, t.spec = cmp.Or(ask.UID, t.uid), cmp.Or(ask.SpecHash, t.spec)
	if e := max(ask.ErrorCount, ask.ProvisioningFailCount); e > 0 || !put || ask.known {
		t.told = int32(min(e, math.MaxInt32)) //nolint:gosec // bounded
	}
}

// errors weighs the host by the worst that anybody knows of it: BMO's counts, of
// which a deprovision wipes the first, our own, and where hosts are held off what we
// knew before a restart. One that is being deleted is never held back for its errors
// (LH-26).
func (s *policy) errors(t *entry) int {
	if t.spared {
		return 0
	}
	return max(int(t.told), t.ref.Failures(), s.book.Failures(t.ref.ID().UUID))
}

// Keep implements slots.Owner: whoever waits is not forgotten, not even while
// nobody asks.
func (t *entry) Keep() bool {
	return t.host.State() == fairshare.Waiting || t.host.State() == fairshare.Called
}

// entryOf returns the queue entry of a host that wants a slot, in its queue.
func (c *Controller) entryOf(now time.Time, ref slots.Ref, l *queue) *entry {
	t := c.entry(ref)
	if want := tenant(ref.ID()); t.host.Tenant() != want {
		c.leave(now, t)
		t.host = c.newHost(t)
	}
	if t.queue != l {
		c.leave(now, t)
		t.queue = l
	}
	return t
}

// entry returns the queue entry of a host, making it where there is none.
func (c *Controller) entry(ref slots.Ref) *entry {
	if t, ok := ref.Owner().(*entry); ok {
		return t
	}
	t := &entry{ref: ref}
	t.host = c.newHost(t)
	ref.SetOwner(t)
	return t
}

func (c *Controller) newHost(t *entry) *fairshare.Host {
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

// leave takes t out of its queue. The queues are brought up to date by sync.
func (c *Controller) leave(now time.Time, t *entry) {
	if t.queue != nil {
		t.queue.Leave(now, t.host)
		t.queue = nil
		c.moved = true
	}
}

// sync brings the queues to what the ledger says of slots that began, ended or
// moved, and makes the calls that follow.
func (c *Controller) sync(now time.Time) {
	for _, e := range c.ledger.Endings() { // before the slots that they end
		c.feed(now, e)
	}
	for _, change := range c.ledger.Changes() {
		c.follow(now, change)
	}
	if c.moved {
		c.update(now)
	}
}

// update tells every queue how many slots are free for it, and the total's how many
// of its slots the conductor groups hold.
func (c *Controller) update(now time.Time) {
	c.moved = false
	var healthy, failing int
	left := c.policy.room(now, false).left
	pools := c.ledger.Pools()
	for _, pool := range slices.Backward(pools) { // the total, which is first, at the end
		l := c.queues[pool]
		if pool == (slots.Pool{}) {
			l.Others(healthy, failing)
		} else if !pool.VirtualMedia {
			h, f := l.Held()
			healthy, failing = healthy+h, failing+f
		}
		l.Update(now, c.share(now, l, nil, c.ledger.Free(now, pool), left))
	}
}

// follow takes one change.
func (c *Controller) follow(now time.Time, change slots.Change) {
	t, known := change.Host.Owner().(*entry)
	switch {
	case change.Holds:
		c.hold(now, change)
	case !known:
	case change.Into != nil:
		c.merge(now, t, *change.Into)
	case change.Gone:
		t.settle(now)
		c.leave(now, t)
		change.Host.SetOwner(nil)
	case t.queue == nil || t.host.State() != fairshare.Holding:
		t.settle(now)
	case change.End == slots.EndUncounted:
		t.settle(now)
		c.leave(now, t)
	default:
		t.settle(now)
		t.queue.Release(now, t.host, ends[change.End])
		if t.host.State() == fairshare.Absent {
			t.queue = nil
		}
		c.moved = true
	}
}

var ends = map[slots.End]fairshare.End{
	slots.EndFinished: fairshare.Finished, slots.EndUnused: fairshare.Unused, slots.EndRefused: fairshare.Refunded,
}

// hold makes a host hold a slot that its queue does not know of yet.
func (c *Controller) hold(now time.Time, change slots.Change) {
	t, l := c.entry(change.Host), c.queues[change.Pool]
	if t.permit == nil {
		t.permit = c.policy.take(now, change.Host.Facts())
	}
	if t.queue == l && t.host.State() == fairshare.Holding {
		c.moved = c.moved || len(c.queues) > 1 // granted just now: one less for the other queues
		return
	}
	c.leave(now, t)
	errors := fairshare.Unknown
	if t.asked {
		errors = c.policy.errors(t)
	}
	l.Hold(now, t.host, errors)
	t.queue, c.moved = l, true
}

// merge gives the queue entry of a host that turned out to be another one to that one,
// unless that has a place or a slot of its own.
func (c *Controller) merge(now time.Time, t *entry, into slots.Ref) {
	has, ok := into.Owner().(*entry)
	if ok && has.queue != nil {
		t.settle(now)
		c.leave(now, t)
		return
	}
	if ok {
		has.settle(now)
	}
	t.ref = into
	into.SetOwner(t)
}

// settle ends a permit whose slot ends without a verdict (CB-13).
func (t *entry) settle(now time.Time) {
	_ = t.permit.Cancel(now) // one that is settled, or none, changes nothing
	t.permit = nil
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
