package sizing_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// Each test here fails with a mutant that the others let live (make mutants).

// SZ-7: each bound of what is read, on both of its sides.
func TestSZ7_BoundsOfAState(t *testing.T) {
	type record map[string]any
	state := func(pools map[string]record) string {
		text, err := json.Marshal(map[string]any{"version": 1, "pools": pools})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	one := func(r record) string {
		if r["limit"] == nil {
			r["limit"] = 5
		}
		return state(map[string]record{"": r})
	}
	many := func(n int) string {
		pools := map[string]record{}
		for i := range n {
			pools[fmt.Sprint("p", i)] = record{"limit": 1}
		}
		return state(pools)
	}
	base := func(kind string, mean any, n int) string {
		return one(record{"base": map[string]record{kind: {"mean": mean, "n": n}}})
	}
	window := func(field string, v any) string { return one(record{"windows": []record{{field: v}}}) }
	kinds := func(n int) string {
		all := map[string]record{}
		for i := range n {
			all[fmt.Sprint("k", i)] = record{"mean": 5, "n": 1}
		}
		return one(record{"base": all})
	}
	name := func(n int) string { return state(map[string]record{strings.Repeat("p", n): {"limit": 1}}) }
	for text, good := range map[string]bool{
		"": false, `{"version":1,"pools":5}`: false, "{": false, "[]": false, many(64): true, many(65): false, name(256): true, name(257): false,
		one(record{"limit": 1}): true, one(record{"limit": 100_000}): true, one(record{"limit": 100_001}): false,
		one(record{"bad": 100_000, "stood": 100_000}): true, one(record{"bad": 100_001}): false, one(record{"bad": -1}): false,
		one(record{"bad": 5, "stood": 6}): false, one(record{"bad": 5, "stood": -1}): false,
		base(strings.Repeat("k", 256), 5, 1): true, base(strings.Repeat("k", 257), 5, 1): false,
		base("k", 19.9, 60): true, base("k", -19.9, 1): true, base("k", 20, 1): false, base("k", -20, 1): false,
		base("k", 5, 0): false, base("k", 5, 61): false, kinds(16): true, kinds(17): false,
		one(record{"windows": slices.Repeat([]record{{}}, 16)}): true, one(record{"windows": slices.Repeat([]record{{}}, 17)}): false,
		window("limit", 100_000): true, window("occupied", 100_001): false, window("up", -1): false, window("lost", 100_001): false,
		window("booting", -1): false, window("slower", -0.1): false, window("slower", 2.5): true,
	} {
		if _, err := sizing.ParseState([]byte(text)); (err == nil) != good {
			t.Errorf("%.80s: %v", text, err)
		}
	}
	good := many(1)
	good += strings.Repeat(" ", sizing.MaxState-len(good))
	if _, err := sizing.ParseState([]byte(good)); err != nil {
		t.Errorf("of the longest length: %v", err)
	}
	if _, err := sizing.ParseState([]byte(good + " ")); err == nil {
		t.Error("longer than that")
	}
}

// SZ-4: what the evidence speaks for, in words, on both sides of each of its bounds.
func TestSZ4_AdviceByTheWindows(t *testing.T) {
	const day = 24 * time.Hour
	full := sizing.Window{At: t0, Limit: 20, Occupied: 20, Booting: 19.4, Up: 16, Full: true, Slower: 1.1}
	with := func(change func(*sizing.Window)) sizing.Window {
		w := full
		change(&w)
		return w
	}
	slower := func(by float64) []sizing.Window {
		return slices.Repeat([]sizing.Window{with(func(w *sizing.Window) { w.Slower = by })}, 2)
	}
	const (
		none   = "of the last 32 boots at 20 slots none was lost"
		little = "not enough evidence: %s while all 20 slots were taken and hosts waited, some 32 are needed"
	)
	for _, row := range []struct {
		record sizing.Record
		after  time.Duration
		want   sizing.Advice
	}{
		{sizing.Record{}, 0, sizing.Advice{Evidence: fmt.Sprintf(little, "0 boots were timed")}},
		{sizing.Record{Windows: []sizing.Window{full}}, 0, sizing.Advice{Evidence: fmt.Sprintf(little, "16 boots were timed")}},
		{sizing.Record{Windows: []sizing.Window{with(func(w *sizing.Window) { w.Up = 1 })}}, 0, sizing.Advice{Evidence: fmt.Sprintf(little, "1 boot was timed")}},
		{sizing.Record{Windows: []sizing.Window{full, full}}, 0, sizing.Advice{Verdict: sizing.Raise, Limit: 25, Evidence: none + ", and they are as fast as with fewer: the site may stand more"}},
		{sizing.Record{Windows: []sizing.Window{full, full}}, 30 * day, sizing.Advice{Verdict: sizing.Raise, Limit: 25, Evidence: none + ", and they are as fast as with fewer: the site may stand more"}},
		{sizing.Record{Windows: []sizing.Window{full, full}}, 30*day + 1, sizing.Advice{Evidence: fmt.Sprintf(little, "0 boots were timed")}},
		{sizing.Record{Windows: slower(1.2)}, 0, sizing.Advice{Verdict: sizing.Raise, Limit: 22, Evidence: none + "; they take 1.2 times as long as without load, with 19 at once: raise it in small steps"}},
		{sizing.Record{Windows: slower(2.6)}, 0, sizing.Advice{Verdict: sizing.Keep, Limit: 20, Evidence: "boots take 2.6 times as long as without load, with 19 at once: more slots would gain next to nothing; " + none}},
		{sizing.Record{Windows: slices.Repeat([]sizing.Window{full}, 9)}, 0, sizing.Advice{ // the last six
			Verdict: sizing.Raise, Limit: 25, Evidence: "of the last 96 boots at 20 slots none was lost, and they are as fast as with fewer: the site may stand more",
		}},
		{sizing.Record{Windows: []sizing.Window{ // none of these shows what 20 slots do
			with(func(w *sizing.Window) { w.Full = false }), with(func(w *sizing.Window) { w.Occupied = 15 }), with(func(w *sizing.Window) { w.Limit = 26 }), full,
		}}, 0, sizing.Advice{Evidence: fmt.Sprintf(little, "16 boots were timed")}},
		{sizing.Record{Windows: []sizing.Window{ // and these do
			with(func(w *sizing.Window) { w.Occupied = 16 }), with(func(w *sizing.Window) { w.Limit = 25 }),
		}}, 0, sizing.Advice{Verdict: sizing.Raise, Limit: 25, Evidence: none + ", and they are as fast as with fewer: the site may stand more"}},
		{sizing.Record{Bad: 40, BadAt: t0, Stood: 12}, 0, sizing.Advice{Verdict: sizing.Lower, Limit: 12, Evidence: "boots were lost on " + t0.Format("2 Jan 15:04") + " with 40 slots taken, 12 worked on"}},
		{sizing.Record{Bad: 40, BadAt: t0, Stood: 18}, 0, sizing.Advice{Verdict: sizing.Keep, Limit: 20, Evidence: "boots were lost on " + t0.Format("2 Jan 15:04") + " with 40 slots taken, 18 worked on"}},
		{sizing.Record{Bad: 40, BadAt: t0, Stood: 30}, 0, sizing.Advice{Verdict: sizing.Raise, Limit: 30, Evidence: "boots were lost on " + t0.Format("2 Jan 15:04") + " with 40 slots taken, 30 worked on"}},
		{sizing.Record{Bad: 40, BadAt: t0, Stood: 12}, 30*day - 1, sizing.Advice{Verdict: sizing.Lower, Limit: 12, Evidence: "boots were lost on " + t0.Format("2 Jan 15:04") + " with 40 slots taken, 12 worked on"}},
		{sizing.Record{Bad: 40, BadAt: t0, Stood: 12}, 30 * day, sizing.Advice{Evidence: fmt.Sprintf(little, "0 boots were timed")}},
	} {
		l := sizing.New(20, false, t0)
		row.record.Limit = 20
		l.Restore(t0, row.record)
		if got := l.Advice(t0.Add(row.after)); got != row.want {
			t.Errorf("%+v after %v:\n%+v, want\n%+v", row.record, row.after, got, row.want)
		}
	}
}

// Times are counted up to each bound and at it.
func TestTimes(t *testing.T) {
	c := sizing.NewTimes([]float64{1, 2, 5})
	for _, d := range []time.Duration{time.Second, 1500 * time.Millisecond, 2 * time.Second, 6 * time.Second} {
		c.Add(d)
	}
	if count, sum, upTo := c.Show(); count != 4 || sum != 10.5 || !slices.Equal(upTo, []uint64{1, 3, 3}) {
		t.Errorf("%d, %v, %v", count, sum, upTo)
	}
}

// SZ-10: what a breaker stops is left out as long as it stops it, and the poll at its begin is not.
func TestSZ10_OnlyTheFirstFrozenPollCounts(t *testing.T) {
	l := sizing.New(20, true, t0)
	began := t0.Add(time.Minute)
	l.Observe(began, sizing.Poll{Occupied: 20, Waiting: 9, Open: boots(0, 20, began, 0, sizing.Open)})
	up := func(at time.Duration, from int, frozen bool) int {
		l.Observe(began.Add(at), sizing.Poll{Occupied: 20, Waiting: 9, Frozen: frozen, Settled: boots(from, 20, began, at, sizing.Up)})
		return len(l.Record().Windows)
	}
	if n := up(time.Minute, 0, true); n != 0 {
		t.Errorf("%d windows judged while it is open", n)
	}
	if n := up(2*time.Minute, 100, true); n != 0 {
		t.Errorf("%d windows of what came while it was open", n)
	}
	if n := up(3*time.Minute, 200, false); n != 0 {
		t.Errorf("%d windows of boots that began while it was open", n)
	}
}

// What windows show is kept from the first one on.
func TestEachWindowIsKept(t *testing.T) {
	l, now := sizing.New(20, true, t0), t0
	for n := range 3 {
		began := now.Add(time.Second)
		now = now.Add(3 * time.Minute)
		l.Observe(now, sizing.Poll{
			Occupied: 20, Waiting: 9, Settled: boots(100*n, 20, began, 2*time.Minute, sizing.Up), Open: boots(100*n+50, 1, began, 2*time.Minute, sizing.Open),
		})
		if all := l.Record().Windows; len(all) != n+1 || all[n].Booting != 1 || all[n].Up == 0 || all[n].Occupied != 20 {
			t.Errorf("after %d windows: %+v", n+1, all)
		}
	}
}

// SZ-6: a limit is cut for three boots and for 8 % of those that ended one way or the other, with four of five slots
// taken; SZ-10: not while a breaker is open.
func TestSZ6_WhatCuts(t *testing.T) {
	for _, row := range []struct {
		lost, up, unknown, occupied int
		frozen, cuts                bool
	}{
		{3, 10, 0, 20, false, true},
		{2, 10, 0, 20, false, false},
		{3, 10, 0, 16, false, true},
		{3, 10, 0, 15, false, false},
		{3, 34, 0, 20, false, true},
		{3, 35, 0, 20, false, false},
		{3, 10, 60, 20, false, true}, // that ended on purpose
		{9, 10, 0, 20, true, false},
	} {
		l := sizing.New(20, true, t0)
		began := t0.Add(time.Minute)
		if row.frozen {
			l.Observe(began, sizing.Poll{Occupied: row.occupied, Frozen: true})
		}
		settled := slices.Concat(
			boots(0, row.up, began, 3*time.Minute, sizing.Up), boots(200, row.unknown, began, 3*time.Minute, sizing.Unknown),
			boots(400, row.lost, began, 30*time.Minute, sizing.Failed),
		)
		l.Observe(began.Add(30*time.Minute), sizing.Poll{Occupied: row.occupied, Waiting: 9, Frozen: row.frozen, Settled: settled})
		if r := l.Record(); (r.Bad > 0) != row.cuts || row.cuts && (r.Bad != row.occupied || r.Limit >= 20) {
			t.Errorf("%+v: limit %d, bad %d", row, r.Limit, r.Bad)
		}
	}
}
