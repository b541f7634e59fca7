package breaker

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCB1_DefaultsOfTheProposal(t *testing.T) {
	want := Config{
		Mode: Consecutive, FailureThreshold: 3, FailureWindow: 5 * time.Minute, RecoveryTimeout: 15 * time.Minute,
		HalfOpenMaxRequests: 2, ProbeLifetime: 60 * time.Minute, RateLimitPerMinute: 2, MaxConcurrent: 5,
	}
	if diff := cmp.Diff(want, DefaultConfig()); diff != "" {
		t.Error(diff)
	}
	settled(t, DefaultConfig().Validate())
}

func TestCB2_NoConfigAllowsAllAndRecordsNothing(t *testing.T) {
	kinds := map[string]Config{"ironic": DefaultConfig()}
	for name, s := range map[string]*Set{"nil set": nil, "nil config": made(t, nil, nil), "with kinds": made(t, nil, kinds)} {
		t.Run(name, func(t *testing.T) {
			for i := range 50 {
				p := yes(t, s, start, ironic, rack)
				if i%2 == 0 {
					settled(t, p.Fail(start, Work{}, errBoom))
					if err := p.Fail(start, Work{}, errBoom); !errors.Is(err, ErrSettled) {
						t.Fatalf("second end of a permit: %v", err)
					}
				}
				s.RecordForeign(start, Work{}, errBoom, ironic)
				s.RecordSuccess(start, Work{}, ironic)
				settled(t, s.Take(start, ironic).Succeed(start, Work{}))
			}
			settled(t, s.Check(start, ironic))
			if s.Trip(start, ironic, 0) || s.Reset(start, ironic) {
				t.Error("something was changed")
			}
			s.Clean(start)
			if diff := cmp.Diff(Status{Scope: ironic, State: Closed}, s.Status(start, ironic)); diff != "" {
				t.Error(diff)
			}
			if s.All(start) != nil || s.Events() != nil {
				t.Error("something was recorded")
			}
		})
	}
}

func TestCB3_BelowTheThresholdLimitsStillApply(t *testing.T) {
	s := with(t, func(c *Config) { c.RateLimitPerMinute, c.MaxConcurrent = 2, 1 })
	fails(s, at(0), 2, rack)
	in(t, s, at(0), rack, Closed)
	p := yes(t, s, at(0), rack)
	no(t, s, at(0), &ConcurrencyLimitError{Scope: rack, Limit: 1, Current: 1}, rack)
	settled(t, p.Cancel(at(0)))
	yes(t, s, at(1), rack)
	no(t, s, at(1), &RateLimitError{Scope: rack, Limit: 2, Current: 2, TimeToReset: time.Minute - 1}, rack)
}

// TestCB4_OpensAtTheRecord checks the state between the failures, without an ask.
func TestCB4_OpensAtTheRecord(t *testing.T) {
	s := with(t, nil)
	p, q := yes(t, s, at(0), rack), yes(t, s, at(0), rack)
	settled(t, p.Fail(at(1), Work{Host: "a"}, errBoom))
	s.RecordForeign(at(2), Work{Host: "b"}, errBoom, rack)
	in(t, s, at(2), rack, Closed)
	settled(t, q.Fail(at(3), Work{Host: "c"}, errBoom))
	st := in(t, s, at(3), rack, Open)
	if !st.LastStateChange.Equal(at(3)) || st.RecentFailures != 3 || st.TimeToRecovery != 15*time.Minute {
		t.Errorf("%+v", st)
	}
	in(t, s, at(3), ironic, Closed)
}

func TestCB5_AFailureAsOldAsTheWindowDoesNotCount(t *testing.T) {
	for _, mode := range []Mode{Consecutive, Window} {
		for age, want := range map[time.Duration]State{5*time.Minute - 1: Open, 5 * time.Minute: Closed} {
			t.Run(fmt.Sprint(mode, age), func(t *testing.T) {
				s := with(t, func(c *Config) { c.Mode = mode })
				fails(s, at(0), 1, rack)
				fails(s, at(age), 2, rack)
				in(t, s, at(age), rack, want)
			})
		}
	}
}

func TestCB6_ModesDifferInWhatASuccessDoes(t *testing.T) {
	for mode, want := range map[Mode]State{"": Closed, Consecutive: Closed, Window: Open} {
		t.Run(string(mode), func(t *testing.T) {
			s := with(t, func(c *Config) { c.Mode = mode })
			fails(s, at(2), 2, rack)
			settled(t, yes(t, s, at(2), rack).Succeed(at(3), Work{}))
			fails(s, at(4), 1, rack)
			st := in(t, s, at(4), rack, want)
			if mode != "" && st.Mode != mode || mode == "" && st.Mode != Consecutive {
				t.Errorf("status says mode %q", st.Mode)
			}
			if want == Closed {
				if st.RecentFailures != 1 {
					t.Errorf("%d failures, want the one after the success", st.RecentFailures)
				}
				fails(s, at(6), 2, rack)
				in(t, s, at(6), rack, Open)
			}
		})
	}
}

