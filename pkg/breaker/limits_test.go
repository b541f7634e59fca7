package breaker

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCB16_TheMinuteSlides: never more than N starts in any 60 seconds.
func TestCB16_TheMinuteSlides(t *testing.T) {
	s := with(t, func(c *Config) { c.RateLimitPerMinute = 2 })
	yes(t, s, at(59*time.Second), rack)
	yes(t, s, at(59*time.Second+1), rack)
	// A minute on the clock begins, and nothing comes of it.
	no(t, s, at(60*time.Second), &RateLimitError{Scope: rack, Limit: 2, Current: 2, TimeToReset: 59 * time.Second}, rack)
	no(t, s, at(119*time.Second-1), &RateLimitError{Scope: rack, Limit: 2, Current: 2, TimeToReset: 1}, rack)
	yes(t, s, at(119*time.Second), rack)
	no(t, s, at(119*time.Second), &RateLimitError{Scope: rack, Limit: 2, Current: 2, TimeToReset: 1}, rack)
	yes(t, s, at(119*time.Second+1), rack)
}

// TestCB17_RateLimitError: the wait is that of the oldest start that counts. A permit
// that is given back does not give back its start.
func TestCB17_RateLimitError(t *testing.T) {
	s := with(t, func(c *Config) { c.RateLimitPerMinute = 3 })
	for i := range 3 {
		settled(t, yes(t, s, at(time.Duration(i)*10*time.Second), rack).Cancel(at(time.Duration(i)*10*time.Second)))
	}
	want := &RateLimitError{Scope: rack, Limit: 3, Current: 3, TimeToReset: 35 * time.Second}
	no(t, s, at(25*time.Second), want, rack)
	if text := want.Error(); !strings.Contains(text, "group:rack1") || !strings.Contains(text, "3 of 3") || !strings.Contains(text, "35s") {
		t.Error(text)
	}
	if n := s.Status(at(25*time.Second), rack).InstancesThisMinute; n != 3 {
		t.Errorf("%d starts, want 3", n)
	}
	if n := s.Status(at(70*time.Second), rack).InstancesThisMinute; n != 1 {
		t.Errorf("%d starts a minute later without an ask, want 1", n)
	}
}

func TestNoRateLimit(t *testing.T) {
	s := with(t, nil)
	for range 500 {
		yes(t, s, start, rack)
	}
	if st := s.Status(start, rack); st.InstancesThisMinute != 0 || st.RateLimit != 0 || st.ConcurrentInstances != 500 {
		t.Errorf("%+v", st)
	}
}

func TestCB18_ConcurrencyLimitError(t *testing.T) {
	s := with(t, func(c *Config) { c.MaxConcurrent = 2 })
	p := yes(t, s, start, rack)
	yes(t, s, start, rack)
	want := &ConcurrencyLimitError{Scope: rack, Limit: 2, Current: 2}
	no(t, s, start, want, rack)
	if text := want.Error(); !strings.Contains(text, "group:rack1") || !strings.Contains(text, "2 of 2") {
		t.Error(text)
	}
	settled(t, p.Fail(start, Work{}, errBoom))
	yes(t, s, start, rack)
}

