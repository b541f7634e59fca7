package breaker

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCB14_APermitIsSettledOnce(t *testing.T) {
	ends := map[string]func(*Permit) error{
		"succeed": func(p *Permit) error { return p.Succeed(start, Work{}) },
		"fail":    func(p *Permit) error { return p.Fail(start, Work{}, errBoom) },
		"cancel":  func(p *Permit) error { return p.Cancel(start) },
	}
	for first := range ends {
		for second := range ends {
			t.Run(first+", "+second, func(t *testing.T) {
				s := with(t, func(c *Config) { c.MaxConcurrent = 2 })
				p := yes(t, s, start, rack, ironic)
				yes(t, s, start, rack, ironic)
				settled(t, ends[first](p))
				before := s.All(start)
				if err := ends[second](p); !errors.Is(err, ErrSettled) {
					t.Errorf("error %v, want ErrSettled", err)
				}
				if diff := cmp.Diff(before, s.All(start)); diff != "" {
					t.Error(diff)
				}
				// It freed its own place and nobody else's.
				yes(t, s, start, rack, ironic)
				no(t, s, start, &ConcurrencyLimitError{Scope: rack, Limit: 2, Current: 2}, rack, ironic)
			})
		}
	}
}

func TestANilPermitDoesNothing(t *testing.T) {
	var p *Permit
	if p.Succeed(start, Work{}) != nil || p.Fail(start, Work{}, nil) != nil || p.Cancel(start) != nil || p.Scopes() != nil {
		t.Error("a nil permit did something")
	}
}

func TestCB15_ForeignOutcomesNeedNoPermit(t *testing.T) {
	s := with(t, func(c *Config) { c.MaxConcurrent = 2 })
	yes(t, s, start, rack)
	s.RecordForeign(start, Work{}, errBoom, rack, ironic)
	s.RecordForeign(start, Work{}, errBoom, rack)
	s.RecordSuccess(start, Work{Kind: "other"}, rack)
	if st := in(t, s, start, rack, Closed); st.RecentFailures != 2 || st.ConcurrentInstances != 1 || st.InstancesThisMinute != 0 {
		t.Errorf("%+v", st)
	}
	if n := s.Status(start, ironic).RecentFailures; n != 1 {
		t.Errorf("%d failures of ironic, want 1", n)
	}
	s.RecordForeign(start, Work{}, errBoom, rack)
	in(t, s, start, rack, Open)
	// In OPEN and HALF_OPEN they are no verdict and extend nothing.
	for _, now := range []time.Time{at(recovery - 1), at(recovery)} {
		s.RecordForeign(now, Work{}, errBoom, rack)
		s.RecordSuccess(now, Work{}, rack)
	}
	yes(t, s, at(recovery), rack)
	s.RecordForeign(at(recovery), Work{}, errBoom, rack)
	s.RecordSuccess(at(recovery), Work{}, rack)
	if st := in(t, s, at(recovery), rack, HalfOpen); st.Probes != 1 || st.ConcurrentInstances != 2 {
		t.Errorf("%+v", st)
	}
}

func TestCB23_FailWithoutAnError(t *testing.T) {
	s := with(t, nil)
	settled(t, yes(t, s, start, rack).Fail(start, Work{Host: "a"}, nil))
	s.RecordForeign(start, Work{Host: "b"}, nil, rack)
	want := []Cause{{Text: "unknown error", Count: 2, Hosts: []string{"a", "b"}}}
	if diff := cmp.Diff(want, s.Status(start, rack).Causes); diff != "" {
		t.Error(diff)
	}
}

// TestCausesAreBounded in length, in number and in hosts, and cut between letters.
func TestCausesAreBounded(t *testing.T) {
	s := with(t, func(c *Config) { c.FailureThreshold = maxThreshold })
	long := strings.Repeat("ä", maxCauseBytes)
	for i := range 2 * maxCauses {
		text := long
		if i%2 == 0 {
			text = strings.Repeat("x", i+1) + long
		}
		s.RecordForeign(start, Work{Host: string(rune('A' + i))}, errors.New(text), rack)
	}
	causes := s.Status(start, rack).Causes
	if len(causes) != maxCauses || causes[0].Count != maxCauses || len(causes[0].Hosts) != maxCauseHosts || causes[0].Hosts[0] != "B" {
		t.Errorf("%d causes: %+v", len(causes), causes[0])
	}
	for _, c := range causes {
		if len(c.Text) > maxCauseBytes || len(c.Text) < maxCauseBytes-3 || !strings.HasSuffix(c.Text, "ä…") {
			t.Errorf("%d bytes: %s", len(c.Text), c.Text)
		}
	}
	if exact := strings.Repeat("x", maxCauseBytes); causeOf(errors.New(exact)) != exact {
		t.Error("a text of 200 bytes was cut")
	}
}

