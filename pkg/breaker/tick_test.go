package breaker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCB8_Tick: OPEN becomes HALF_OPEN at its time, not before, in the order in which
// the scopes opened, and once.
func TestCB8_Tick(t *testing.T) {
	s := with(t, nil)
	last := Scope{"group", "a"}
	s.Take(start, last) // exists first, opens last
	s.Trip(at(0), rack, 2*time.Minute)
	s.Trip(at(1), ironic, time.Minute)
	s.Trip(at(2), last, time.Minute)
	s.Events()
	s.Tick(at(time.Minute))
	if e := s.Events(); e != nil {
		t.Fatalf("too early: %+v", e)
	}
	s.Tick(at(time.Hour))
	want := []Event{
		{Scope: rack, From: Open, To: HalfOpen, At: at(2 * time.Minute)},
		{Scope: ironic, From: Open, To: HalfOpen, At: at(time.Minute + 1)},
		{Scope: last, From: Open, To: HalfOpen, At: at(time.Minute + 2)},
	}
	if diff := cmp.Diff(want, s.Events()); diff != "" {
		t.Error(diff)
	}
	s.Tick(at(2 * time.Hour))
	s.Tick(at(0)) // the clock does not go back
	if e := s.Events(); e != nil {
		t.Errorf("twice: %+v", e)
	}
}

// TestCB13_Tick: a probe that outlived its lifetime gives its place back, and its
// outcome is no verdict.
func TestCB13_Tick(t *testing.T) {
	s := opened(t, func(c *Config) { c.HalfOpenMaxRequests = 1 })
	lost := yes(t, s, at(recovery), rack)
	s.Tick(at(recovery + lifetime - 1))
	refusedFor(t, s, at(recovery+lifetime-1), rack, HalfOpen, 1)
	s.Tick(at(recovery + lifetime))
	settled(t, lost.Succeed(at(recovery), Work{})) // the clock does not go back
	if st := in(t, s, at(recovery), rack, HalfOpen); st.Probes != 0 || st.ConcurrentInstances != 0 {
		t.Errorf("%+v", st)
	}
}

// TestAfterATickNothingHappensByTime: no call of the same time causes an Event, though
// each of them would have without the Tick.
func TestAfterATickNothingHappensByTime(t *testing.T) {
	for name, call := range map[string]func(s *Set, now time.Time){
		"check":  func(s *Set, now time.Time) { _ = s.Check(now, ironic, rack) },
		"ask":    func(s *Set, now time.Time) { _, _ = s.Ask(now, ironic, rack) },
		"take":   func(s *Set, now time.Time) { s.Take(now, rack) },
		"status": func(s *Set, now time.Time) { s.Status(now, rack) },
		"all":    func(s *Set, now time.Time) { s.All(now) },
		"probes": func(s *Set, now time.Time) { s.Probes(now, rack) },
		"clean":  func(s *Set, now time.Time) { s.Clean(now) },
		"record": func(s *Set, now time.Time) { s.RecordForeign(now, Work{}, errBoom, rack) },
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(t, nil)
			s.Events()
			call(s, at(recovery))
			if n := len(s.Events()); n != 1 {
				t.Errorf("%d events without a Tick, want 1", n)
			}
			s = opened(t, nil)
			s.Tick(at(recovery))
			s.Events()
			call(s, at(recovery))
			if e := s.Events(); e != nil {
				t.Errorf("events after a Tick: %+v", e)
			}
		})
	}
}

// TestEventsOfOneCallAreInOrder: those of All and Clean come as the scopes opened, not
// in the order of a map, so that a history can be repeated.
func TestEventsOfOneCallAreInOrder(t *testing.T) {
	for name, call := range map[string]func(s *Set, now time.Time){
		"all":   func(s *Set, now time.Time) { s.All(now) },
		"clean": func(s *Set, now time.Time) { s.Clean(now) },
	} {
		t.Run(name, func(t *testing.T) {
			s, scopes := many(t, 20)
			for _, scope := range scopes {
				s.Trip(start, scope, time.Minute)
			}
			s.Events()
			call(s, at(time.Minute))
			var changed []Scope
			for _, e := range s.Events() {
				changed = append(changed, e.Scope)
			}
			if diff := cmp.Diff(scopes, changed); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTickForgetsWhatCloses: only scopes that are not CLOSED cost time.
func TestTickForgetsWhatCloses(t *testing.T) {
	s := opened(t, nil)
	s.Trip(at(0), ironic, 0)
	s.Reset(at(1), ironic)
	if len(s.notClosed) != 1 || s.notClosed[0].scope != rack {
		t.Errorf("%d scopes are not CLOSED, want rack", len(s.notClosed))
	}
	settled(t, yes(t, s, at(recovery), rack).Succeed(at(recovery), Work{}))
	if len(s.notClosed) != 0 {
		t.Errorf("%d scopes are not CLOSED, want 0", len(s.notClosed))
	}
	var none *Set
	none.Tick(start)
}
