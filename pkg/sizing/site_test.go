package sizing_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// site is hosts that boot, one boot each, as many at once as a Limiter allows, polled every 5 s.
type site struct {
	l       *sizing.Limiter
	now     time.Time
	rng     *rand.Rand
	open    []sizing.Boot
	ends    map[string]time.Time // when it comes up; absent: never
	hosts   int
	waiting int
	// took draws how long a boot takes that begins beside n others; 0: it is lost.
	took func(n int) time.Duration
	// gives is when Ironic gives up a boot.
	gives time.Duration
	seen  func(limit int)
}

func newSite(ceiling int, took func(s *site, n int) time.Duration) *site {
	s := &site{now: t0, rng: rand.New(rand.NewPCG(1, 2)), ends: map[string]time.Time{}, waiting: 1 << 30, gives: 30 * time.Minute}
	s.l = sizing.New(ceiling, true, s.now)
	s.took = func(n int) time.Duration { return took(s, n) }
	return s
}

// usual is a boot without load.
func (s *site) usual() time.Duration { return time.Duration(100+s.rng.IntN(120)) * time.Second }

// run polls for so long.
func (s *site) run(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(5 * time.Second)
		var p sizing.Poll
		var still []sizing.Boot
		for _, b := range s.open {
			b.Took = s.now.Sub(b.Began)
			up, comes := s.ends[b.Host]
			switch {
			case comes && !s.now.Before(up):
				b.End = sizing.Up
				p.Settled = append(p.Settled, b)
			case b.Took > s.gives:
				b.End = sizing.Failed
				p.Settled = append(p.Settled, b)
			default:
				still = append(still, b)
			}
		}
		s.open = still
		for len(s.open) < s.l.Limit() && s.waiting > 0 {
			s.hosts++
			s.waiting--
			b := sizing.Boot{Host: fmt.Sprint("host-", s.hosts), Kind: "wait call-back", Began: s.now}
			if took := s.took(len(s.open)); took > 0 {
				s.ends[b.Host] = s.now.Add(took)
			}
			s.open = append(s.open, b)
		}
		p.Open, p.Occupied, p.Waiting = append([]sizing.Boot{}, s.open...), len(s.open), s.waiting
		s.l.Observe(s.now, p)
		if s.seen != nil {
			s.seen(s.l.Limit())
		}
	}
}

// A site without a bottleneck gets its ceiling soon, and no more.
func TestSZ5_SZ8_ASiteThatStandsAnythingGetsTheCeiling(t *testing.T) {
	s := newSite(150, func(s *site, _ int) time.Duration { return s.usual() })
	s.seen = func(limit int) {
		if limit < 1 || limit > 150 {
			t.Fatalf("limit %d", limit)
		}
	}
	if s.l.Limit() != 20 {
		t.Errorf("begins with %d", s.l.Limit())
	}
	s.run(30 * time.Minute)
	if s.l.Limit() != 150 {
		t.Errorf("limit %d after half an hour", s.l.Limit())
	}
	a := s.l.Advice(s.now)
	if a.Verdict != sizing.Raise || a.Limit <= 150 {
		t.Errorf("%+v", a)
	}
	s.l.SetCeiling(s.now, 40)
	if s.l.Limit() != 40 || s.l.Ceiling() != 40 {
		t.Errorf("limit %d with a ceiling of 40", s.l.Limit())
	}
}

// cliff is a site that loses seven of ten boots beyond so many at once.
func cliff(most int) func(*site, int) time.Duration {
	return func(s *site, _ int) time.Duration {
		alive := 0
		for _, b := range s.open {
			if _, comes := s.ends[b.Host]; comes {
				alive++
			}
		}
		if alive >= most && s.rng.IntN(10) < 7 {
			return 0
		}
		return time.Duration(float64(s.usual()) * max(1, 1.25*float64(alive)/float64(most)))
	}
}