// TestTheCallerMayKeepWhatItGets: nothing that is returned is shared with the Set.
func TestTheCallerMayKeepWhatItGets(t *testing.T) {
	s := with(t, nil)
	for _, h := range []string{"a", "b", "c"} {
		s.RecordForeign(start, Work{Host: h}, errBoom, rack)
	}
	spoil := func(c []Cause) { c[0].Hosts[0], c[0].Text = "spoilt", "spoilt" }
	spoil(s.Status(start, rack).Causes)
	spoil(s.Events()[0].Causes)
	want := []Cause{{Text: "boom", Count: 3, Hosts: []string{"a", "b", "c"}}}
	if diff := cmp.Diff(want, s.Status(start, rack).Causes); diff != "" {
		t.Error(diff)
	}
}

// TestCB28_WorkThatRunsAlready: a permit for each, before any ask.
func TestCB28_WorkThatRunsAlready(t *testing.T) {
	s := with(t, func(c *Config) { c.MaxConcurrent, c.RateLimitPerMinute = 2, 2 })
	p, q, r := s.Take(start, rack), s.Take(start, rack, ironic), s.Take(start, rack)
	if diff := cmp.Diff([]Scope{rack, ironic}, q.Scopes()); diff != "" {
		t.Error(diff)
	}
	st := in(t, s, start, rack, Closed)
	if st.ConcurrentInstances != 3 || st.InstancesThisMinute != 0 {
		t.Errorf("%+v", st)
	}
	no(t, s, start, &ConcurrencyLimitError{Scope: rack, Limit: 2, Current: 3}, rack)
	settled(t, p.Cancel(start))
	settled(t, q.Succeed(start, Work{}))
	if err := q.Succeed(start, Work{}); !errors.Is(err, ErrSettled) {
		t.Errorf("error %v, want ErrSettled", err)
	}
	yes(t, s, start, rack)
	// In CLOSED its outcome counts like any other.
	settled(t, r.Fail(start, Work{}, errBoom))
	if n := s.Status(start, rack).RecentFailures; n != 1 {
		t.Errorf("%d failures, want 1", n)
	}
}

// TestWorkTakenWhileNotClosedHasNoSay, whatever it says and whenever.
func TestWorkTakenWhileNotClosedHasNoSay(t *testing.T) {
	for name, taken := range map[string]time.Time{"OPEN": at(1), "HALF_OPEN": at(recovery)} {
		t.Run(name, func(t *testing.T) {
			s := opened(t, func(c *Config) { c.FailureThreshold = 1 })
			var p []*Permit
			for range 4 {
				p = append(p, s.Take(taken, rack))
			}
			if n := s.Status(taken, rack).Probes; n != 0 {
				t.Errorf("%d probes, want 0", n)
			}
			settled(t, p[0].Succeed(at(recovery), Work{}))
			settled(t, p[1].Fail(at(recovery), Work{}, errBoom))
			in(t, s, at(recovery), rack, HalfOpen)
			settled(t, yes(t, s, at(recovery), rack).Succeed(at(recovery), Work{}))
			settled(t, p[2].Fail(at(recovery), Work{}, errBoom))
			if n := in(t, s, at(recovery), rack, Closed).ConcurrentInstances; n != 1 {
				t.Errorf("%d running, want 1", n)
			}
		})
	}
}

// TestCB12_AFailureWithoutAVerdictInOneScope: it is one in the others, as it would be without that, and none in a scope that
// opened since.
func TestCB12_AFailureWithoutAVerdictInOneScope(t *testing.T) {
	s := with(t, func(c *Config) { c.FailureThreshold, c.MaxConcurrent, c.RateLimitPerMinute = 1, 9, 0 })
	before := yes(t, s, start, rack, ironic)
	s.Trip(start, rack, 0)
	s.Reset(start, rack)
	settled(t, before.Fail(start, Work{Host: "a"}, errBoom, ironic))
	in(t, s, start, rack, Closed)
	in(t, s, start, ironic, Closed)
	p := yes(t, s, start, rack, ironic)
	settled(t, p.Fail(start, Work{Host: "b"}, errBoom, ironic))
	if st := in(t, s, start, ironic, Closed); st.ConcurrentInstances != 0 {
		t.Errorf("its place is not free: %+v", st)
	}
	in(t, s, start, rack, Open)
	if err := p.Fail(start, Work{Host: "b"}, errBoom, ironic); err == nil {
		t.Error("settled twice")
	}
}
