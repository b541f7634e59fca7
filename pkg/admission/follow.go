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

// follow carries out what follows from what the ledger finds. It implements slots.Events, and is called under the lock.
type follow struct{ c *Controller }

// SlotBegan takes a host that was found at work out of the line, and counts it in the breakers.
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

// SlotEnded gives the slot to the order.
func (f follow) SlotEnded(now time.Time, h *slots.Host, s *slots.Slot, how slots.How) {
	f.c.policy.cancel(now, h)
	f.c.order.SlotEnded(now, h, s, how)
}

// Merged gives the place and the permit of a record to the one that it turned out to be.
func (f follow) Merged(now time.Time, from, into *slots.Host) {
	if into != nil {
		f.c.order.Replace(from, into)
	}
	f.c.order.Leave(from)
	f.c.policy.cancel(now, from)
}

// Noticed keeps what operators may want to read until the poll is over.
func (f follow) Noticed(n slots.Notice) { f.c.notices = append(f.c.notices, n) }

// FailureKind names what a failure did.
type FailureKind string

// The kinds.
const (
	BreakerChanged FailureKind = "breaker" // a breaker changed its state
	PoolChanged    FailureKind = "pool"    // a pool was paused or reopened
	HostFailed     FailureKind = "failed"  // the work of a host, which is held, perhaps
	HoldEnded      FailureKind = "ended"   // of a host, unless by hand: who did it tells it
)

// FailureNotice is one such event, for a log line that says why hosts wait.
type FailureNotice struct {
	Kind FailureKind
	// Hold is of the host that failed, or was held: with HoldEnded only its names.
	Hold api.Hold
	Work string // what failed
	End  string // hand, spec, time, success or gone

	Scope    string // of the breaker
	From, To string // its states
	ByHand   bool
	Causes   []api.BreakerCause

	Pool api.PoolFailures // that was paused or reopened
}

// failure tells of a host that has failed; fresh: the book has it from now on.
func (p *policy) failure(now time.Time, e slots.Ending, fresh bool) {
	entry, _ := p.book.Entry(now, e.Host.UUID)
	if !fresh {
		entry = holdoff.Entry{UUID: e.Host.UUID, Name: e.Host.Name, State: string(e.State)}
		entry.Cause = ironic.Line(e.Cause, maxCause)
	}
	p.notices = append(p.notices, FailureNotice{Kind: HostFailed, Hold: showHold(entry), Work: string(e.Work)})
}

// holdEnded hears of each hold that has ended, but by a release.
func (p *policy) holdEnded(e holdoff.Ended) {
	ended := showHold(holdoff.Entry{UUID: e.UUID, Name: cmp.Or(e.Name, p.c.ledger.NameOf(e.UUID))})
	p.notices = append(p.notices, FailureNotice{Kind: HoldEnded, Hold: ended, End: string(e.How)})
}