func TestSZ6_ALimitThatLosesBootsIsCutToWhatWorks(t *testing.T) {
	s := newSite(200, cliff(30))
	lowest := 200
	s.run(2 * time.Hour)
	s.seen = func(limit int) { lowest = min(lowest, limit) }
	highest, before := 0, s.hosts
	for range 40 {
		s.run(6 * time.Minute)
		highest = max(highest, s.l.Limit())
	}
	lost := 0
	for _, b := range s.open {
		if _, comes := s.ends[b.Host]; !comes {
			lost++
		}
	}
	if lowest < 20 || highest > 45 {
		t.Errorf("limits from %d to %d where 30 boots at once are well", lowest, highest)
	}
	if n := s.hosts - before; lost > 10 || n < 4*3600/200*20 {
		t.Errorf("%d boots in 4 h, %d are lost at the end", n, lost)
	}
	a := s.l.Advice(s.now)
	if a.Verdict != sizing.Keep || a.Limit < 20 || a.Limit > 40 {
		t.Errorf("%+v", a)
	}
}

// Where Ironic gives boots up early, lost ones end before they last long enough to count as late.
func TestSZ6_ALimitIsFoundWhereIronicGivesUpEarly(t *testing.T) {
	for _, gives := range []time.Duration{5 * time.Minute, 8 * time.Minute} {
		s := newSite(200, cliff(30))
		s.gives = gives
		s.run(time.Hour)
		s.seen = func(limit int) {
			if limit < 24 || limit > 40 {
				t.Fatalf("limit %d where 30 boots at once are well and Ironic gives up after %v", limit, gives)
			}
		}
		s.run(3 * time.Hour)
	}
}

// Boots that share a link slow down and are not lost: no limit is cut for that.
func TestSZ5_SZ6_SlowerBootsAloneNeverCut(t *testing.T) {
	s := newSite(60, func(s *site, n int) time.Duration {
		return time.Duration(float64(s.usual()) * (1 + float64(n)/30))
	})
	last := 0
	s.seen = func(limit int) {
		if limit < last {
			t.Fatalf("from %d to %d", last, limit)
		}
		last = limit
	}
	s.run(6 * time.Hour)
	if last < 35 {
		t.Errorf("limit %d", last)
	}
}

// Every seventh to twentieth host never boots. That is no reason to boot fewer of the others at once. Whenever
// four hours have passed, the limit is cut for them once more; one of eight is the worst of these.
func TestSZ9_HostsThatNeverBootDoNotHoldTheLimitDown(t *testing.T) {
	for each, least := range map[int]int{7: 55, 8: 40, 9: 55, 12: 55, 15: 55, 20: 55} {
		s := newSite(60, func(s *site, _ int) time.Duration {
			if s.hosts%each == 0 {
				return 0
			}
			return s.usual()
		})
		s.run(4 * time.Hour) // the first cut has its time
		sum, n := 0, 40
		for range n {
			s.run(30 * time.Minute)
			sum += s.l.Limit()
		}
		if mean := sum / n; mean < least {
			t.Errorf("one of %d never boots: the limit is %d of 60 on average, want %d", each, mean, least)
		}
	}
}

// A breaker opens on the very boots that a crowd has lost: these still cut, once.
func TestSZ10_WhatWasLostBeforeABreakerOpenedStillCuts(t *testing.T) {
	l := sizing.New(20, true, t0)
	began := t0.Add(time.Minute)
	l.Observe(began, sizing.Poll{Occupied: 20, Waiting: 9, Open: boots(0, 20, began, 0, sizing.Open)})
	now := began.Add(3 * time.Minute)
	l.Observe(now, sizing.Poll{
		Occupied: 20, Waiting: 9, Settled: boots(0, 12, began, 3*time.Minute, sizing.Up), Open: boots(12, 8, began, 3*time.Minute, sizing.Open),
	})
	p := sizing.Poll{Occupied: 20, Frozen: true, Settled: boots(12, 8, began, 30*time.Minute, sizing.Failed)}
	l.Observe(began.Add(30*time.Minute), p)
	if r := l.Record(); r.Bad != 20 || r.Limit >= 20 {
		t.Errorf("limit %d, bad %d", r.Limit, r.Bad)
	}
	cut := l.Record()
	p.Settled = boots(100, 8, began, 31*time.Minute, sizing.Failed)
	l.Observe(began.Add(31*time.Minute), p)
	if r := l.Record(); r.Limit != cut.Limit {
		t.Errorf("cut again, to %d", r.Limit)
	}
}

