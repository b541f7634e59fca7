package breaker

import (
	"errors"
	"testing"
	"time"
	"unsafe"
)

// TestCB26_AnEarlierTimeCountsAsTheLatest: nothing happens, and no wait is negative
// or longer than it can be.
func TestCB26_AnEarlierTimeCountsAsTheLatest(t *testing.T) {
	s := opened(t, func(c *Config) { c.RateLimitPerMinute, c.HalfOpenMaxRequests = 1, 1 })
	for _, back := range []time.Time{at(-time.Hour), {}, time.Unix(-1<<62, 0)} {
		refusedFor(t, s, back, rack, Open, recovery)
	}
	refusedFor(t, s, at(recovery/2), rack, Open, recovery/2)
	refusedFor(t, s, at(-time.Hour), rack, Open, recovery/2)
	p := yes(t, s, at(recovery), rack)
	back := at(0)
	in(t, s, back, rack, HalfOpen)
	refusedFor(t, s, back, rack, HalfOpen, lifetime)
	settled(t, p.Succeed(back, Work{}))
	if st := in(t, s, back, rack, Closed); !st.LastStateChange.Equal(at(recovery)) {
		t.Errorf("closed at %v", st.LastStateChange.Sub(start))
	}
	no(t, s, back, &RateLimitError{Scope: rack, Limit: 1, Current: 1, TimeToReset: time.Minute}, rack)
	fails(s, back, 2, rack)
	if n := s.Status(at(recovery+5*time.Minute-1), rack).RecentFailures; n != 2 {
		t.Errorf("%d failures, want 2: they count from the latest time", n)
	}
	if n := s.Status(at(recovery+5*time.Minute), rack).RecentFailures; n != 0 {
		t.Errorf("%d failures, want 0", n)
	}
}

// setWall returns t with a wall clock that was set by d since; its monotonic reading
// stays.
func setWall(t time.Time, d time.Duration) time.Time {
	const nsBits = 30 // see time.Time: one flag, 33 bits of seconds, 30 of nanoseconds
	*(*uint64)(unsafe.Pointer(&t)) += uint64(int64(d/time.Second)) << nsBits
	return t
}

// TestCB26_AWallClockThatIsSetDoesNoHarm, an hour forward or back.
func TestCB26_AWallClockThatIsSetDoesNoHarm(t *testing.T) {
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			now := time.Now()
			set := func(d time.Duration) time.Time { return setWall(now.Add(d), jump) }
			if got := set(0).Sub(now); got != 0 {
				t.Fatalf("time.Time is laid out otherwise now: moved by %v", got)
			}
			if got := set(0).Round(0).Sub(now.Round(0)); got != jump {
				t.Fatalf("time.Time is laid out otherwise now: wall clock moved by %v", got)
			}
			s := with(t, func(c *Config) { c.RateLimitPerMinute = 1 })
			yes(t, s, now, rack)
			no(t, s, set(1), &RateLimitError{Scope: rack, Limit: 1, Current: 1, TimeToReset: time.Minute - 1}, rack)
			fails(s, now.Add(1), 2, rack)
			s.RecordForeign(set(2), Work{}, errBoom, rack)
			in(t, s, set(2), rack, Open)
			refusedFor(t, s, set(recovery+1), rack, Open, 1)
			yes(t, s, set(recovery+2), rack)
		})
	}
}

// TestTheEndOfTime: a clock that runs off makes no sum overflow.
func TestTheEndOfTime(t *testing.T) {
	s := opened(t, func(c *Config) {
		c.HalfOpenMaxRequests = 1
		c.FailureWindow, c.RecoveryTimeout, c.ProbeLifetime = maxDuration, maxDuration, maxDuration
	})
	end := time.Unix(1<<60, 0)
	p := yes(t, s, end, rack)
	_, err := s.Ask(end, rack)
	var e *CircuitBreakerError
	if !errors.As(err, &e) || e.State != HalfOpen {
		t.Fatal(err)
	}
	settled(t, p.Fail(end, Work{}, errBoom))
	in(t, s, end.Add(time.Hour), rack, Open)
	s.Clean(end)
}
