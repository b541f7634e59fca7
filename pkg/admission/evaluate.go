package admission

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// retrySoon is the advice to a host whose answer may be another after the next poll.
const retrySoon = 5 * time.Second

// situation is all that a decision goes by.
type situation struct {
	ask     question
	host    *host         // who asks; nil: it has no record
	leading bool          // this process may say yes
	ledger  slots.Verdict // how the ledger stands with the host

	// What failures have to do with the host.
	guarded  bool                         // some breaker is not CLOSED, or MAX_FAILED is set: unplaced, pause, open and probed are filled in
	deletion bool                         // it asks to be deprovisioned for its deletion, which no failure stops
	hold     holdoff.Verdict              // of the host
	failures int                          // in a row, as the book counts them
	unplaced bool                         // a part of all hosts is stopped, and nobody knows whether this one belongs to it
	pause    *poolCount                   // its conductor group, if that is paused; else nil
	open     *breaker.CircuitBreakerError // what a breaker that stops it says; nil: none does
	probed   *breaker.Scope               // a HALF_OPEN scope of the host in which others probe; nil: none

	yields   *yields          // what planned work has to wait for; nil: nothing, or the work is not planned
	rate     rate             // what may still start within this minute
	enqueued bool             // the queue has taken the ask, or need not be asked, as the work is planned
	answer   fairshare.Answer // of the queue
}

// decision is the outcome of the rules, before it is put into the words of an api.Answer.
type decision struct {
	ready     bool
	reason    api.Reason
	wait      time.Duration
	expect    time.Duration // half of such hosts have a slot within it; below 0: not known yet
	atMost    time.Duration // nine of ten have one within it
	position  int
	overdue   bool  // holds a slot and has not used it
	stop      *stop // what keeps it from starting besides slots and turns
	undecided bool  // nothing but its turn keeps it from starting: the queue has to be asked
}

// stop is what keeps a host from starting besides slots and turns. Which fields are set depends
// on the reason. apply suspends a host that is stopped, all but one that the rate stops: so a rule
// that says no to a host without a slot must set decision.stop.
type stop struct {
	hold     *holdoff.Verdict
	pause    *poolCount
	scope    breaker.Scope
	note     string
	limit    int
	unplaced bool // it is not known where the host belongs
	yields   *yields
	standby  bool // another replica decides
	unknown  bool // nobody has shown it, and too many such hosts ask
}

// evaluate is the one decision: the first rule that applies. It reads the situation alone and
// changes nothing, so that a dry run is the same function.
//
// A host that holds a slot passes after the rules of failures: survey looks for these only where its
// slot would be a way round them (reusesSlot).
func evaluate(s *situation) decision {
	switch {
	case !s.leading: // LH-27: another replica decides
		return decision{reason: api.ReasonStarting, wait: retrySoon, stop: &stop{standby: true}}
	case s.ledger.Outcome == slots.Exempt: // LH-22: it boots from virtual media
		return decision{ready: true, reason: api.ReasonExempt}
	case s.ledger.Outcome == slots.Done: // LH-16: nothing is left to start
		return decision{ready: true, reason: api.ReasonDone}
	case s.ledger.Outcome == slots.Overdue: // LH-12, LH-14: it has not used its slot
		return decision{reason: api.ReasonNotCalled, wait: s.ledger.Wait, overdue: true}
	case s.ledger.Outcome == slots.Stale: // LH-17: Ironic was not seen for too long
		return decision{reason: api.ReasonStale, wait: retrySoon}
	case s.ledger.Outcome == slots.Starting: // LH-24, LH-35: who is at work, or its pool, is not known yet
		return decision{reason: api.ReasonStarting, wait: max(s.ledger.Wait, retrySoon)}
	case s.ledger.Outcome == slots.Unknown: // LH-39: nobody has shown it, and too many such hosts ask
		return decision{reason: api.ReasonStarting, wait: retryUnknown, stop: &stop{unknown: true}}
	case s.hold.Held: // BO-2, BO-6: it has failed and is left alone
		return decision{reason: api.ReasonHold, wait: s.hold.Wait, stop: &stop{hold: &s.hold}}
	case s.unplaced: // BO-14, CB-7: a part of all hosts is stopped, perhaps its part
		return decision{reason: api.ReasonStarting, wait: retrySoon, stop: &stop{unplaced: true}}
	case s.pause != nil: // BO-14: too many of its conductor group have failed
		return decision{reason: api.ReasonShortCircuit, wait: retryProbe, stop: &stop{pause: s.pause}}
	case s.open != nil: // CB-7, CB-9: a breaker lets nobody start
		return breakerStops(s.open)
	case s.ledger.Outcome == slots.Held: // LH-7, LH-8: it holds a slot
		return decision{ready: true, reason: api.ReasonHeldSlot}
	case s.yields != nil: // DC-24, DC-25, DC-26: planned work waits behind everybody, in no queue
		return decision{reason: api.ReasonPlannedYields, wait: retryPlanned, stop: &stop{yields: s.yields}}
	case s.probed != nil: // CB-9: others are tried first
		return decision{reason: api.ReasonHalfOpen, wait: retryProbe, stop: &stop{scope: *s.probed}}
	case !s.enqueued: // F-3: the queue is asked, then this is evaluated again
		return decision{undecided: true}
	case s.rate.left <= 0: // CB-16, CB-19: after the queue, for the position; it was offered no slot
		stop := &stop{scope: wholeIronic, limit: s.rate.limit}
		return decision{reason: api.ReasonRate, wait: s.rate.wait, position: s.answer.Position, stop: stop}
	}
	return turned(s)
}

// breakerStops is the refusal by a breaker that is OPEN, or HALF_OPEN with all its probes out.
func breakerStops(by *breaker.CircuitBreakerError) decision {
	if by.State == breaker.Open {
		return decision{reason: api.ReasonBreakerOpen, wait: by.TimeToWait, stop: &stop{scope: by.Scope, note: by.Message}}
	}
	return decision{reason: api.ReasonHalfOpen, wait: min(by.TimeToWait, retryProbe), stop: &stop{scope: by.Scope}}
}

// turned answers when no rule has: whether there is a free slot, and whether the queue gives it to the host.
func turned(s *situation) decision {
	a := s.answer
	d := decision{position: a.Position, expect: a.Expect, atMost: a.AtMost, wait: a.Wait}
	switch {
	case a.Yes:
		d.ready, d.reason = true, api.ReasonGranted
	case s.ledger.Free <= 0:
		d.reason = api.ReasonFull
	case a.Capped:
		d.reason = api.ReasonFailingCap
	default:
		d.reason = api.ReasonNotCalled
	}
	return d
}
