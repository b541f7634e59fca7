package fairshare

import (
	"testing"
	"time"
)

// tiedPair are two tied schedulers without free slots, one host called in each.
func tiedPair(t *testing.T) (s [2]*Scheduler, h [2]*Host) {
	t.Helper()
	for i := range s {
		cfg := DefaultConfig(2)
		cfg.Ahead = 1
		var err error
		if s[i], err = New(cfg); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			s[1].ShareClock(s[0])
		}
	}
	Tie(s[0], s[1])
	for i := range s {
		h[i] = NewHost("host", "a")
		s[i].Ask(worldStart, 0, h[i], 0)
		if h[i].State() != Called {
			t.Fatalf("host %d is %v", i, h[i].State())
		}
	}
	return s, h
}

// F-3 over pools: a call is due after twice as many missed slots as hosts were called
// anywhere, itself included.
func TestF3_MissedSlotsMakeACallDue(t *testing.T) {
	s, h := tiedPair(t)
	for i, want := range []int{2, 4} {
		for n := range want {
			if got := s[i].Kept(nil); got != 0 {
				t.Fatalf("scheduler %d: %d due after %d missed slots, want %d", i, got, n, want)
			}
			s[i].Missed()
		}
		if got := s[i].Kept(nil); got != 1 {
			t.Errorf("scheduler %d: %d due after %d missed slots", i, got, want)
		}
	}
	// The first was due before, and keeps a slot from the second; not the other way round.
	if a, b := s[0].Kept(h[1]), s[1].Kept(h[0]); a != 1 || b != 0 {
		t.Errorf("%d and %d are kept, want 1 and 0", a, b)
	}
	other := NewHost("other", "a")
	if got := s[0].Kept(other); got != 1 {
		t.Errorf("%d are kept from a host that is not due", got)
	}
	// Who was told no for another reason keeps nothing, nor does who holds a slot.
	s[0].Refused(worldStart, h[0], 0)
	if a, b := s[0].Kept(nil), s[0].Kept(h[1]); a != 0 || b != 0 {
		t.Errorf("%d and %d are kept for a host that may not start", a, b)
	}
	if !s[1].Ask(worldStart, 1, h[1], 0).Yes || s[1].Kept(nil) != 0 {
		t.Errorf("the due host got no slot, or %d are kept for it still", s[1].Kept(nil))
	}
}

func TestF3_SilentHostsKeepNothingFromOtherPools(t *testing.T) {
	s, h := tiedPair(t)
	for range 20 {
		s[0].Missed()
	}
	if s[0].Kept(nil) != 1 || s[0].Expire() {
		t.Fatal("the host is not due, or silent at once")
	}
	now := worldStart
	for range 30 { // the other pool's asks move the clock
		now = now.Add(20 * time.Second)
		s[1].Ask(now, 0, h[1], 0)
	}
	if !s[0].Expire() || s[0].Kept(nil) != 0 || h[0].State() != Parked {
		t.Errorf("after ten minutes the silent host is %v, %d are kept", h[0].State(), s[0].Kept(nil))
	}
}

func TestF3_TyingAnewTakesNobodysTurn(t *testing.T) {
	s, h := tiedPair(t)
	for range 4 {
		s[1].Missed()
	}
	Tie(s[0])
	Tie(s[1])
	if s[1].Kept(nil) != 1 || s[1].tied.dueSeq != 1 {
		t.Errorf("%d due, turn %d", s[1].Kept(nil), s[1].tied.dueSeq)
	}
	Tie(s[0], s[1])
	for range 2 {
		s[0].Missed()
	}
	if a, b := s[0].Kept(h[1]), s[1].Kept(h[0]); a != 0 || b != 1 {
		t.Errorf("%d and %d are kept, want 0 and 1", a, b)
	}
}
