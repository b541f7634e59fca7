package slots

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Moments must compare as the times themselves do, whenever the
// ledger starts, and of the zero time that it is longer ago than any setting.
func TestMomentsCompareAsTimesDo(t *testing.T) {
	const decades = 50 * 365 * 24 * time.Hour
	rapid.Check(t, func(t *rapid.T) {
		start := time.Unix(rapid.Int64Range(-1<<31, 1<<33).Draw(t, "start"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		l, err := New(DefaultConfig(), start)
		if err != nil {
			t.Fatal(err)
		}
		draw := func(name string) time.Time {
			if rapid.IntRange(0, 9).Draw(t, name+" is zero") == 0 {
				return time.Time{}
			}
			return start.Add(time.Duration(rapid.Int64Range(-int64(decades), int64(decades)).Draw(t, name)))
		}
		a, b := draw("a"), draw("b")
		d := time.Duration(rapid.Int64Range(0, int64(maxDuration)).Draw(t, "d"))
		if rapid.Bool().Draw(t, "exactly") && !a.IsZero() {
			b = a.Add(d)
		}
		if got, want := passed(l.moment(a), l.moment(b), d), b.Sub(a) >= d; got != want {
			t.Errorf("%v from %v to %v has passed: %v, want %v", d, a, b, got, want)
		}
		if got, want := beyond(l.moment(a), l.moment(b), d), b.Sub(a) > d; got != want {
			t.Errorf("more than %v from %v to %v: %v, want %v", d, a, b, got, want)
		}
		if got, want := l.moment(a) < l.moment(b), a.Before(b); got != want {
			t.Errorf("%v is before %v: %v, want %v", a, b, got, want)
		}
		if got := l.moment(a) == never; got != a.IsZero() {
			t.Errorf("%v is never: %v", a, got)
		}
	})
}

func TestMomentsAtTheEdges(t *testing.T) {
	start := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	l, err := New(DefaultConfig(), start)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		at   time.Time
		want moment
	}{
		{time.Time{}, never},
		{start, started},
		{start.Add(-time.Nanosecond), started - 1},
		{start.Add(-century), never},
		{start.Add(-century - time.Hour), never},
		{start.AddDate(1000, 0, 0), math.MaxInt64},
		{start.AddDate(-1000, 0, 0), never},
	} {
		if got := l.moment(row.at); got != row.want {
			t.Errorf("%v is moment %d, want %d", row.at, got, row.want)
		}
	}
	if l.at != started {
		t.Errorf("a ledger starts at moment %d, want %d", l.at, started)
	}
}
