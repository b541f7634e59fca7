package fairshare

import (
	"fmt"
	"testing"
	"time"
)

// rush is one slot, whose holder ends each second, a host that was called first and
// always asks too late, and young ones that ask in time.
type rush struct {
	t      *testing.T
	s      *Scheduler
	now    time.Time
	old    *Host
	holder *Host
	young  int
}

func newRush(t *testing.T, cfg Config) *rush {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &rush{t: t, s: s, now: worldStart, old: NewHost("old", "t"), holder: NewHost("first", "t")}
	s.Ask(r.now, 1, r.holder, 0)
	s.Ask(r.now, 0, r.old, 0)
	return r
}

// overtakes reports whether another young host takes the slot before the old one.
func (r *rush) overtakes() bool {
	r.young++
	h := NewHost(fmt.Sprint(r.young), "t")
	r.s.Ask(r.now, 0, h, 0)
	r.now = r.now.Add(time.Second)
	r.s.Release(r.now, r.holder, Finished)
	r.s.Update(r.now, 1)
	if !r.s.Ask(r.now, 1, h, 0).Yes {
		return false
	}
	r.holder = h
	r.s.Ask(r.now, 0, r.old, 0)
	return true
}

// overtaken counts until a slot is kept for the old host, which then gets it.
func (r *rush) overtaken(most int) (n int) {
	r.t.Helper()
	for n <= most && r.overtakes() {
		n++
	}
	if n <= most && !r.s.Ask(r.now, 1, r.old, 0).Yes {
		r.t.Error("the slot that is kept is not given")
	}
	return n
}

func bounded(overtake int) Config {
	cfg := DefaultConfig(1)
	cfg.Ahead, cfg.Overtake, cfg.RedeemAfter = 50, overtake, time.Hour
	return cfg
}

func (r *rush) configure(cfg Config) {
	r.t.Helper()
	if err := r.s.Configure(cfg); err != nil {
		r.t.Fatal(err)
	}
}

// The rank in its due counts the host itself, hence one more.
func TestF3_TheBoundIsHowOftenAHostIsOvertaken(t *testing.T) {
	for _, bound := range []int{1, 5, 20} {
		if got := newRush(t, bounded(bound)).overtaken(100); got != bound+1 {
			t.Errorf("bound %d: overtaken %d times, want %d", bound, got, bound+1)
		}
	}
}

func TestF3_ALowerBoundHoldsForOpenCalls(t *testing.T) {
	r := newRush(t, bounded(1_000_000))
	for range 3 {
		r.overtakes()
	}
	r.configure(bounded(5))
	if got := r.overtaken(100); got > 6 {
		t.Errorf("overtaken %d times more, the bound is 5", got)
	}
}

// The calls of a rush with a high bound leave no high due behind.
func TestF3_ALowerBoundHoldsForCallsToCome(t *testing.T) {
	r := newRush(t, bounded(1_000_000))
	r.s.Leave(r.now, r.old)
	r.s.Release(r.now, r.holder, Finished)
	r.s.Update(r.now, 1)
	r.configure(bounded(5))
	r.s.Ask(r.now, 1, r.holder, 0)
	r.s.Ask(r.now, 0, r.old, 0)
	if got := r.overtaken(100); got > 6 {
		t.Errorf("overtaken %d times, the bound is 5", got)
	}
}

func TestF3_ALowerBoundHoldsBehindOpenCalls(t *testing.T) {
	r := newRush(t, bounded(1_000_000))
	r.configure(bounded(5))
	next := NewHost("next", "t")
	r.s.Ask(r.now, 0, next, 0)
	r.s.Leave(r.now, r.old)
	r.old = next
	if got := r.overtaken(100); got > 7 { // it was the second that is called
		t.Errorf("overtaken %d times, the bound is 5", got)
	}
}

// What was promised with the lower bound stays.
func TestF3_AHigherBoundDelaysNoOpenCall(t *testing.T) {
	r := newRush(t, bounded(5))
	r.overtakes()
	r.configure(bounded(1_000_000))
	if got := r.overtaken(100); got > 5 {
		t.Errorf("overtaken %d times more, the bound was 5", got)
	}
}
