package admission

import (
	"cmp"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// follow is the slots.Events that tells order, breakers and holds what the ledger finds, under the Controller's lock.
type follow struct{ c *Controller }

// SlotBegan takes a host whose node was found at work out of the line, and gives it a permit.
func (f follow) SlotBegan(now time.Time, h *slots.Host) {
	c := f.c
	b, _ := c.hostOf(api.Ask{NodeUUID: h.UUID})
	h.Consumer = cmp.Or(h.Consumer, b.Tenant)
	c.order.Leave(h)
	h.Slot.Planned = c.plans(h)
	h.Slot.Failing = h.HasAsked && c.policy.errors(h) >= fairshare.FailingFrom
	if h.Permit == nil {
		h.Permit = c.policy.set.Take(now, c.policy.scopes(h)...)
	}
}

// SlotEnded ends the permit of h, and lets the order give the slot to another host.
func (f follow) SlotEnded(now time.Time, h *slots.Host, s *slots.Slot, how slots.How) {
	f.c.policy.cancel(now, h)
	f.c.order.SlotEnded(now, h, s, how)
}

// Merged gives the place of from to into, the other record of the same host, and ends a permit that from still has.
func (f follow) Merged(now time.Time, from, into *slots.Host) {
	turn := from.Turn
	f.c.order.Leave(from)
	if into != nil {
		f.c.order.Inherit(into, turn)
	}
	f.c.policy.cancel(now, from)
}

// Noticed keeps n until the poll is over.
func (f follow) Noticed(n slots.Notice) { f.c.notices = append(f.c.notices, n) }

// FailureKind names what has happened.
type FailureKind string

// The kinds.
const (
	BreakerChanged FailureKind = "breaker" // a breaker has changed its state
	PoolChanged    FailureKind = "pool"    // a conductor group is paused or goes on
	HostFailed     FailureKind = "failed"  // the work of a host has failed; it may be held
	HoldEnded      FailureKind = "ended"   // a hold has ended, other than by ReleaseHold
)

// FailureNotice is one event, for a log line that says why hosts wait.
type FailureNotice struct {
	Kind FailureKind
	Hold api.Hold // of the host; with HoldEnded only its names
	Work string   // the kind of work that failed
	End  string   // how the hold ended: hand, spec, time, success or gone

	Scope    string // of the breaker
	From, To string // its states
	ByHand   bool   // an operator tripped or reset it
	Causes   []api.BreakerCause

	Pool api.PoolFailures // the conductor group
}

// failure adds a notice of a host that has failed; fresh: the failure is new in the book.
func (p *policy) failure(now time.Time, e slots.Ending, fresh bool) {
	entry, _ := p.book.Entry(now, e.Host.UUID)
	if !fresh {
		entry = holdoff.Entry{UUID: e.Host.UUID, Name: e.Host.Name, State: string(e.State)}
		entry.Cause = ironic.Line(e.Cause, maxCause)
	}
	p.notices = append(p.notices, FailureNotice{Kind: HostFailed, Hold: showHold(entry), Work: string(e.Work)})
}

// holdEnded takes in each hold that has ended, other than by a release.
func (p *policy) holdEnded(e holdoff.Ended) {
	ended := showHold(holdoff.Entry{UUID: e.UUID, Name: cmp.Or(e.Name, p.c.ledger.NameOf(e.UUID))})
	p.notices = append(p.notices, FailureNotice{Kind: HoldEnded, Hold: ended, End: string(e.How)})
}
