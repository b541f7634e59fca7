package fairshare

import (
	"testing"
	"time"
)

// An expectation was told from 20 min that nobody had measured, and from a mean that
// remembered these for a hundred slots.
func TestWhatIsExpectedIsMeasured(t *testing.T) {
	s, err := New(DefaultConfig(1))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	runner, waiter, second := NewHost("runner", "t"), NewHost("waiter", "t"), NewHost("second", "t")
	turn := func(held time.Duration, how End) {
		t.Helper()
		s.Leave(now, waiter)
		s.Leave(now, second)
		if a := s.Ask(now, 1, runner, 0); !a.Yes {
			t.Fatalf("%+v", a)
		}
		now = now.Add(held)
		s.Release(now, runner, how)
		s.Leave(now, runner)
		s.Update(now, 1)
	}
	expects := func(full, free, mean time.Duration) {
		t.Helper()
		s.Update(now, 0)
		a := s.Ask(now, 0, waiter, 0)
		if a.Expect != full || a.Wait <= 0 {
			t.Errorf("%+v, want %v", a, full)
		}
		if p := s.Peek(now, 0, waiter, 0); p.Expect != full {
			t.Errorf("a dry run: %+v, want %v", p, full)
		}
		if v := s.Vacancy(0); v.Expect != 2*full && v.Expect != full {
			t.Errorf("a vacancy: %+v, want %v", v, full)
		}
		b := s.Ask(now, 0, second, 0)
		if want := 2 * full; b.Expect != want && (full >= 0 || b.Expect != Unmeasured) {
			t.Errorf("the second: %+v, want %v", b, want)
		}
		if v := s.View(now, 9); v.MeanSlot != mean || v.Hosts[0].Expect != full {
			t.Errorf("%v %+v, want %v", v.MeanSlot, v.Hosts[0], mean)
		}
		s.Update(now, 1)
		if v := s.View(now, 9); v.Hosts[0].Expect != free {
			t.Errorf("with a free slot: %+v, want %v", v.Hosts[0], free)
		}
		s.Update(now, 0)
	}
	expects(Unmeasured, 0, Unmeasured)
	for range enoughEnded {
		turn(5*time.Minute, Unused) // they tell nothing of work
	}
	for range enoughEnded - 1 {
		turn(30*time.Second, Finished)
	}
	expects(Unmeasured, 0, Unmeasured)
	turn(80*time.Second, Finished)
	expects(40*time.Second, 0, 40*time.Second)
	for range 200 { // work of another length shows
		turn(10*time.Minute, Finished)
	}
	if v := s.View(now, 0); v.MeanSlot < 9*time.Minute || v.MeanSlot > 10*time.Minute {
		t.Errorf("%v", v.MeanSlot)
	}
}

// What is expected of the failing lane while it is shut is measured, too.
func TestACappedHostExpectsWhatWasMeasured(t *testing.T) {
	s, err := New(DefaultConfig(4))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	for range 2 {
		s.Hold(now, NewHost("held", "t"), 9)
	}
	for range 4 {
		s.Ask(now, 0, NewHost("healthy", "t"), 0)
	}
	failing := NewHost("failing", "t")
	if a := s.Ask(now, 1, failing, 9); a.Expect != Unmeasured || !a.Capped {
		t.Errorf("%+v", a)
	}
	s.ended, s.measured = enoughEnded, time.Minute
	if a := s.Ask(now, 1, failing, 9); a.Expect != 5*time.Minute || !a.Capped {
		t.Errorf("%+v", a)
	}
}