// TestCB19_OrderOfRefusals: state, rate, concurrency, over all scopes, and within
// each the order of the arguments.
func TestCB19_OrderOfRefusals(t *testing.T) {
	cfg := wide()
	tight := cfg
	tight.RateLimitPerMinute, tight.MaxConcurrent = 1, 1
	s := made(t, &cfg, map[string]Config{"rate": tight, "full": tight})
	rated, rated2 := Scope{"rate", "1"}, Scope{"rate", "2"}
	full, full2 := Scope{"full", "1"}, Scope{"full", "2"}
	open, open2 := Scope{"open", "1"}, Scope{"open", "2"}
	for _, scope := range []Scope{rated, rated2} {
		yes(t, s, start, scope) // rate and concurrency are full
	}
	s.Take(start, full)
	s.Take(start, full2)
	s.Trip(start, open, time.Minute)
	s.Trip(start, open2, time.Minute)
	byState := func(scope Scope) error {
		return &CircuitBreakerError{Scope: scope, State: Open, Message: "tripped by hand", TimeToWait: time.Minute}
	}
	byRate := func(scope Scope) error {
		return &RateLimitError{Scope: scope, Limit: 1, Current: 1, TimeToReset: time.Minute}
	}
	byFull := func(scope Scope) error { return &ConcurrencyLimitError{Scope: scope, Limit: 1, Current: 1} }
	free := Scope{"free", ""}
	yes(t, s, start, free)
	before := s.All(start)
	for _, tt := range []struct {
		scopes []Scope
		want   error
	}{
		{[]Scope{free, full, rated, open}, byState(open)},
		{[]Scope{open, rated, full, free}, byState(open)},
		{[]Scope{free, full, rated}, byRate(rated)},
		{[]Scope{full, free}, byFull(full)},
		{[]Scope{open2, open}, byState(open2)},
		{[]Scope{open, open2}, byState(open)},
		{[]Scope{full2, rated2, rated}, byRate(rated2)},
		{[]Scope{full2, full, full2}, byFull(full2)},
		{[]Scope{rated}, byRate(rated)}, // it is full too
	} {
		no(t, s, start, tt.want, tt.scopes...)
		if diff := cmp.Diff(tt.want, s.Check(start, tt.scopes...)); diff != "" {
			t.Errorf("check (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, s.All(start)); diff != "" {
			t.Fatalf("a refused ask has changed something:\n%s", diff)
		}
	}
}

func TestAScopeNamedTwiceIsAskedOnce(t *testing.T) {
	s := with(t, func(c *Config) { c.MaxConcurrent, c.RateLimitPerMinute = 1, 1 })
	p := yes(t, s, start, rack, ironic, rack)
	if diff := cmp.Diff([]Scope{rack, ironic}, p.Scopes()); diff != "" {
		t.Error(diff)
	}
	settled(t, p.Cancel(start))
	if n := s.Status(start, rack).ConcurrentInstances; n != 0 {
		t.Errorf("%d running, want 0", n)
	}
	if p := yes(t, s, start); p.Scopes() != nil || p.Succeed(start, Work{}) != nil || !errors.Is(p.Cancel(start), ErrSettled) {
		t.Error("a permit without a scope")
	}
}

// TestManyScopes asks more at once than fit in what is set aside for them.
func TestManyScopes(t *testing.T) {
	s, scopes := many(t, 9)
	p := yes(t, s, start, scopes...)
	if diff := cmp.Diff(scopes, p.Scopes()); diff != "" {
		t.Error(diff)
	}
	settled(t, p.Fail(start, Work{}, errBoom))
	for _, st := range s.All(start) {
		if st.RecentFailures != 1 || st.ConcurrentInstances != 0 {
			t.Errorf("%+v", st)
		}
	}
}

// TestCB20_StatusIsPrunedByTime without any ask between.
func TestCB20_StatusIsPrunedByTime(t *testing.T) {
	s := with(t, func(c *Config) { c.RateLimitPerMinute = 9 })
	p := yes(t, s, start, rack)
	fails(s, start, 2, rack)
	settled(t, p.Cancel(start))
	if st := in(t, s, start, rack, Closed); st.InstancesThisMinute != 1 || st.RecentFailures != 2 || len(st.Causes) != 1 {
		t.Errorf("%+v", st)
	}
	want := Status{
		Scope: rack, Mode: Consecutive, State: Closed, FailureThreshold: 3, RateLimit: 9, MaxConcurrent: 1000, ProbeLimit: 2,
	}
	if diff := cmp.Diff(want, s.Status(at(10*time.Minute), rack)); diff != "" {
		t.Error(diff)
	}
	fails(s, at(10*time.Minute), 3, rack)
	for _, d := range []time.Duration{0, recovery - 1, recovery, 100 * recovery} {
		st := s.Status(at(10*time.Minute+d), rack)
		if st.TimeToRecovery != max(0, recovery-d) || d > 5*time.Minute && st.RecentFailures != 0 {
			t.Errorf("after %v: %+v", d, st)
		}
	}
}

// TestLookingMakesNothing: a scope that nobody used is not remembered.
func TestLookingMakesNothing(t *testing.T) {
	s := with(t, nil)
	settled(t, s.Check(start, rack))
	want := Status{Scope: rack, Mode: Consecutive, State: Closed, FailureThreshold: 3, MaxConcurrent: 1000, ProbeLimit: 2}
	if diff := cmp.Diff(want, s.Status(start, rack)); diff != "" {
		t.Error(diff)
	}
	if s.Reset(start, rack) {
		t.Error("reset of a scope that nobody used changed something")
	}
	if all := s.All(start); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}
