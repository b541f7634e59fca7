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

	rate     rate             // what may still start within this minute
	enqueued bool             // the queue has taken the ask
	answer   fairshare.Answer // of the queue
}

// decision is the outcome of the rules, before it is put into the words of an api.Answer.
type decision struct {
	ready     bool
	reason    api.Reason
	wait      time.Duration
	expect    time.Duration // until there may be a slot; below 0: not known yet
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
	standby  bool // another replica decides
	unknown  bool // nobody has shown it, and too many such hosts ask
}

// evaluate is the one decision: the first rule that has something to say. It reads the
// situation alone and changes nothing, so that a dry run is the same function.
func evaluate(s *situation) decision {
	for _, rule := range rules {
		if d, says := rule(s); says {
			return d
		}
	}
	return turned(s)
}

// rules are tried in this order.
var rules = [...]func(*situation) (decision, bool){
	notLeading,      // LH-27
	exempt,          // LH-22
	done,            // LH-16
	bypassesHold,    // BO-2, BO-6
	bypassesBreaker, // BO-6
	holdsSlot,       // LH-7, LH-8
	overdue,         // LH-12, LH-14
	stale,           // LH-17
	starting,        // LH-24, LH-35
	unknown,         // LH-39
	heldOff,         // BO-2
	unplaced,        // BO-14, CB-7
	paused,          // BO-14
	breakerIsOpen,   // CB-7
	probesTaken,     // CB-9
	needsTurn,       // F-3
	rateIsFull,      // CB-16, CB-19
}

func notLeading(s *situation) (decision, bool) {
	if s.leading {
		return decision{}, false
	}
	return decision{reason: api.ReasonStarting, wait: retrySoon, stop: &stop{standby: true}}, true
}

func exempt(s *situation) (decision, bool) {
	return decision{ready: true, reason: api.ReasonExempt}, s.ledger.Outcome == slots.Exempt
}

func done(s *situation) (decision, bool) {
	return decision{ready: true, reason: api.ReasonDone}, s.ledger.Outcome == slots.Done
}

// bypassesHold says no to a held-off host that would start again on a slot that it still has
// (reusesSlot).
func bypassesHold(s *situation) (decision, bool) {
	if s.ledger.Outcome != slots.Held {
		return decision{}, false
	}
	return heldOff(s)
}

// bypassesBreaker says no to a host of a paused pool or an open breaker that would do the same.
func bypassesBreaker(s *situation) (decision, bool) {
	if s.ledger.Outcome != slots.Held {
		return decision{}, false
	}
	for _, rule := range [...]func(*situation) (decision, bool){unplaced, paused, breakerIsOpen} {
		if d, says := rule(s); says {
			return d, true
		}
	}
	return decision{}, false
}

func holdsSlot(s *situation) (decision, bool) {
	return decision{ready: true, reason: api.ReasonHeldSlot}, s.ledger.Outcome == slots.Held
}

func overdue(s *situation) (decision, bool) {
	return decision{reason: api.ReasonNotCalled, wait: s.ledger.Wait, overdue: true}, s.ledger.Outcome == slots.Overdue
}

func stale(s *situation) (decision, bool) {
	return decision{reason: api.ReasonStale, wait: retrySoon}, s.ledger.Outcome == slots.Stale
}

func starting(s *situation) (decision, bool) {
	return decision{reason: api.ReasonStarting, wait: max(s.ledger.Wait, retrySoon)}, s.ledger.Outcome == slots.Starting
}

func unknown(s *situation) (decision, bool) {
	if s.ledger.Outcome != slots.Unknown {
		return decision{}, false
	}
	return decision{reason: api.ReasonStarting, wait: retryUnknown, stop: &stop{unknown: true}}, true
}

func heldOff(s *situation) (decision, bool) {
	if !s.hold.Held {
		return decision{}, false
	}
	return decision{reason: api.ReasonHold, wait: s.hold.Wait, stop: &stop{hold: &s.hold}}, true
}

func unplaced(s *situation) (decision, bool) {
	if !s.unplaced {
		return decision{}, false
	}
	return decision{reason: api.ReasonStarting, wait: retrySoon, stop: &stop{unplaced: true}}, true
}

func paused(s *situation) (decision, bool) {
	if s.pause == nil {
		return decision{}, false
	}
	return decision{reason: api.ReasonShortCircuit, wait: retryProbe, stop: &stop{pause: s.pause}}, true
}

func breakerIsOpen(s *situation) (decision, bool) {
	switch {
	case s.open == nil:
		return decision{}, false
	case s.open.State == breaker.Open:
		return decision{reason: api.ReasonBreakerOpen, wait: s.open.TimeToWait, stop: &stop{scope: s.open.Scope, note: s.open.Message}}, true
	}
	return decision{reason: api.ReasonHalfOpen, wait: min(s.open.TimeToWait, retryProbe), stop: &stop{scope: s.open.Scope}}, true
}

func probesTaken(s *situation) (decision, bool) {
	if s.probed == nil {
		return decision{}, false
	}
	return decision{reason: api.ReasonHalfOpen, wait: retryProbe, stop: &stop{scope: *s.probed}}, true
}

func needsTurn(s *situation) (decision, bool) { return decision{undecided: true}, !s.enqueued }

// rateIsFull comes before slots and turns, but after the queue, for the position of the host. The
// queue has said no: askQueue offered it no slot, as no start is left.
func rateIsFull(s *situation) (decision, bool) {
	if s.rate.left > 0 {
		return decision{}, false
	}
	d := decision{reason: api.ReasonRate, wait: s.rate.wait, position: s.answer.Position}
	d.stop = &stop{scope: wholeIronic, limit: s.rate.limit}
	return d, true
}

// turned answers when no rule has: whether there is a free slot, and whether the queue gives it to the host.
func turned(s *situation) decision {
	a := s.answer
	d := decision{position: a.Position, expect: a.Expect, wait: a.Wait}
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
