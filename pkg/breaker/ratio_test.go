package breaker

import (
	"fmt"
	"testing"
	"time"
)

func ratio(c *Config) {
	c.FailureThreshold, c.FailureWindow = 10, time.Hour
	c.RatioPercent, c.RatioMinimum = 50, 20
}

// pattern records one outcome for each letter, a nanosecond apart: f fails, s
// succeeds, each failure that of another host.
func pattern(s *Set, from time.Time, kind, letters string) time.Time {
	for i, l := range letters {
		from = from.Add(1)
		w := Work{Kind: kind, Host: fmt.Sprint(from.UnixNano(), i)}
		if l == 'f' {
			s.RecordForeign(from, w, errBoom, rack)
		} else {
			s.RecordSuccess(from, w, rack)
		}
	}
	return from
}

// 50 % of at least 20 in the window, beside 10 consecutive.
func TestCB30_Ratio(t *testing.T) {
	for _, tt := range []struct {
		name, letters string
		want          State
	}{
		{"half of 20", "fsfsfsfsfsfsfsfsfsfs", Open},
		{"half of 20, the last fails", "sfsfsfsfsfsfsfsfsfsf", Open},
		{"half of 19", "fsfsfsfsfsfsfsfsfsf", Closed},
		{"nine of 20", "ffffsfffssfsfsssssss", Closed},
		{"less than half of 21", "ssfsfsfsfsfsfsfsfsfsf", Closed},
		{"ten in a row", "ffffffffff", Open},
		{"twenty successes", "ssssssssssssssssssss", Closed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := with(t, ratio)
			in(t, s, pattern(s, start, "deploy", tt.letters), rack, tt.want)
		})
	}
}

// TestCB30_TheFirstToEndAreNoRatio: of 60 hosts at work the 20 broken ones end before the others. They are
// no half of all, and no outcome counts before as many have ended as are at work.
func TestCB30_TheFirstToEndAreNoRatio(t *testing.T) {
	for _, tt := range []struct {
		name    string
		running int
		letters string
		want    State
	}{
		{"20 of the first 40, 60 at work", 60, "fsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfs", Closed},
		{"20 of the first 40, 40 at work", 40, "fsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfs", Open},
		{"20 of the first 40, 41 at work", 41, "fsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfsfs", Closed},
		{"ten in a row, 60 at work", 60, "ffffffffff", Open},
		{"half of 20, 5 at work", 5, "fsfsfsfsfsfsfsfsfsfs", Open},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := with(t, func(c *Config) { ratio(c); c.MaxConcurrent, c.RateLimitPerMinute = 1000, 0 })
			for range tt.running {
				s.Take(start, rack)
			}
			in(t, s, pattern(s, start, "deploy", tt.letters), rack, tt.want)
		})
	}
}

// TestCB30_MoreAtWorkThanOutcomesAreKept: they do not switch the ratio off.
func TestCB30_MoreAtWorkThanOutcomesAreKept(t *testing.T) {
	s := with(t, func(c *Config) { ratio(c); c.MaxConcurrent, c.RateLimitPerMinute = 1000, 0 })
	for range maxOutcomes + 1 {
		s.Take(start, rack)
	}
	now := start
	for range maxOutcomes/2 - 1 {
		now = pattern(s, now, "deploy", "fs")
	}
	in(t, s, now, rack, Closed)
	in(t, s, pattern(s, now, "deploy", "fs"), rack, Open)
}

func TestCB30_RatioIsJudgedPerKind(t *testing.T) {
	s := with(t, ratio)
	now := pattern(s, start, "deploy", "fsfsfsfsfs")
	now = pattern(s, now, "clean", "sfsfsfsfsf")
	in(t, s, now, rack, Closed) // half of 20, but of two kinds
	now = pattern(s, now, "inspect", "ssssssssssssssssssssssssss")
	in(t, s, now, rack, Closed)
	now = pattern(s, now, "deploy", "fsfsfsfsf")
	in(t, s, now, rack, Closed)
	st := in(t, s, pattern(s, now, "deploy", "s"), rack, Open)
	if n := st.Causes[0].Count; n != 10 {
		t.Errorf("opened for %d failures, want the 10 of deploy", n)
	}
}

func TestRatioForgetsWhatIsAsOldAsTheWindow(t *testing.T) {
	s := with(t, func(c *Config) { ratio(c); c.RatioPercent = 60 })
	pattern(s, at(-1), "deploy", "s")
	now := pattern(s, at(time.Hour-20), "deploy", "sfsfsfsfsfsfsfsffff")
	in(t, s, now, rack, Closed) // at -1 ns of the end of the first, 11 of 20 failed
	if now != at(time.Hour-1) {
		t.Fatal(now.Sub(start))
	}
	s.RecordForeign(at(time.Hour), Work{Kind: "deploy", Host: "x"}, errBoom, rack)
	in(t, s, at(time.Hour), rack, Open) // 12 of 20: the first is gone, else 12 of 21
}

// TestOneHostIsNoRatio: neither one that fails on and on nor one failure alone.
func TestOneHostIsNoRatio(t *testing.T) {
	s := with(t, func(c *Config) { ratio(c); c.RatioPercent = 1 })
	for i := range 100 {
		s.RecordForeign(at(time.Duration(i)), Work{Host: "bad"}, errBoom, rack)
		s.RecordSuccess(at(time.Duration(i)), Work{Host: "good"}, rack)
	}
	in(t, s, at(100), rack, Closed)
	s.RecordForeign(at(100), Work{Host: "other"}, errBoom, rack)
	in(t, s, at(100), rack, Open)
}

// TestRatioInABoundedRing: the newest outcomes are judged when the window holds more.
func TestRatioInABoundedRing(t *testing.T) {
	s := with(t, func(c *Config) { ratio(c); c.FailureThreshold = maxThreshold })
	now := start
	for range maxOutcomes {
		now = pattern(s, now, "deploy", "ssf")
	}
	in(t, s, now, rack, Closed)
	for range maxOutcomes {
		now = pattern(s, now, "deploy", "sff")
	}
	in(t, s, now, rack, Open)
	e := evidence{}
	cfg := wide()
	ratio(&cfg)
	for i := range 3 * maxOutcomes {
		f := &failure{kind: "deploy"}
		if e.add(&cfg, time.Duration(i), &outcome{kind: "deploy", failure: f}, 0); len(e.run) > maxThreshold {
			t.Fatal("the run has no bound")
		}
		e.run = e.run[:0]
	}
	if n := e.tallies[0]; n.outcomes.n != maxOutcomes || n.failed != maxOutcomes || len(n.outcomes.buf) > maxOutcomes {
		t.Errorf("%d outcomes, %d failures", n.outcomes.n, n.failed)
	}
}

// TestTooManyKinds: the kind that ended longest ago is forgotten.
func TestTooManyKinds(t *testing.T) {
	for kind, want := range map[string]State{"deploy": Open, "clean": Closed} {
		t.Run(kind, func(t *testing.T) {
			s := with(t, ratio)
			now := pattern(s, start, "deploy", "fsfsfsfsfs")
			now = pattern(s, now, "clean", "fsfsfsfsfsfsfsfsfsf")
			now = pattern(s, now, "deploy", "fsfsfsfsf")
			for i := range maxKinds - 1 { // one too many
				now = pattern(s, now, fmt.Sprint(i), "s")
			}
			in(t, s, pattern(s, now, kind, "s"), rack, want)
		})
	}
}
