package sizing_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// of makes boots of one kind.
func of(kind string, all []sizing.Boot) []sizing.Boot {
	for i := range all {
		all[i].Kind = kind
	}
	return all
}

// seen shows 20 boots of each kind that took so long, one window after the other.
func seen(l *sizing.Limiter, now time.Time, took time.Duration, kinds ...string) time.Time {
	for i, kind := range kinds {
		began := now.Add(time.Second)
		l.Observe(began, sizing.Poll{Occupied: 20, Waiting: 9, Open: of(kind, boots(100*i, 20, began, 0, sizing.Open))})
		now = began.Add(took)
		l.Observe(now, sizing.Poll{Occupied: 20, Waiting: 9, Settled: of(kind, boots(100*i, 20, began, took, sizing.Up))})
	}
	return now
}

// SZ-6: where all boots are nearly as slow as Ironic allows, those that it gives up are lost. They once were not, and a
// limit stayed at which no boot came up at all.
func TestSZ6_WhatIronicGivesUpIsLostHoweverSlowTheOthersAre(t *testing.T) {
	for _, row := range []struct {
		after time.Duration // a work fails without its agent; boots take 100 s without load, 1300 of late
		lost  bool
	}{{30 * time.Minute, true}, {160 * time.Second, true}, {140 * time.Second, false}} {
		l := sizing.New(20, true, t0)
		now := seen(l, t0, 100*time.Second, "clean wait")
		now = seen(l, now, 1300*time.Second, "clean wait", "clean wait")
		failed := of("clean wait", boots(500, 10, now.Add(time.Second), row.after, sizing.Failed))
		l.Observe(now.Add(row.after), sizing.Poll{Occupied: 40, Waiting: 9, Settled: failed})
		if r := l.Record(); (r.Bad > 0) != row.lost {
			t.Errorf("failed after %v: bad %d of limit %d", row.after, r.Bad, r.Limit)
		}
	}
}

// A state that the throttle first sees while the site is slow was not always so slow: what it would take without
// load is less by as much as the others are slower.
func TestSZ2_AKindThatIsFirstSeenUnderLoadHasABaselineWithout(t *testing.T) {
	l := sizing.New(20, false, t0)
	now := seen(l, t0, 100*time.Second, "inspect wait")
	began, took := now.Add(time.Second), 200*time.Second
	both := slices.Concat(of("inspect wait", boots(0, 10, began, took, sizing.Up)), of("clean wait", boots(50, 10, began, took, sizing.Up)))
	l.Observe(began.Add(took), sizing.Poll{Occupied: 20, Waiting: 9, Settled: both})
	base := l.Record().Base
	if got := math.Exp(base["clean wait"].Mean); math.Abs(got-100) > 1 {
		t.Errorf("clean wait: %.0f s without load, want 100, as inspect wait was twice as slow: %v", got, base)
	}
}

// SZ-6: boots of a state that the last window did not have are as slow as the others, and not lost for that.
func TestSZ6_AKindThatWasNotSeenOfLateIsAsSlowAsTheOthers(t *testing.T) {
	for _, row := range []struct {
		took time.Duration // inspections of late; cleanings last 500 s
		lost bool
	}{{400 * time.Second, false}, {100 * time.Second, true}} {
		l := sizing.New(20, true, t0)
		now := seen(l, t0, 100*time.Second, "clean wait", "inspect wait")
		now = seen(l, now, row.took, "inspect wait", "inspect wait")
		l.Observe(now.Add(500*time.Second), sizing.Poll{Occupied: 40, Waiting: 9, Open: of("clean wait", boots(500, 20, now.Add(time.Second), 499*time.Second, sizing.Open))})
		if r := l.Record(); (r.Bad > 0) != row.lost {
			t.Errorf("cleanings of 499 s after inspections of %v: bad %d of limit %d", row.took, r.Bad, r.Limit)
		}
	}
}

// SZ-6: when it is cut, not all of a crowd that are lost are late. As more of them turn out to be, the limit follows,
// and the slots of these count on top, so that the work of the others goes on.
func TestSZ6_ACutFollowsAsMoreOfTheCrowdTurnOutToBeLost(t *testing.T) {
	l, now := crowded(t, 80, 80, true)
	first, second := now.Add(time.Second), now.Add(3*time.Minute)
	poll := func(at time.Duration, late int) {
		now := now.Add(at)
		open := boots(1000, 20, first, now.Sub(first), sizing.Open)
		if late > 20 {
			open = append(open, boots(2000, late-20, second, now.Sub(second), sizing.Open)...)
		}
		l.Observe(now, sizing.Poll{Occupied: 80, Waiting: 9, Open: open, Settled: boots(int(3000+at.Seconds()), 60, now.Add(-100*time.Second), 100*time.Second, sizing.Up)})
	}
	poll(3*time.Minute, 20)
	poll(6*time.Minute, 32)
	cut := l.Record()
	if cut.Bad != 80 || cut.Limit < 56 || cut.Limit > 64 {
		t.Fatalf("20 of 80 are lost: limit %d, bad %d", cut.Limit, cut.Bad)
	}
	poll(8*time.Minute, 32)
	if r := l.Record(); r.Limit != 48 || l.Limit() != 80 {
		t.Errorf("32 of 80 are late: limit %d, want 48; in force %d, want 80", r.Limit, l.Limit())
	}
	third := now.Add(9 * time.Minute)
	again := func(at time.Duration, old int) {
		now := now.Add(at)
		open := append(boots(1000, old, first, now.Sub(first), sizing.Open), boots(4000, 16, third, now.Sub(third), sizing.Open)...)
		l.Observe(now, sizing.Poll{Occupied: 48 + old, Waiting: 9, Open: open, Settled: boots(int(5000+at.Seconds()), 60, now.Add(-130*time.Second), 130*time.Second, sizing.Up)})
	}
	for _, at := range []time.Duration{15 * time.Minute, 16 * time.Minute} { // the poll that cuts, and the next one
		again(at, 32)
		if r := l.Record(); r.Bad != 48 || r.Limit != 32 || l.Limit() != 80 {
			t.Errorf("16 of the 48 left are lost too: limit %d of %d, want 32 of 48; in force %d, want 80", r.Limit, r.Bad, l.Limit())
		}
	}
	again(30*time.Minute, 0)
	if l.Limit() != 48 {
		t.Errorf("limit %d when Ironic has given up the first crowd's", l.Limit())
	}
}

