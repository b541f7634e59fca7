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
	// seconds compares a forecast with half, and looks at the other part of it.
	seconds := func(what string, half, most time.Duration, want float64) {
		t.Helper()
		switch {
		case want < 0 && (half != Unmeasured || most != Unmeasured), want == 0 && (half != 0 || most != 0):
			t.Errorf("%s: %v to %v, want %v", what, half, most, want)
		case want > 0 && (half.Round(100*time.Millisecond).Seconds() != want || most < 3*half/2):
			t.Errorf("%s: %v to %v, want %v", what, half, most, want)
		}
	}
	// expects looks at what the only host of a queue is told, whoever would come behind it, and one that
	// does; then at the first again, which this one may now overtake.
	expects := func(alone, behind, first float64, mean time.Duration) {
		t.Helper()
		s.Update(now, 0)
		a := s.Ask(now, 0, waiter, 0)
		seconds("the only one", a.Expect, a.AtMost, alone)
		if a.Wait <= 0 {
			t.Errorf("%+v", a)
		}
		p := s.Peek(now, 0, waiter, 0)
		seconds("a dry run", p.Expect, p.AtMost, alone)
		v := s.Vacancy(0)
		seconds("a vacancy", v.Expect, v.AtMost, behind)
		b := s.Ask(now, 0, second, 0)
		seconds("the second", b.Expect, b.AtMost, behind)
		all := s.View(now, 9)
		seconds("the first", all.Hosts[0].Expect, all.Hosts[0].AtMost, first)
		if all.MeanSlot != mean {
			t.Errorf("%v, want %v", all.MeanSlot, mean)
		}
		s.Update(now, 1)
		free := s.View(now, 9).Hosts[0]
		seconds("with a free slot", free.Expect, free.AtMost, 0)
		s.Update(now, 0)
	}
	expects(-1, -1, -1, Unmeasured)
	for range enoughEnded {
		turn(5*time.Minute, Unused) // they tell nothing of work
	}
	for range enoughEnded - 1 {
		turn(30*time.Second, Finished)
	}
	expects(-1, -1, -1, Unmeasured)
	turn(80*time.Second, Finished)
	expects(23.2, 69.5, 46.4, 40*time.Second) // half a slot, one and a half, and one, of 40.3 s; 15 % for detours
	for range 200 {                           // work of another length shows
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
	for range enoughEnded {
		s.recordHeld(time.Minute)
		s.forecast.held[0].add(time.Minute)
	}
	s.foresee()
	// The slots of failing hosts come one after the other: four and a half minutes, and 15 % for detours.
	if a := s.Ask(now, 1, failing, 9); a.Expect != 310500*time.Millisecond || a.AtMost < a.Expect || !a.Capped {
		t.Errorf("%+v", a)
	}
}
