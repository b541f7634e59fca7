package breaker

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	recovery = 15 * time.Minute
	lifetime = time.Hour
)

// opened returns a Set in which rack opened at the start, by three failures.
func opened(tb testing.TB, f func(*Config)) *Set {
	tb.Helper()
	s := with(tb, f)
	fails(s, at(0), 3, rack)
	in(tb, s, at(0), rack, Open)
	return s
}

func TestCB7_OpenRefusesAndSaysWhy(t *testing.T) {
	s := with(t, func(c *Config) { c.FailureThreshold = 9 })
	for i, text := range []string{"b", "dhcp", "image", "dhcp", "a", "image", "a", "image", "late"} {
		s.RecordForeign(at(time.Duration(i)), Work{Host: fmt.Sprint("host", i)}, errors.New(text), rack)
	}
	since := at(8)
	want := &CircuitBreakerError{
		Scope: rack, State: Open, TimeToWait: 1,
		Message: "9 failures within 5m0s: image (3), a (2), dhcp (2), …",
	}
	no(t, s, since.Add(recovery-1), want, rack)
	no(t, s, since.Add(recovery-1), want, ironic, rack)
	text := want.Error()
	for _, part := range []string{"group:rack1", "OPEN", "1ns", "image (3)"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
	yes(t, s, since, ironic)
	refusedFor(t, s, since, rack, Open, 1) // the clock of rack does not go back
	if st := in(t, s, since, rack, Open); st.TimeToRecovery != 1 || st.Causes[0].Text != "image" {
		t.Errorf("%+v", st)
	}
}

func TestCB8_HalfOpenAtTheRecoveryTimeout(t *testing.T) {
	s := opened(t, nil)
	refusedFor(t, s, at(recovery-1), rack, Open, 1)
	p := yes(t, s, at(recovery), rack)
	st := in(t, s, at(recovery), rack, HalfOpen)
	if st.Probes != 1 || st.ProbeLimit != 2 || st.TimeToRecovery != 0 || st.ConcurrentInstances != 1 {
		t.Errorf("%+v", st)
	}
	settled(t, p.Succeed(at(recovery), Work{}))
	in(t, s, at(recovery), rack, Closed)
}

// TestHalfOpenIsByTimeAlone: a later call still learns when it happened.
func TestHalfOpenIsByTimeAlone(t *testing.T) {
	s := opened(t, nil)
	s.Events()
	st := in(t, s, at(3*recovery), rack, HalfOpen)
	if !st.LastStateChange.Equal(at(recovery)) || st.Probes != 0 || len(st.Causes) != 1 {
		t.Errorf("%+v", st)
	}
	e := s.Events()
	if len(e) != 1 || e[0].From != Open || e[0].To != HalfOpen || !e[0].At.Equal(at(recovery)) || e[0].ByHand {
		t.Errorf("%+v", e)
	}
}

// TestTheFirstProbeIsCounted: the ask that finds the recovery over is a probe like
// the others.
func TestTheFirstProbeIsCounted(t *testing.T) {
	s := opened(t, func(c *Config) { c.HalfOpenMaxRequests = 1 })
	yes(t, s, at(recovery), rack)
	refusedFor(t, s, at(recovery), rack, HalfOpen, lifetime)
}

func TestCB9_NoMoreThanNProbes(t *testing.T) {
	s := opened(t, nil)
	yes(t, s, at(recovery), rack)
	p := yes(t, s, at(recovery+time.Minute), rack)
	no(t, s, at(recovery+2*time.Minute), &CircuitBreakerError{
		Scope: rack, State: HalfOpen, TimeToWait: lifetime - 2*time.Minute,
		Message: "2 of 2 probes are running; it opened after 3 failures within 5m0s: boom (3)",
	}, rack)
	if err := s.Check(at(recovery+2*time.Minute), rack); err == nil {
		t.Error("check says that a third probe would be allowed")
	}
	settled(t, p.Cancel(at(recovery+2*time.Minute)))
	settled(t, s.Check(at(recovery+2*time.Minute), rack))
	settled(t, s.Check(at(recovery+2*time.Minute), rack)) // takes nothing
	yes(t, s, at(recovery+2*time.Minute), rack)
	refusedFor(t, s, at(recovery+2*time.Minute), rack, HalfOpen, lifetime-2*time.Minute)
}

// TestCB9_AThousandAsksAtOnce of two scopes, which are named in either order.
func TestCB9_AThousandAsksAtOnce(t *testing.T) {
	s := opened(t, nil)
	s.Trip(start, ironic, recovery)
	allowed := 0
	for i := range 1000 {
		scopes := []Scope{rack, ironic}
		if i%2 == 0 {
			scopes[0], scopes[1] = ironic, rack
		}
		_, err := s.Ask(at(recovery), scopes...)
		var e *CircuitBreakerError
		switch {
		case err == nil:
			allowed++
		case !errors.As(err, &e) || e.State != HalfOpen || e.TimeToWait <= 0:
			t.Errorf("refused by %v", err)
		}
	}
	if allowed != 2 {
		t.Errorf("%d allowed, want 2", allowed)
	}
	for _, scope := range []Scope{rack, ironic} {
		if st := in(t, s, at(recovery), scope, HalfOpen); st.Probes != 2 || st.ConcurrentInstances != 2 {
			t.Errorf("%+v", st)
		}
	}
}

func TestCB10_AProbeThatSucceedsCloses(t *testing.T) {
	s := opened(t, func(c *Config) { c.RecoveryTimeout = time.Minute }) // shorter than the window
	w := Work{Host: "h", Kind: "deploy"}
	p, q := yes(t, s, at(time.Minute), rack), yes(t, s, at(time.Minute), rack)
	now := at(2 * time.Minute)
	settled(t, p.Succeed(now, w))
	st := in(t, s, now, rack, Closed)
	if st.RecentFailures != 0 || st.Causes != nil || st.Probes != 0 || !st.LastStateChange.Equal(now) || st.ConcurrentInstances != 1 {
		t.Errorf("%+v", st)
	}
	// The other probe is an ordinary permit now: its failure is one of three.
	settled(t, q.Fail(now, w, errBoom))
	if st := in(t, s, now, rack, Closed); st.RecentFailures != 1 || st.ConcurrentInstances != 0 {
		t.Errorf("%+v", st)
	}
	fails(s, now.Add(1), 1, rack)
	in(t, s, now.Add(1), rack, Closed) // what failed before the close does not count
	fails(s, now.Add(2), 1, rack)
	in(t, s, now.Add(2), rack, Open)
}

// TestACloseForgetsHosts: a host that failed before may count again.
func TestACloseForgetsHosts(t *testing.T) {
	s := with(t, func(c *Config) { ratio(c); c.FailureThreshold, c.RecoveryTimeout = 2, 1 })
	s.RecordForeign(at(0), Work{Host: "a"}, errBoom, rack)
	s.RecordForeign(at(0), Work{Host: "b"}, errBoom, rack)
	settled(t, yes(t, s, at(1), rack).Succeed(at(1), Work{}))
	s.RecordForeign(at(2), Work{Host: "a"}, errBoom, rack)
	if n := in(t, s, at(2), rack, Closed).RecentFailures; n != 1 {
		t.Errorf("%d failures count, want 1", n)
	}
}

func TestCB11_AProbeThatFailsOpensForAFullRecovery(t *testing.T) {
	s := opened(t, nil)
	s.Events()
	p := yes(t, s, at(recovery), rack)
	q := yes(t, s, at(recovery), rack)
	now := at(recovery + 10*time.Minute)
	settled(t, p.Fail(now, Work{Host: "h"}, errors.New("still bad")))
	refusedFor(t, s, now, rack, Open, recovery)
	st := in(t, s, now, rack, Open)
	if st.Probes != 0 || len(st.Causes) != 1 || st.Causes[0].Text != "still bad" || st.RecentFailures != 1 {
		t.Errorf("%+v", st)
	}
	// The other probe began before this trip and gives no verdict any more.
	settled(t, q.Succeed(now.Add(1), Work{}))
	refusedFor(t, s, now.Add(1), rack, Open, recovery-1)
	yes(t, s, now.Add(recovery), rack)
	if e := s.Events(); len(e) != 3 || e[1].From != HalfOpen || e[1].To != Open || e[1].Failures != 1 || !e[1].At.Equal(now) {
		t.Errorf("%+v", e)
	}
}

// TestCB12_WorkFromBeforeTheTripHasNoSay: in OPEN, in HALF_OPEN, and after the close.
func TestCB12_WorkFromBeforeTheTripHasNoSay(t *testing.T) {
	end := map[string]func(*Permit, time.Time) error{
		"success": func(p *Permit, now time.Time) error { return p.Succeed(now, Work{}) },
		"failure": func(p *Permit, now time.Time) error { return p.Fail(now, Work{}, errBoom) },
	}
	for name, end := range end {
		t.Run(name, func(t *testing.T) {
			s := with(t, nil)
			var old []*Permit
			for range 6 {
				old = append(old, yes(t, s, at(-1), rack))
			}
			fails(s, at(0), 3, rack)
			settled(t, end(old[0], at(time.Minute)))
			refusedFor(t, s, at(time.Minute), rack, Open, recovery-time.Minute)
			if n := in(t, s, at(time.Minute), rack, Open).ConcurrentInstances; n != 5 {
				t.Errorf("%d running, want 5", n)
			}
			probe := yes(t, s, at(recovery), rack)
			settled(t, end(old[1], at(recovery)))
			if st := in(t, s, at(recovery), rack, HalfOpen); st.Probes != 1 || st.ConcurrentInstances != 5 {
				t.Errorf("%+v", st)
			}
			settled(t, probe.Succeed(at(recovery), Work{}))
			for _, p := range old[2:5] {
				settled(t, end(p, at(recovery)))
			}
			if st := in(t, s, at(recovery), rack, Closed); st.RecentFailures != 0 || st.ConcurrentInstances != 1 {
				t.Errorf("%+v", st)
			}
			// Nor does its success take away a failure that came after.
			fails(s, at(recovery), 2, rack)
			settled(t, end(old[5], at(recovery)))
			if n := in(t, s, at(recovery), rack, Closed).RecentFailures; n != 2 {
				t.Errorf("%d failures, want 2", n)
			}
		})
	}
}

func TestCB13_AProbeThatNeverReportsGivesItsPlaceBack(t *testing.T) {
	s := opened(t, func(c *Config) { c.HalfOpenMaxRequests = 1 })
	lost := yes(t, s, at(recovery), rack)
	end := recovery + lifetime
	refusedFor(t, s, at(end-1), rack, HalfOpen, 1)
	probe := yes(t, s, at(end), rack)
	if st := in(t, s, at(end), rack, HalfOpen); st.Probes != 1 || st.ConcurrentInstances != 2 {
		t.Errorf("%+v", st)
	}
	// What it says late is no verdict, now and after the close.
	settled(t, lost.Fail(at(end), Work{}, errBoom))
	if st := in(t, s, at(end), rack, HalfOpen); st.Probes != 1 || st.ConcurrentInstances != 1 {
		t.Errorf("%+v", st)
	}
	settled(t, probe.Cancel(at(end)))
	if st := in(t, s, at(end), rack, HalfOpen); st.Probes != 0 {
		t.Errorf("%+v", st)
	}
	// At the very end of its life it is too late for a verdict, just before it is not.
	late := yes(t, s, at(end), rack)
	settled(t, late.Succeed(at(end+lifetime), Work{}))
	in(t, s, at(end+lifetime), rack, HalfOpen)
	settled(t, yes(t, s, at(end+lifetime), rack).Succeed(at(end+2*lifetime-1), Work{}))
	in(t, s, at(end+2*lifetime-1), rack, Closed)
}

func TestALostProbeHasNoSayAfterTheClose(t *testing.T) {
	s := opened(t, func(c *Config) { c.FailureThreshold = 1; c.HalfOpenMaxRequests = 1 })
	lost := yes(t, s, at(recovery), rack)
	now := at(recovery + lifetime)
	settled(t, yes(t, s, now, rack).Succeed(now, Work{}))
	settled(t, lost.Fail(now, Work{}, errBoom))
	in(t, s, now, rack, Closed)
}

// TestHalfOpenLimitsStillApply: rate and concurrency, after the state.
func TestHalfOpenLimitsStillApply(t *testing.T) {
	s := opened(t, func(c *Config) { c.MaxConcurrent, c.RateLimitPerMinute = 2, 1 })
	s.Take(at(0), rack)
	yes(t, s, at(recovery), rack)
	no(t, s, at(recovery), &RateLimitError{Scope: rack, Limit: 1, Current: 1, TimeToReset: time.Minute}, rack)
	no(t, s, at(recovery+time.Minute), &ConcurrencyLimitError{Scope: rack, Limit: 2, Current: 2}, rack)
	if n := in(t, s, at(recovery+time.Minute), rack, HalfOpen).Probes; n != 1 {
		t.Errorf("%d probes, want 1", n)
	}
}

func TestProbes(t *testing.T) {
	s := opened(t, nil)
	p := yes(t, s, at(recovery), rack)
	s.Take(at(recovery), rack)
	if running, limit := s.Probes(at(recovery), rack); running != 1 || limit != 2 {
		t.Errorf("%d of %d probes, want 1 of 2", running, limit)
	}
	settled(t, p.Cancel(at(recovery)))
	if running, limit := s.Probes(at(recovery), rack); running != 0 || limit != 2 {
		t.Errorf("%d of %d probes, want 0 of 2", running, limit)
	}
	var none *Set
	if running, limit := none.Probes(start, rack); running != 0 || limit != 0 {
		t.Errorf("%d of %d probes of a nil set", running, limit)
	}
}