// SZ-6: however many of a crowd are late, half of it is left, and 5.
func TestSZ6_HalfOfACrowdIsLeftAndFive(t *testing.T) {
	for _, row := range []struct{ crowd, late, left int }{{80, 79, 40}, {80, 41, 40}, {80, 38, 42}, {80, 7, 72}, {8, 7, 5}} {
		l, now := crowded(t, 80, 80, true)
		l.SetCeiling(now, row.crowd)
		began := now
		for range 10 {
			now = now.Add(time.Minute)
			l.Observe(now, sizing.Poll{Occupied: row.crowd, Waiting: 9, Open: boots(1000, row.late, began, now.Sub(began), sizing.Open)})
		}
		if r := l.Record(); r.Bad != row.crowd || r.Limit != row.left {
			t.Errorf("%d of %d are late: limit %d, bad %d, want %d", row.late, row.crowd, r.Limit, r.Bad, row.left)
		}
	}
}

// SZ-9: what is not slower but by chance is not slower.
func TestSZ9_ALittleSlowerByChanceIsNotSlower(t *testing.T) {
	for _, row := range []struct {
		took time.Duration // of the others; 100 s without load
		cuts bool
	}{{108 * time.Second, false}, {125 * time.Second, true}} {
		l, now := crowded(t, 60, 60, true)
		now = losses(l, now, 60)
		if l.Record().Bad != 60 {
			t.Fatalf("%+v", l.Record())
		}
		now = now.Add(30 * time.Minute) // Ironic has given them up
		l.Observe(now, sizing.Poll{Occupied: 30, Waiting: 9})
		began := now.Add(time.Second)
		failed := boots(3000, 10, began, 30*time.Minute, sizing.Failed)
		l.Observe(began.Add(time.Hour), sizing.Poll{Occupied: 30, Waiting: 9, Settled: append(boots(2000, 20, began, row.took, sizing.Up), failed...)})
		if r := l.Record(); (r.Bad != 60) != row.cuts {
			t.Errorf("the others took %v: limit %d, bad %d", row.took, r.Limit, r.Bad)
		}
	}
}

// SZ-5: the limit doubles until boots are slower than chance tells, then goes on by smaller steps, until more slots gain
// nothing. Of few boots neither the baseline nor what is compared with it is exact.
func TestSZ5_GrowthGoesByHowSlowBootsAre(t *testing.T) {
	few, many := 15, 60 // boots that the baseline of 100 s stands for
	for _, row := range []struct {
		quick bool
		base  int
		took  time.Duration
		limit int // after 40
	}{
		{true, many, 100 * time.Second, 80},
		{true, many, 114 * time.Second, 80},
		{true, many, 118 * time.Second, 50},
		{true, few, 118 * time.Second, 80}, // either may be off by a tenth
		{true, few, 122 * time.Second, 50},
		{false, many, 90 * time.Second, 50},
		{false, many, 249 * time.Second, 50},
		{false, many, 251 * time.Second, 40},
	} {
		l := sizing.New(200, true, t0)
		known := sizing.New(200, true, t0)
		began := t0.Add(time.Second)
		known.Observe(began.Add(100*time.Second), sizing.Poll{Settled: boots(0, row.base, began, 100*time.Second, sizing.Up)})
		for i := 1; known.Record().Base["deploy wait"].N < row.base; i++ { // windows that say the same
			began = began.Add(100 * time.Second)
			known.Observe(began.Add(100*time.Second), sizing.Poll{Settled: boots(100*i, row.base, began, 100*time.Second, sizing.Up)})
			if i > 9 {
				t.Fatalf("%+v", known.Record())
			}
		}
		r := known.Record()
		r.Limit, r.Quick = 40, row.quick
		l.Restore(t0, r)
		began = t0.Add(time.Second)
		l.Observe(began.Add(row.took), sizing.Poll{Occupied: 40, Waiting: 9, Settled: boots(0, 20, began, row.took, sizing.Up)})
		if got := l.Record().Limit; got != row.limit {
			t.Errorf("%+v: the limit is %d, base %v", row, got, r.Base)
		}
	}
}

// SZ-6: where boots are lost before anybody knows how long they take without load, those that came up tell which are late.
func TestSZ6_TheFirstWindowTellsWhichBootsAreLate(t *testing.T) {
	l := sizing.New(20, true, t0)
	began := t0.Add(time.Second)
	open := func(after time.Duration) sizing.Poll {
		return sizing.Poll{Occupied: 20, Waiting: 9, Open: boots(50, 8, began, after, sizing.Open)}
	}
	first := open(100 * time.Second)
	first.Settled = boots(0, 12, began, 100*time.Second, sizing.Up)
	l.Observe(began.Add(100*time.Second), first)
	for _, after := range []time.Duration{351 * time.Second, 360 * time.Second, 20 * time.Minute} {
		l.Observe(began.Add(after), open(after))
		if r := l.Record(); r.Limit != 12 || l.Limit() != 20 {
			t.Errorf("8 of 20 boots are lost after %v: limit %d, want 12; in force %d, want 20", after, r.Limit, l.Limit())
		}
	}
}
