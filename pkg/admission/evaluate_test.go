package admission

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// TestTheRulesInTheirOrder evaluates situations in which everything but one thing speaks
// for a rule further down: the first rule that has something to say says it.
func TestTheRulesInTheirOrder(t *testing.T) {
	held := holdoff.Verdict{Held: true, Wait: 7 * time.Minute}
	scope := breaker.Scope{Kind: ScopeGroup, Name: "rack1"}
	open := &breaker.CircuitBreakerError{State: breaker.Open, Scope: scope, TimeToWait: 4 * time.Minute, Message: "3 failures"}
	half := &breaker.CircuitBreakerError{State: breaker.HalfOpen, Scope: scope, TimeToWait: 4 * time.Minute}
	pool := &poolCount{group: "rack1", paused: true}
	yes, no := fairshare.Answer{Yes: true}, fairshare.Answer{Position: 3, Expect: time.Hour, Wait: time.Second}
	capped := no
	capped.Capped = true
	aside := yields{to: toHosts, waiting: 3}
	// worst has everything against the host.
	worst := func(edit func(*situation)) situation {
		s := situation{
			leading: true, ledger: slots.Verdict{Outcome: slots.Open, Free: 1, Wait: time.Minute},
			hold: held, unplaced: true, pause: pool, open: open, yields: &aside, probed: &scope,
			rate: rate{left: 0, limit: 2, wait: 9 * time.Second}, enqueued: true, answer: no,
		}
		edit(&s)
		return s
	}
	outcome := func(o slots.Outcome) situation {
		return worst(func(s *situation) { s.ledger.Outcome = o })
	}
	mended := func(edit func(*situation)) situation {
		return worst(func(s *situation) {
			s.hold, s.unplaced, s.pause, s.open, s.yields, s.probed, s.rate.left = holdoff.Verdict{}, false, nil, nil, nil, nil, math.MaxInt
			edit(s)
		})
	}
	for name, row := range map[string]struct {
		s    situation
		want decision
	}{
		"LH-27: another process decides": {
			worst(func(s *situation) { s.leading, s.ledger.Outcome = false, slots.Exempt }),
			decision{reason: api.ReasonStarting, wait: retrySoon, stop: &stop{standby: true}},
		},
		"LH-22: exempt":      {outcome(slots.Exempt), decision{ready: true, reason: api.ReasonExempt}},
		"LH-16: done":        {outcome(slots.Done), decision{ready: true, reason: api.ReasonDone}},
		"BO-2: held, a slot": {outcome(slots.Held), decision{reason: api.ReasonHold, wait: held.Wait, stop: &stop{hold: &held}}},
		"BO-6: paused, a slot": {
			worst(func(s *situation) { s.ledger.Outcome, s.hold, s.unplaced = slots.Held, holdoff.Verdict{}, false }),
			decision{reason: api.ReasonShortCircuit, wait: retryProbe, stop: &stop{pause: pool}},
		},
		"CB-7: open, a slot": {
			mended(func(s *situation) { s.ledger.Outcome, s.open = slots.Held, open }),
			decision{reason: api.ReasonBreakerOpen, wait: 4 * time.Minute, stop: &stop{scope: scope, note: "3 failures"}},
		},
		"LH-7: a slot": {
			mended(func(s *situation) { s.ledger.Outcome, s.yields, s.probed, s.rate.left = slots.Held, &aside, &scope, 0 }),
			decision{ready: true, reason: api.ReasonHeldSlot},
		},
		"LH-12: overdue":       {outcome(slots.Overdue), decision{reason: api.ReasonNotCalled, wait: time.Minute, overdue: true}},
		"LH-17: stale":         {outcome(slots.Stale), decision{reason: api.ReasonStale, wait: retrySoon}},
		"LH-24: starting":      {outcome(slots.Starting), decision{reason: api.ReasonStarting, wait: time.Minute}},
		"LH-24: nearly ready":  {worst(func(s *situation) { s.ledger.Outcome, s.ledger.Wait = slots.Starting, 0 }), decision{reason: api.ReasonStarting, wait: retrySoon}},
		"LH-39: not known":     {outcome(slots.Unknown), decision{reason: api.ReasonStarting, wait: retryUnknown, stop: &stop{unknown: true}}},
		"BO-2: held":           {outcome(slots.Open), decision{reason: api.ReasonHold, wait: held.Wait, stop: &stop{hold: &held}}},
		"BO-14: where?":        {worst(func(s *situation) { s.hold.Held = false }), decision{reason: api.ReasonStarting, wait: retrySoon, stop: &stop{unplaced: true}}},
		"BO-14: paused":        {worst(func(s *situation) { s.hold.Held, s.unplaced = false, false }), decision{reason: api.ReasonShortCircuit, wait: retryProbe, stop: &stop{pause: pool}}},
		"CB-7: open":           {mended(func(s *situation) { s.open, s.yields, s.probed = open, &aside, &scope }), decision{reason: api.ReasonBreakerOpen, wait: 4 * time.Minute, stop: &stop{scope: scope, note: "3 failures"}}},
		"CB-9: no more probes": {mended(func(s *situation) { s.open = half }), decision{reason: api.ReasonHalfOpen, wait: retryProbe, stop: &stop{scope: scope}}},
		"DC-24: planned":       {mended(func(s *situation) { s.yields, s.probed, s.rate.left = &aside, &scope, 0 }), decision{reason: api.ReasonPlannedYields, wait: retryPlanned, stop: &stop{yields: &aside}}},
		"CB-9: others probe":   {mended(func(s *situation) { s.probed, s.rate.left = &scope, 0 }), decision{reason: api.ReasonHalfOpen, wait: retryProbe, stop: &stop{scope: scope}}},
		"F-3: its turn?":       {mended(func(s *situation) { s.enqueued, s.rate.left = false, 0 }), decision{undecided: true}},
		"CB-16: the minute": {
			mended(func(s *situation) { s.rate.left = 0 }),
			decision{reason: api.ReasonRate, wait: 9 * time.Second, position: 3, stop: &stop{scope: wholeIronic, limit: 2}},
		},
		"F-3: granted":     {mended(func(s *situation) { s.answer = yes }), decision{ready: true, reason: api.ReasonGranted}},
		"LH-6: full":       {mended(func(s *situation) { s.ledger.Free, s.answer = 0, capped }), decision{reason: api.ReasonFull, position: 3, expect: time.Hour, wait: time.Second}},
		"F-4: the cap":     {mended(func(s *situation) { s.answer = capped }), decision{reason: api.ReasonFailingCap, position: 3, expect: time.Hour, wait: time.Second}},
		"F-3: not called":  {mended(func(*situation) {}), decision{reason: api.ReasonNotCalled, position: 3, expect: time.Hour, wait: time.Second}},
		"F-1: over limit":  {mended(func(s *situation) { s.ledger.Free = -1 }), decision{reason: api.ReasonFull, position: 3, expect: time.Hour, wait: time.Second}},
		"CB-16: one start": {mended(func(s *situation) { s.rate.left, s.answer = 1, yes }), decision{ready: true, reason: api.ReasonGranted}},
	} {
		t.Run(name, func(t *testing.T) {
			before := row.s
			got := evaluate(&row.s)
			opts := cmp.Options{cmp.AllowUnexported(decision{}, stop{}, poolCount{}, yields{}), cmpopts.EquateComparable(breaker.Scope{})}
			if diff := cmp.Diff(row.want, got, opts); diff != "" {
				t.Errorf("(-want, +got):\n%s", diff)
			}
			if row.s != before {
				t.Error("it has changed the situation")
			}
		})
	}
}
