package breaker

import (
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
			if _, err := s.Ask(bg, at(idle), rack, ironic); err == nil {
				t.Error("allowed")
			}
		}, 2*idle - 1, true},
		{"not closed", func(s *Set) { s.Trip(start, rack, idle/2) }, 100 * idle, true},
		{"only looked at", func(s *Set) {
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
