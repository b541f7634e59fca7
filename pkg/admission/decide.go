package admission

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

const (
	retrySoon    = 5 * time.Second  // the next poll may change the answer
	retryUnknown = 15 * time.Second // a few polls may show the host
	retryProbe   = time.Minute      // nobody knows when a probe ends, or a paused group goes on
)

// facts is all that an answer depends on.
type facts struct {
	question
	host     *slots.Host // perhaps not in the ledger's table: see slots.Ledger.Ask
	standing slots.Standing
	settling time.Duration // how long it may stay Starting or Overdue
	leading  bool
	starts   bool // it asks to start work that failures, its own or those of others, may stop
	deletion bool // it asks for the deprovision with which its deletion starts: failures do not stop that
	free     int  // free slots in its pool

	rate     *breaker.RateLimitError      // the limit of starts in a minute, if it is reached
	hold     holdoff.Entry                // its own hold; Held: it may not start
	unplaced bool                         // its conductor group or way to boot matters, and Ironic has not shown them yet
	pause    *api.PoolFailures            // its conductor group, if that is paused
	open     *breaker.CircuitBreakerError // the breaker that does not let it start
	yields   string                       // what its planned work waits for; "": nothing
	turn     fairshare.Answer             // if nothing above stops it; else only its position, if it is in line
}

// decision is a reason with its numbers.
type decision struct {
	ready          bool
	reason         api.Reason
	wait           time.Duration // until it is worth asking again
	position       int
	expect, atMost time.Duration // the expected wait; below 0: not known yet
}

// evaluate answers by the first rule that applies. It reads only f.
func evaluate(f *facts) decision {
	yes := func(reason api.Reason) decision { return decision{ready: true, reason: reason} }
	no := func(reason api.Reason, wait time.Duration) decision {
		return decision{reason: reason, wait: wait, position: f.turn.Position}
	}
	switch {
	case !f.leading:
		return no(api.ReasonStarting, retrySoon)
	case f.standing == slots.Exempt:
		return yes(api.ReasonExempt)
	case f.standing == slots.Done:
		return yes(api.ReasonDone)
	case f.standing == slots.Held && !f.stopped():
		return yes(api.ReasonHeldSlot)
	case f.standing == slots.Overdue:
		return no(api.ReasonTurn, f.settling)
	case f.standing == slots.Stale:
		return no(api.ReasonStale, retrySoon)
	case f.standing == slots.Starting:
		return no(api.ReasonStarting, max(f.settling, retrySoon))
	case f.standing == slots.Unknown:
		return no(api.ReasonStarting, retryUnknown)
	case f.hold.Held:
		return no(api.ReasonHold, f.hold.Remaining)
	case f.unplaced:
		return no(api.ReasonStarting, retrySoon)
	case f.pause != nil:
		return no(api.ReasonShortCircuit, retryProbe)
	case f.open != nil && f.open.State == breaker.Open:
		return no(api.ReasonBreakerOpen, f.open.TimeToWait)
	case f.open != nil:
		return no(api.ReasonHalfOpen, min(f.open.TimeToWait, retryProbe))
	case f.yields != "":
		return no(api.ReasonPlannedYields, retryPlanned)
	case f.rate != nil:
		return no(api.ReasonRate, f.rate.TimeToReset)
	case f.Planned || f.turn.Yes:
		return yes(api.ReasonGranted)
	}
	d := no(api.ReasonTurn, f.turn.Wait)
	d.expect, d.atMost = f.turn.Expect, f.turn.AtMost
	switch {
	case f.free <= 0:
		d.reason = api.ReasonFull
	case f.turn.Capped:
		d.reason = api.ReasonFailingCap
	}
	return d
}

// stopped reports whether failures, of the host or of others, keep it from starting.
func (f *facts) stopped() bool { return f.hold.Held || f.unplaced || f.pause != nil || f.open != nil }

// decide answers a question. dry: it changes nothing.
func (c *Controller) decide(now time.Time, q question, dry bool) (facts, decision) {
	f := c.gather(now, q, dry)
	if !dry && f.leading {
		c.enqueue(now, &f)
	}
	switch {
	case f.leading && f.standing == slots.Open && !f.stopped() && !f.Planned: // only slots and turns keep it waiting
		f.turn = c.order.Ask(now, f.host, f.free)
	case f.host.Turn.InLine:
		f.turn.Position = c.order.Position(f.host)
	}
	return f, evaluate(&f)
}

// gather collects the facts of a question.
func (c *Controller) gather(now time.Time, q question, dry bool) facts {
	f := facts{question: q, leading: c.cfg.Leading(), deletion: q.Deleting && q.Op == api.OpDeprovision}
	keep := f.leading && !dry
	if f.host, f.standing = c.ledger.Ask(now, q.Ask, keep); keep {
		f.host.Consumer = q.tenant
	}
	switch f.standing {
	case slots.Starting:
		var s slots.Standing
		s, f.settling = c.ledger.Ready(now)
		f.unplaced = s == slots.Open
	case slots.Overdue:
		f.settling = c.cfg.Slots.Linger
	}
	f.free = c.ledger.Slots(f.host.Pool).Free
	f.starts = f.standing == slots.Open || f.standing == slots.Held && goesOn(f.host, f.Op)
	if f.starts {
		c.policy.judge(now, &f)
	}
	if q.Planned && f.standing == slots.Open {
		f.yields = c.yields(now, f.host)
	}
	return f
}

// goesOn reports whether the host holds its slot for a deprovision, or for finished work that never asked, and now
// wants to start more. Such a slot must not bypass a hold, and that of a deprovision must not bypass a breaker.
func goesOn(h *slots.Host, op api.Op) bool {
	follows := op == api.OpInspect || op == api.OpPrepare || op == api.OpProvision
	return follows && h.Slot != nil && (h.Slot.Op == api.OpDeprovision || h.Slot.Op == "" && h.Lingers())
}

// enqueue gives the host its place in line, on which the answer depends, or takes it out of the line.
func (c *Controller) enqueue(now time.Time, f *facts) {
	h := f.host
	if f.starts && !c.policy.book.Idle() {
		c.policy.book.Note(now, c.policy.holdAsk(f))
	}
	if f.starts && f.unplaced {
		c.ledger.Want(h)
	}
	switch {
	case f.standing == slots.Unknown:
	case f.standing < slots.Stale || f.Planned: // it needs no new slot, or waits outside the line
		if h.Turn.Waits {
			c.order.Leave(h)
		}
	case f.hold.Held: // it keeps a place that it has, and gets no new one
		c.order.Stop(h)
	case f.standing != slots.Open && !c.ledger.Placed(h):
	default:
		c.order.Enter(now, h, c.policy.errors(h), f.stopped())
	}
}

// taken notes that the host of f has just got a slot by a yes. It gets a permit even if a breaker is open, as Forward
// never refuses an unhold. A deletion is no probe: its outcome says nothing about Ironic's health.
func (c *Controller) taken(now time.Time, f *facts) {
	h := f.host
	if f.Planned {
		h.Slot.Planned = true
	} else {
		c.order.Take(now, h)
	}
	scopes := c.policy.scopes(h)
	if h.Permit = nil; !f.deletion {
		h.Permit, _ = c.policy.set.CanProvision(now, scopes...)
	}
	if h.Permit == nil {
		h.Permit = c.policy.set.Take(now, scopes...)
	}
	c.order.SlotsChanged(now)
}
