package breaker

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// start is when the tests begin. It has no monotonic reading, so a table can be read
// as wall clock times.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at is d after the start.
func at(d time.Duration) time.Time { return start.Add(d) }

var (
	ironic  = Scope{Kind: "ironic"}
	rack    = Scope{Kind: "group", Name: "rack1"}
	errBoom = errors.New("boom")
)

// made returns a Set, or ends the test.
func made(tb testing.TB, cfg *Config, kinds map[string]Config) *Set {
	tb.Helper()
	s, err := New(cfg, kinds)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// wide is the proposal's settings without rate and concurrency in the way.
func wide() Config {
	cfg := DefaultConfig()
	cfg.RateLimitPerMinute, cfg.MaxConcurrent = 0, 1000
	return cfg
}

// with returns a Set of settings that f has changed.
func with(tb testing.TB, f func(*Config)) *Set {
	tb.Helper()
	cfg := wide()
	if f != nil {
		f(&cfg)
	}
	return made(tb, &cfg, nil)
}

// yes asks and ends the test when it is refused.
func yes(tb testing.TB, s *Set, now time.Time, scopes ...Scope) *Permit {
	tb.Helper()
	p, err := s.Ask(now, scopes...)
	if err != nil {
		tb.Fatalf("%v: refused: %v", now.Sub(start), err)
	}
	return p
}

// no asks and holds the refusal against want.
func no(tb testing.TB, s *Set, now time.Time, want error, scopes ...Scope) {
	tb.Helper()
	p, err := s.Ask(now, scopes...)
	if p != nil {
		tb.Fatalf("%v: allowed, want %v", now.Sub(start), want)
	}
	if diff := cmp.Diff(want, err); diff != "" {
		tb.Fatalf("%v: refusal (-want +got):\n%s", now.Sub(start), diff)
	}
}

// refusedFor ends the test unless scope is in state and asks wait that long.
func refusedFor(tb testing.TB, s *Set, now time.Time, scope Scope, state State, wait time.Duration) {
	tb.Helper()
	_, err := s.Ask(now, scope)
	var e *CircuitBreakerError
	if !errors.As(err, &e) || e.Scope != scope || e.State != state || e.TimeToWait != wait {
		tb.Fatalf("%v: %v, want a refusal of %s, %s, for %v", now.Sub(start), err, scope, state, wait)
	}
}

// fails records n failures of n hosts that had no permit, 1 ns apart, up to now.
func fails(s *Set, now time.Time, n int, scope Scope) {
	for i := range n {
		s.RecordForeign(now.Add(time.Duration(i-n+1)), Work{}, errBoom, scope)
	}
}

// settled ends the test when err is one.
func settled(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// in ends the test unless scope is in state.
func in(tb testing.TB, s *Set, now time.Time, scope Scope, state State) Status {
	tb.Helper()
	st := s.Status(now, scope)
	if st.State != state {
		tb.Fatalf("%v: %s is %s, want %s", now.Sub(start), scope, st.State, state)
	}
	return st
}
