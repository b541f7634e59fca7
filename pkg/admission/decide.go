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
	retrySoon    = 5 * time.Second  // the answer may be another after the next poll
	retryUnknown = 15 * time.Second // a poll may have shown the host
	retryProbe   = time.Minute      // nobody knows when a probe ends, or a paused group goes on
)

// facts are all that an answer depends on.
type facts struct {
	question
	host     *slots.Host // not in the table if it wants nothing, or if this is a dry run
	standing slots.Standing
	settling time.Duration // for how long it may stay Starting or Overdue
	leading  bool
	starts   bool // it wants to start something that failures, its own or others', may stop
	deletion bool // it asks for the deprovision that its deletion starts with: no failure stops that
	free     int  // slots that it could take

	rate     *breaker.RateLimitError      // as many have started within a minute as may; nil: one more may
	hold     holdoff.Entry                // it has failed and is left alone
	unplaced bool                         // where it belongs matters, and Ironic has not shown it yet
	pause    *api.PoolFailures            // its conductor group, if that is paused
	open     *breaker.CircuitBreakerError // of a breaker that does not let it start
	yields   string                       // what planned work waits for; "": nothing
	turn     fairshare.Answer             // where none of these stops it; else its position alone, if it is in line
}

// decision is a reason with its numbers.
type decision struct {
	ready          bool
	reason         api.Reason
	wait           time.Duration // until it is worth asking again
	position       int
	expect, atMost time.Duration // of the wait; below 0: not known yet
}

// evaluate answers by the first rule that applies. It reads f alone.
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

// stopped reports whether a failure, of the host or of others, keeps it from starting something.
func (f *facts) stopped() bool { return f.hold.Held || f.unplaced || f.pause != nil || f.open != nil }

// decide answers a question. dry: nothing is written down.
func (c *Controller) decide(now time.Time, q question, dry bool) (facts, decision) {
	f := c.gather(now, q, dry)
	if !dry && f.leading {
		c.enqueue(now, &f)
	}
	switch {
	case f.leading && f.standing == slots.Open && !f.stopped() && !f.Planned: // it waits for slots and turns alone
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

// goesOn reports whether the host holds its slot for a deprovision, or for work that is over and nobody here has asked
// for, and wants to start what follows: its slot is no way round holds, and that of a deprovision none round breakers.
func goesOn(h *slots.Host, op api.Op) bool {
	follows := op == api.OpInspect || op == api.OpPrepare || op == api.OpProvision
	return follows && h.Slot != nil && (h.Slot.Op == api.OpDeprovision || h.Slot.Op == "" && h.Lingers())
}

// enqueue gives the host its place in line, which is a part of the answer, or takes it out of the line.
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
	case f.standing < slots.Stale || f.Planned: // it needs no other slot, or does not wait in line
		if h.Turn.Waits {
			c.order.Leave(h)
		}
	case f.hold.Held: // it keeps its place if it has one, and takes none
		c.order.Stop(h)
	case f.standing != slots.Open && !c.ledger.Placed(h):
	default:
		c.order.Enter(now, h, c.policy.errors(h), f.stopped())
	}
}

// taken notes that the host of f has just got a slot by a yes. It gets a permit whatever the breakers say, as an unhold
// is never refused; what a deletion comes to is no verdict.
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
