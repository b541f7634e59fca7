package breaker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCB29_ResetByHand(t *testing.T) {
	s := opened(t, func(c *Config) { c.MaxConcurrent, c.RateLimitPerMinute = 2, 1 })
	s.Take(start, rack)
	s.Events()
	if !s.Reset(at(1), rack) {
		t.Error("reset of an OPEN scope changed nothing")
	}
	st := in(t, s, at(1), rack, Closed)
	if st.RecentFailures != 0 || st.Causes != nil || st.ConcurrentInstances != 1 || !st.LastStateChange.Equal(at(1)) {
		t.Errorf("%+v", st)
	}
	want := []Event{{Scope: rack, From: Open, To: Closed, At: at(1), ByHand: true}}
	if diff := cmp.Diff(want, s.Events()); diff != "" {
		t.Error(diff)
	}
	if s.Reset(at(2), rack) || s.Events() != nil {
		t.Error("the second reset changed something")
	}
	p := yes(t, s, at(2), rack) // permits and starts stay: the next is refused by both
	no(t, s, at(2), &RateLimitError{Scope: rack, Limit: 1, Current: 1, TimeToReset: time.Minute}, rack)
	no(t, s, at(2+time.Minute), &ConcurrencyLimitError{Scope: rack, Limit: 2, Current: 2}, rack)
	// A failure that counts is something to reset, in CLOSED too; no change of state.
	settled(t, p.Fail(at(2+time.Minute), Work{Host: "a"}, errBoom))
	if !s.Reset(at(3+time.Minute), rack) || s.Reset(at(3+time.Minute), rack) || s.Events() != nil {
		t.Error("reset of a failure")
	}
	s.RecordForeign(at(4+time.Minute), Work{Host: "a"}, errBoom, rack)
	if n := s.Status(at(4+time.Minute), rack).RecentFailures; n != 1 {
		t.Errorf("%d failures, want 1: the host was forgotten", n)
	}
}

func TestCB29_ResetInHalfOpen(t *testing.T) {
	s := opened(t, nil)
	p, q := yes(t, s, at(recovery), rack), yes(t, s, at(recovery), rack)
	if !s.Reset(at(recovery), rack) {
		t.Error("nothing was changed")
	}
	settled(t, p.Fail(at(recovery), Work{}, errBoom)) // it is an ordinary permit now
	if st := in(t, s, at(recovery), rack, Closed); st.RecentFailures != 1 || st.Probes != 0 || st.ConcurrentInstances != 1 {
		t.Errorf("%+v", st)
	}
	settled(t, q.Succeed(at(recovery), Work{}))
	if n := in(t, s, at(recovery), rack, Closed).RecentFailures; n != 0 {
		t.Errorf("%d failures, want 0", n)
	}
}

func TestCB29_TripByHand(t *testing.T) {
	s := with(t, func(c *Config) { c.FailureThreshold = 1 })
	p := yes(t, s, start, rack)
	if !s.Trip(at(1), rack, time.Hour) {
		t.Error("trip changed nothing")
	}
	if s.Trip(at(2), rack, time.Hour) {
		t.Error("the second trip changed something")
	}
	no(t, s, at(2), &CircuitBreakerError{Scope: rack, State: Open, Message: "tripped by hand", TimeToWait: time.Hour - 1}, rack)
	st := in(t, s, at(2), rack, Open)
	if !st.Tripped || st.Causes != nil || st.ConcurrentInstances != 1 || !st.LastStateChange.Equal(at(1)) {
		t.Errorf("%+v", st)
	}
	want := []Event{{Scope: rack, From: Closed, To: Open, At: at(1), ByHand: true}}
	if diff := cmp.Diff(want, s.Events()); diff != "" {
		t.Error(diff)
	}
	settled(t, p.Fail(at(3), Work{}, errBoom)) // from before the trip
	refusedFor(t, s, at(time.Hour), rack, Open, 1)
	probe := yes(t, s, at(time.Hour+1), rack)
	if !in(t, s, at(time.Hour+1), rack, HalfOpen).Tripped {
		t.Error("not tripped in HALF_OPEN")
	}
	settled(t, probe.Fail(at(time.Hour+1), Work{}, errBoom)) // then it is the recovery time again
	refusedFor(t, s, at(time.Hour+1), rack, Open, recovery)
	if in(t, s, at(time.Hour+1), rack, Open).Tripped {
		t.Error("tripped by hand, though a probe failed")
	}
}

func TestCB29_TripOfAnOpenScope(t *testing.T) {
	s := opened(t, nil)
	s.Events()
	if !s.Trip(at(time.Minute), rack, 0) { // by hand from now on
		t.Error("nothing changed")
	}
	refusedFor(t, s, at(time.Minute), rack, Open, recovery)
	if !s.Trip(at(time.Minute), rack, time.Hour) || s.Trip(at(2*time.Minute), rack, time.Hour) {
		t.Error("another time is a change, the same is none")
	}
	refusedFor(t, s, at(2*time.Minute), rack, Open, 59*time.Minute)
	if !s.Trip(at(2*time.Minute), rack, 1<<62) {
		t.Error("nothing changed")
	}
	refusedFor(t, s, at(2*time.Minute), rack, Open, maxDuration)
	if e := s.Events(); e != nil {
		t.Errorf("no state has changed, but %+v", e)
	}
	yes(t, s, at(2*time.Minute).Add(maxDuration), rack)
	if !s.Trip(at(2*time.Minute).Add(maxDuration), rack, 0) { // in HALF_OPEN
		t.Error("nothing changed")
	}
	if e := s.Events(); len(e) != 2 || e[1].From != HalfOpen || !e[1].ByHand {
		t.Errorf("%+v", e)
	}
}
