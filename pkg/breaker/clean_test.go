package breaker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestCB25_WhatIsUsedIsKept(t *testing.T) {
	const idle = 2 * time.Hour
	for _, tt := range []struct {
		name string
		use  func(s *Set)
		now  time.Duration
		kept bool
	}{
		{"asked and settled", func(s *Set) { settled(t, yes(t, s, start, rack).Succeed(start, Work{})) }, idle, false},
		{"not yet two hours", func(s *Set) { settled(t, yes(t, s, start, rack).Succeed(start, Work{})) }, idle - 1, true},
		{"a permit is out", func(s *Set) { yes(t, s, start, rack) }, 100 * idle, true},
		{"taken", func(s *Set) { s.Take(start, rack) }, 100 * idle, true},
		{"a failure in the window", func(s *Set) { fails(s, start, 1, rack) }, 3*time.Hour - 1, true},
		{"a failure before the window", func(s *Set) { fails(s, start, 1, rack) }, 3 * time.Hour, false},
		{"an exclusion", func(s *Set) {
			s.RecordForeign(start, Work{Host: "a"}, errBoom, rack)
			s.RecordSuccess(start, Work{}, rack)
		}, 3*time.Hour - 1, true},
		{"a failure for the ratio", func(s *Set) {
			s.RecordForeign(start, Work{}, errBoom, rack)
			s.RecordSuccess(start, Work{}, rack)
		}, 3*time.Hour - 1, true},
		{"a success recorded later", func(s *Set) {
			s.RecordSuccess(start, Work{}, rack)
			s.RecordSuccess(at(idle), Work{}, rack)
		}, 2*idle - 1, true},
		{"a success recorded", func(s *Set) { s.RecordSuccess(start, Work{}, rack) }, idle - 1, true},
		{"settled later", func(s *Set) { settled(t, yes(t, s, start, rack).Cancel(at(idle))) }, 2*idle - 1, true},
		{"asked later", func(s *Set) {
			s.Trip(start, ironic, 10*idle)
			settled(t, yes(t, s, start, rack).Cancel(start))
			if _, err := s.Ask(at(idle), rack, ironic); err == nil {
				t.Error("allowed")
			}
		}, 2*idle - 1, true},
		{"not closed", func(s *Set) { s.Trip(start, rack, idle/2) }, 100 * idle, true},
		{"only read", func(s *Set) {
			settled(t, yes(t, s, start, rack).Cancel(start))
			s.Status(at(idle), rack)
			settled(t, s.Check(at(idle), rack))
		}, idle, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := with(t, func(c *Config) { ratio(c); c.FailureWindow = 3 * time.Hour })
			tt.use(s)
			s.Clean(at(tt.now))
			kept := false
			for _, st := range s.All(at(tt.now)) {
				kept = kept || st.Scope == rack
			}
			if kept != tt.kept {
				t.Errorf("kept is %v", kept)
			}
			yes(t, s, at(tt.now+idle), rack) // whatever was done with it
		})
	}
}

// TestCleanForgetsNoPermit: a busy scope whose state never changed keeps its count.
func TestCleanForgetsNoPermit(t *testing.T) {
	s := with(t, func(c *Config) { c.MaxConcurrent = 1 })
	p := yes(t, s, start, rack)
	for d := time.Duration(0); d < 24*time.Hour; d += time.Hour {
		s.Clean(at(d))
		no(t, s, at(d), &ConcurrencyLimitError{Scope: rack, Limit: 1, Current: 1}, rack)
	}
	settled(t, p.Cancel(at(24*time.Hour)))
	s.Clean(at(48 * time.Hour))
	yes(t, s, at(48*time.Hour), rack)
	no(t, s, at(48*time.Hour), &ConcurrencyLimitError{Scope: rack, Limit: 1, Current: 1}, rack)
}

// TestScopesComeAndGo: no place leaks while scopes are made, forgotten and made again,
// in whatever order their permits end.
func TestScopesComeAndGo(t *testing.T) {
	s := with(t, func(c *Config) {
		ratio(c)
		c.FailureThreshold, c.MaxConcurrent, c.RecoveryTimeout = 50, 20, time.Hour
	})
	random := rand.New(rand.NewPCG(1, 2))
	var out []*Permit
	now := start
	for i := range 5000 {
		now = now.Add(time.Minute)
		a, b := Scope{"s", fmt.Sprint(random.IntN(7))}, Scope{"s", fmt.Sprint(random.IntN(5))}
		w := Work{Host: fmt.Sprint(random.IntN(16)), Kind: fmt.Sprint(random.IntN(3))}
		if p, err := s.Ask(now, a, b, Scope{"own", fmt.Sprint(i)}); err == nil {
			out = append(out, p)
		} else {
			s.RecordForeign(now, w, err, b, a)
		}
		if len(out) > random.IntN(30) {
			j := random.IntN(len(out))
			switch random.IntN(3) {
			case 0:
				settled(t, out[j].Succeed(now, w))
			case 1:
				settled(t, out[j].Fail(now, w, errBoom))
			default:
				settled(t, out[j].Cancel(now))
			}
			if err := out[j].Cancel(now); !errors.Is(err, ErrSettled) {
				t.Fatal(err)
			}
			out = slices.Delete(out, j, j+1)
		}
		switch random.IntN(20) {
		case 0:
			s.Clean(now)
		case 1:
			s.Reset(now, a)
		case 2:
			s.Trip(now, b, time.Minute)
		case 3:
			s.Tick(now)
		}
	}
	for _, p := range out {
		settled(t, p.Cancel(now))
	}
	now = now.Add(1000 * time.Hour)
	for _, st := range s.All(now) {
		if st.ConcurrentInstances != 0 || st.Probes != 0 {
			t.Errorf("%+v", st)
		}
		s.Reset(now, st.Scope)
	}
	s.Clean(now.Add(3 * time.Hour))
	if n := len(s.circuits) + len(s.notClosed); n != 0 {
		t.Errorf("%d scopes are left", n)
	}
}