// TestASuccessSpeaksForItsKind: cleaning that goes well says nothing about images.
func TestASuccessSpeaksForItsKind(t *testing.T) {
	s := with(t, nil)
	deploy, clean := Work{Kind: "deploy"}, Work{Kind: "clean"}
	s.RecordForeign(at(0), deploy, errBoom, rack)
	s.RecordForeign(at(1), clean, errBoom, rack)
	s.RecordSuccess(at(2), clean, rack)
	s.RecordSuccess(at(2), Work{}, rack)
	if n := s.Status(at(2), rack).RecentFailures; n != 1 {
		t.Fatalf("%d failures, want that of deploy", n)
	}
	s.RecordForeign(at(3), Work{Kind: "inspect"}, errBoom, rack)
	in(t, s, at(3), rack, Closed)
	s.RecordForeign(at(4), clean, errBoom, rack) // failures of all kinds add up
	in(t, s, at(4), rack, Open)
}

// It is the hold-off's job to deal with one bad box.
func TestCB31_AHostCountsOnceInAWindow(t *testing.T) {
	for _, mode := range []Mode{Consecutive, Window} {
		t.Run(string(mode), func(t *testing.T) {
			s := with(t, func(c *Config) { c.Mode, c.FailureThreshold = mode, 2 })
			bad := Work{Host: "bad", Kind: "deploy"}
			// It fails every 4 minutes for a day: each time renews its exclusion.
			end := 24 * time.Hour
			for d := time.Duration(0); d <= end; d += 4 * time.Minute {
				settled(t, yes(t, s, at(d), rack).Fail(at(d), bad, errBoom))
			}
			if n := in(t, s, at(end), rack, Closed).RecentFailures; n != 0 {
				t.Fatalf("%d failures count, want 0: the only counted one is a day old", n)
			}
			// Only when it was quiet for a window it counts again.
			s.RecordForeign(at(end+5*time.Minute-1), bad, errBoom, rack)
			quiet := end + 10*time.Minute - 1
			s.RecordForeign(at(quiet), bad, errBoom, rack)
			if n := in(t, s, at(quiet), rack, Closed).RecentFailures; n != 1 {
				t.Fatalf("%d failures count, want 1", n)
			}
			s.RecordForeign(at(quiet), Work{Host: "other"}, errBoom, rack)
			in(t, s, at(quiet), rack, Open)
		})
	}
}

// TestASuccessDoesNotEndAnExclusion: fail, success, fail, success of one host.
func TestASuccessDoesNotEndAnExclusion(t *testing.T) {
	s := with(t, func(c *Config) { c.FailureThreshold = 2 })
	s.RecordForeign(at(0), Work{Host: "bad"}, errBoom, rack)
	s.RecordSuccess(at(1), Work{Host: "bad"}, rack)
	s.RecordForeign(at(2), Work{Host: "bad"}, errBoom, rack)
	if n := s.Status(at(2), rack).RecentFailures; n != 0 {
		t.Fatalf("%d failures count, want 0", n)
	}
	s.RecordForeign(at(3), Work{Host: "other"}, errBoom, rack)
	in(t, s, at(3), rack, Closed)
}

// TestTooManyHosts holds the law where more hosts failed than are remembered: what
// counts already is searched.
func TestTooManyHosts(t *testing.T) {
	cfg := wide()
	ratio(&cfg)
	e := evidence{}
	add := func(kind, host string, failed bool) {
		o := &outcome{kind: kind}
		if failed {
			o.failure = &failure{host: host, kind: kind}
		}
		if failures, _ := e.add(&cfg, 0, o, 0); failures != nil {
			t.Fatalf("opens for %d failures", len(failures))
		}
	}
	others := func() {
		for i := range maxHosts {
			add("clean", fmt.Sprint("host", i), true)
			add("clean", "", false)
			add("clean", "", false)
		}
	}
	for range 3 {
		add("deploy", "bad", true)
		others()
	}
	if len(e.run) != 1 || len(e.hosts.list) != maxHosts {
		t.Errorf("%d failures of one host count, %d hosts are known", len(e.run), len(e.hosts.list))
	}
	for range 3 { // a success takes it off the run, not out of the ratio
		add("deploy", "", false)
		add("deploy", "bad", true)
		others()
	}
	if n := e.tally("deploy").failed; n != 1 || len(e.run) != 0 {
		t.Errorf("%d failures of one host count for the ratio, %d for the run", n, len(e.run))
	}
}
