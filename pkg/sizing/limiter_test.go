package sizing_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// first is the first round of a limit of 20: so many boots that came up after three minutes, that were lost, and that
// nobody can tell.
type first struct {
	name           string
	up, lost, open int
	slower         float64       // the first 16 of those that came up are as fast as ever
	after          time.Duration // Ironic has given the lost ones up; 0: they last
	busy           int           // slots; 0: all 20
	idle, frozen   bool          // nobody waits; a breaker is open
	ceiling        int           // of a fixed limit; 0: it is adaptive, up to 100
	limit          int           // then
	stood          int           // of those with which boots were lost
}

// A limit of 20 doubles where all is well, keeps where nothing can be said, and is cut by the part that was lost.
func TestTheFirstRound(t *testing.T) {
	for _, c := range []first{
		{name: "all came up", up: 20, limit: 40},
		{name: "a tenth lasts", up: 18, open: 2, limit: 40},
		{name: "more lasts", up: 17, open: 3, limit: 20},
		{name: "two hosts have left", up: 18, limit: 40},
		{name: "slower", up: 20, slower: 6, limit: 25},
		{name: "much slower", up: 20, slower: 12, limit: 20},
		{name: "nobody waits", up: 20, idle: true, limit: 20},
		{name: "slots are free", up: 20, busy: 17, limit: 20},
		{name: "nine of ten slots are taken", up: 20, busy: 18, limit: 40},
		{name: "a breaker is open", up: 20, frozen: true, limit: 20},
		{name: "two are lost", up: 18, lost: 2, after: 30 * time.Minute, limit: 40},
		{name: "three are lost", up: 17, lost: 3, after: 30 * time.Minute, limit: 17, stood: 17},
		{name: "three last too long", up: 17, lost: 3, limit: 20, stood: 17}, // they hold three of the slots
		{name: "three failed early", up: 17, lost: 3, after: 2 * time.Minute, limit: 40},
		{name: "more than half", up: 8, lost: 12, after: 30 * time.Minute, limit: 10, stood: 10},
		{name: "all", lost: 20, after: 30 * time.Minute, limit: 10, stood: 10},
		{name: "lost before a breaker opened", up: 12, lost: 8, after: 30 * time.Minute, frozen: true, limit: 12, stood: 12},
		{name: "a fixed limit", up: 12, lost: 8, after: 30 * time.Minute, ceiling: 20, limit: 20, stood: 12},
	} {
		l := sizing.New(cmp.Or(c.ceiling, 100), c.ceiling == 0, t0)
		c.play(l)
		if r := l.Record(); l.Limit() != c.limit || r.Stood != c.stood {
			t.Errorf("%s: limit %d, %d stood, want %d and %d", c.name, l.Limit(), r.Stood, c.limit, c.stood)
		}
	}
}

func (c *first) play(l *sizing.Limiter) {
	const usual = 3 * time.Minute
	began := t0.Add(time.Minute)
	batch := func(from, n int, took time.Duration, end sizing.End) (out []sizing.Boot) {
		for i := range n {
			out = append(out, sizing.Boot{Host: fmt.Sprint(from + i), Kind: "clean wait", Began: began, Took: took, End: end})
		}
		return out
	}
	p := sizing.Poll{Occupied: 20, Waiting: 9, Open: batch(0, 20, 0, sizing.Open)}
	p.Occupied = cmp.Or(c.busy, p.Occupied)
	if c.idle {
		p.Waiting = 0
	}
	l.Observe(began, p)
	fast := min(c.up, 16)
	p.Ended, p.Open = batch(0, fast, usual, sizing.Up), batch(fast, 20-fast, usual, sizing.Open)
	l.Observe(began.Add(usual), p)
	late := time.Duration(float64(usual) * max(1, c.slower))
	p.Ended, p.Frozen = batch(fast, c.up-fast, late, sizing.Up), c.frozen
	p.Open = batch(c.up, c.open, late, sizing.Open)
	switch {
	case c.lost > 0 && c.after == 0:
		p.Open = append(p.Open, batch(c.up+c.open, c.lost, 10*time.Minute, sizing.Open)...)
	case c.lost > 0:
		p.Ended = append(p.Ended, batch(c.up+c.open, c.lost, c.after, sizing.Failed)...)
	}
	l.Observe(began.Add(max(late, c.after, 10*time.Minute)), p)
}