// A breaker stops hosts: what is seen then says nothing.
func TestSZ10_WhileABreakerIsOpenTheLimitDoesNotGrow(t *testing.T) {
	l := sizing.New(100, true, t0)
	now := t0
	for i := range 400 {
		now = now.Add(5 * time.Second)
		p := sizing.Poll{Occupied: 20, Waiting: 50, Frozen: true}
		p.Settled = boots(20*i, 20, now.Add(-3*time.Minute), 3*time.Minute, sizing.Up)
		if l.Observe(now, p) {
			t.Fatalf("limit %d", l.Limit())
		}
	}
	for i := range 100 {
		now = now.Add(5 * time.Second)
		p := sizing.Poll{Occupied: 20} // nobody waits
		p.Settled = boots(10000+20*i, 20, now.Add(-5*time.Second), 5*time.Second, sizing.Up)
		l.Observe(now, p)
	}
	if l.Limit() != 20 {
		t.Errorf("limit %d, though nobody waits", l.Limit())
	}
}

// A host that does not count any more (SZ-3) must not hold up the window that it is in.
func TestSZ3_AWindowDoesNotWaitForWhoLeft(t *testing.T) {
	l := sizing.New(100, true, t0)
	began := t0.Add(time.Minute)
	l.Observe(began, sizing.Poll{Occupied: 20, Waiting: 9, Open: boots(0, 20, began, 0, sizing.Open)})
	now := began.Add(3 * time.Minute)
	l.Observe(now, sizing.Poll{Occupied: 20, Waiting: 9, Settled: boots(0, 14, began, 3*time.Minute, sizing.Up)}) // 6 are gone
	if l.Limit() != 40 {
		t.Errorf("limit %d", l.Limit())
	}
}

// Boots that end first say nothing about those that never will.
func TestSZ2_AWindowIsJudgedWhenNearlyAllHaveEnded(t *testing.T) {
	l := sizing.New(100, true, t0)
	began := t0.Add(time.Minute)
	l.Observe(began, sizing.Poll{Occupied: 20, Waiting: 9, Open: boots(0, 20, began, 0, sizing.Open)})
	now := began.Add(3 * time.Minute)
	l.Observe(now, sizing.Poll{
		Occupied: 20, Waiting: 9, Settled: boots(0, 12, began, 3*time.Minute, sizing.Up), Open: boots(12, 8, began, 3*time.Minute, sizing.Open),
	})
	if l.Limit() != 20 {
		t.Errorf("limit %d though 8 of 20 boots last", l.Limit())
	}
	now = now.Add(10 * time.Minute)
	l.Observe(now, sizing.Poll{Occupied: 20, Waiting: 9, Open: boots(12, 8, began, 13*time.Minute, sizing.Open)})
	if r := l.Record(); r.Bad != 20 || r.Limit != 12 {
		t.Errorf("limit %d, bad %d: 8 of 20 boots are lost", r.Limit, r.Bad)
	}
	if l.Limit() != 20 {
		t.Errorf("limit %d: the eight hold slots and load nobody", l.Limit())
	}
	l.Observe(now.Add(5*time.Second), sizing.Poll{Occupied: 12, Waiting: 9}) // they have ended
	if l.Limit() != 12 {
		t.Errorf("limit %d", l.Limit())
	}
}

func TestSZ4_AdviceNeedsEvidence(t *testing.T) {
	l := sizing.New(20, false, t0)
	if a := l.Advice(t0); a.Verdict != sizing.NotEnough || a.Limit != 0 || a.Evidence == "" {
		t.Errorf("%+v", a)
	}
	s := newSite(20, func(s *site, _ int) time.Duration { return s.usual() })
	s.l = l
	s.run(time.Hour)
	if a := l.Advice(s.now); a.Verdict != sizing.Raise || a.Limit != 25 {
		t.Errorf("%+v", a)
	}
	if l.Limit() != 20 {
		t.Errorf("a fixed limit has become %d", l.Limit())
	}
	if a := l.Advice(s.now.Add(60 * 24 * time.Hour)); a.Verdict != sizing.NotEnough {
		t.Errorf("two months later: %+v", a)
	}

	high := newSite(60, cliff(20))
	high.l = sizing.New(60, false, t0)
	high.run(2 * time.Hour)
	if a := high.l.Advice(high.now); a.Verdict != sizing.Lower || a.Limit < 12 || a.Limit > 45 {
		t.Errorf("%+v", a)
	}
}