// A site's mean limit of some hours is between least and most.
func TestWhatSitesGet(t *testing.T) {
	const half = 30 * time.Minute
	for _, c := range []struct {
		name        string
		ceiling     int
		took        boots
		after       time.Duration
		least, most int
		lost        float64       // part of all boots, at most
		gives       time.Duration // when Ironic gives boots up
	}{
		{"a site without a bottleneck", 150, healthy, time.Hour, 150, 150, 0, half},
		{"a crowd of more than 10 loses boots", 200, cliff(10), 2 * time.Hour, 9, 20, 0.13, half},
		{"a crowd of more than 30", 200, cliff(30), 2 * time.Hour, 25, 36, 0.06, half},
		{"a crowd of more than 30, and boots are given up before they are late", 200, cliff(30), 2 * time.Hour, 24, 40, 0.1, 5 * time.Minute},
		{"a crowd of more than 100", 200, cliff(100), 2 * time.Hour, 85, 125, 0.04, half},
		{"a shared link", 60, link(30), 2 * time.Hour, 35, 60, 0, half},
		{"one in 20 never boots", 60, oneIn(20), 4 * time.Hour, 56, 60, 0.08, half},
		{"one in 8", 60, oneIn(8), 4 * time.Hour, 48, 60, 0.18, half},
		{"one in 3", 60, oneIn(3), 4 * time.Hour, 40, 60, 0.4, half},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(c.ceiling, c.took)
			s.gives = c.gives
			s.run(c.after)
			mean := s.mean(10 * time.Hour)
			lost := float64(s.hosts-s.ups-s.alive()) / float64(s.hosts)
			if mean < c.least || mean > c.most || lost > c.lost {
				t.Errorf("limit %d on average, want %d to %d; %.3f of the boots were lost", mean, c.least, c.most, lost)
			}
		})
	}
}

// answered runs for so long, and counts the boots that Ironic gives up, and those of them that the limit answers for.
func answered(s *site, d time.Duration) (n, failed int) {
	s.seen = func(p sizing.Poll) {
		for _, b := range p.Open {
			if left := s.gives - b.Took; left >= 0 && left < 5*time.Second {
				failed++
				if s.l.CutFor(b.Host) {
					n++
				}
			}
		}
	}
	s.run(d)
	return n, failed
}

// What a crowd has lost is no evidence for the breaker half an hour later. An outage is no crowd: what fails in it is,
// and the limit is soon back.
func TestTheLimitAnswersForACrowdAndNotForAnOutage(t *testing.T) {
	if n, failed := answered(newSite(200, cliff(30)), 3*time.Hour); failed == 0 || 2*n < failed {
		t.Errorf("of %d boots that a crowd has lost the limit answers for %d", failed, n)
	}
	s := newSite(60, healthy)
	s.run(time.Hour)
	s.took = nothing
	if n, failed := answered(s, 2*time.Hour); failed == 0 || n > 0 {
		t.Errorf("of %d boots that failed in an outage the limit answers for %d", failed, n)
	}
	s.took = healthy
	s.run(75 * time.Minute)
	if got := s.l.Limit(); got < 50 {
		t.Errorf("limit %d 75 minutes after the outage", got)
	}
}

// A network that comes to stand half of what it did is noticed at the ceiling too, where the first half of a crowd always
// comes up.
func TestACrowdAtTheCeilingIsSeenWhole(t *testing.T) {
	s := newSite(100, healthy)
	s.run(time.Hour)
	s.took = cliff(50)
	s.run(time.Hour)
	if got := s.mean(time.Hour); got > 75 {
		t.Errorf("limit %d on average where 50 boots at once are well", got)
	}
}

func TestAdvice(t *testing.T) {
	fixed := func(ceiling int, took boots) *site {
		s := newSite(ceiling, took)
		s.l = sizing.New(ceiling, false, t0)
		return s
	}
	for _, c := range []struct {
		name        string
		s           *site
		after       time.Duration
		least, most int
	}{
		{"nothing was seen", fixed(20, healthy), 0, 0, 0},
		{"all is well", fixed(20, healthy), time.Hour, 25, 25},
		{"boots are lost", fixed(60, cliff(20)), 2 * time.Hour, 20, 40},
		{"boots are much slower", newSite(60, link(10)), 4 * time.Hour, 20, 50},
		{"an adaptive limit that has found its place", newSite(60, cliff(20)), 4 * time.Hour, 12, 30},
	} {
		c.s.run(c.after)
		a, later := c.s.l.Advice(c.s.now), c.s.l.Advice(c.s.now.AddDate(0, 2, 0))
		if a.Limit < c.least || a.Limit > c.most || a.Evidence == "" || later.Limit != 0 {
			t.Errorf("%s: %+v, want %d to %d; two months later %+v", c.name, a, c.least, c.most, later)
		}
	}
}
