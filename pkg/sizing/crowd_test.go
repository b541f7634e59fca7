package sizing_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

var t0 = time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)

// boots are those of n hosts from the first one on.
func boots(first, n int, began time.Time, took time.Duration, end sizing.End) (all []sizing.Boot) {
	for i := range n {
		all = append(all, sizing.Boot{Host: fmt.Sprint("host-", first+i), Kind: "deploy wait", Began: began, Took: took, End: end})
	}
	return all
}

// What boots of many hosts at once have shown is read again by the next process.
func TestSZ7_WhatALargeSiteHasLearnedIsReadAgain(t *testing.T) {
	for _, ceiling := range []int{100, 200, 400, 2000} {
		l := sizing.New(ceiling, false, t0)
		began, most := t0.Add(time.Minute), ceiling
		now := began.Add(2 * time.Minute)
		l.Observe(began, sizing.Poll{Occupied: most, Waiting: 10, Open: boots(0, most, began, 0, sizing.Open)})
		l.Observe(now, sizing.Poll{Occupied: most, Waiting: 10, Settled: boots(0, most, began, 100*time.Second, sizing.Up)})
		text, err := sizing.State{Pools: map[string]sizing.Record{"": l.Record()}}.Text()
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Record().Base) == 0 {
			t.Fatal("nothing was learned")
		}
		if _, err := sizing.ParseState(text); err != nil {
			t.Errorf("limit %d: %v", ceiling, err)
		}
	}
}

// crowded is a Limiter whose slots were all taken by boots that came up in 100 s.
func crowded(t *testing.T, ceiling, occupied int, adaptive bool) (*sizing.Limiter, time.Time) {
	t.Helper()
	l := sizing.New(ceiling, adaptive, t0)
	l.Restore(t0, sizing.Record{Limit: ceiling})
	began := t0.Add(time.Minute)
	now := began.Add(2 * time.Minute)
	l.Observe(began, sizing.Poll{Occupied: occupied, Waiting: 10, Open: boots(0, occupied, began, 0, sizing.Open)})
	l.Observe(now, sizing.Poll{Occupied: occupied, Waiting: 10, Settled: boots(0, occupied, began, 100*time.Second, sizing.Up)})
	if len(l.Record().Base) == 0 || l.Record().Bad != 0 {
		t.Fatalf("%+v", l.Record())
	}
	return l, now
}

// losses lets half of the occupied slots boot for ten minutes in vain.
func losses(l *sizing.Limiter, now time.Time, occupied int) time.Time {
	began := now
	for range 10 {
		now = now.Add(time.Minute)
		l.Observe(now, sizing.Poll{Occupied: occupied, Waiting: 10, Open: boots(1000, occupied/2, began, now.Sub(began), sizing.Open)})
	}
	return now
}

// A ceiling that is lowered cuts the limit once. The boots that a crowd loses which is still larger
// than that say nothing about a limit so much lower.
func TestSZ8_ALowerCeilingIsNotBlamedForTheCrowdBefore(t *testing.T) {
	l, now := crowded(t, 60, 60, true)
	if l.Limit() != 60 {
		t.Fatalf("limit %d", l.Limit())
	}
	l.SetCeiling(now, 20)
	if l.Limit() != 20 {
		t.Fatalf("limit %d with a ceiling of 20", l.Limit())
	}
	losses(l, now, 60)
	if r := l.Record(); r.Limit != 20 || r.Bad > 0 && r.Bad <= 20 {
		t.Errorf("limit %d, bad %d: 60 hosts at once have lost boots, not 20", r.Limit, r.Bad)
	}
}

// The same after a restart: hosts that were at work go on to their next boot.
func TestSZ7_ALimitIsNotBlamedForTheCrowdBeforeARestart(t *testing.T) {
	before, now := crowded(t, 60, 60, true)
	r := before.Record()
	r.Limit = 20
	l := sizing.New(60, true, now)
	l.Restore(now, r)
	losses(l, now, 60)
	if r := l.Record(); r.Limit != 20 || r.Bad > 0 && r.Bad <= 20 {
		t.Errorf("limit %d, bad %d: 60 hosts at once have lost boots, not 20", r.Limit, r.Bad)
	}
}

// Where nobody is refused (mode observe, or hosts that others start), the crowd may be larger than
// the limit. That is what loses boots, and what a recommendation has to go by.
func TestSZ4_TheCrowdIsBlamedAndNotTheLimit(t *testing.T) {
	l, now := crowded(t, 20, 100, false)
	losses(l, now, 100)
	if r := l.Record(); r.Bad > 0 && r.Bad <= 20 {
		t.Errorf("bad %d: 100 hosts at once have lost boots", r.Bad)
	}
}

// What a late boot tells is told once the limit was cut for it, and of no other boot.
func TestSZ12_WhatTheLimitWasCutForIsKnown(t *testing.T) {
	for _, adaptive := range []bool{true, false} {
		l, now := crowded(t, 60, 60, adaptive)
		if l.CutFor("host-1000") {
			t.Error("before any boot")
		}
		began := now
		now = losses(l, now, 60) // of host-1000 to host-1029
		if l.Record().Bad == 0 {
			t.Fatal("not cut")
		}
		poll := sizing.Poll{Occupied: 60, Waiting: 10, Open: append(boots(1000, 30, began, now.Sub(began), sizing.Open), boots(2000, 2, now, 0, sizing.Open)...)}
		l.Observe(now, poll)
		if l.CutFor("host-1000") != adaptive || l.CutFor("host-1029") != adaptive {
			t.Errorf("adaptive %v: late when the limit was cut", adaptive)
		}
		late := now.Add(time.Hour)
		poll.Open = append(boots(1000, 29, began, late.Sub(began), sizing.Open), boots(2000, 1, now, late.Sub(now), sizing.Open)...)
		l.Observe(late, poll)
		for host, want := range map[string]bool{"host-1028": adaptive, "host-1029": false, "host-2000": false, "host-2001": false} {
			if l.CutFor(host) != want {
				t.Errorf("adaptive %v, %s, an hour later: %v, want %v", adaptive, host, !want, want)
			}
		}
	}
}

// outage is six hours in which no boot comes up: Ironic gives each up after half an hour, and another host takes its
// slot. Before it boots took 100 s, and slower times that. It returns how many failures a cut has answered, of all.
func outage(slower float64, ceiling int) (answered, all int) {
	l := sizing.New(ceiling, true, t0)
	l.Restore(t0, sizing.Record{Limit: ceiling})
	now := t0.Add(time.Second)
	for i, took := range []float64{100, 100 * slower} {
		began := now
		now = began.Add(time.Duration(took) * time.Second)
		l.Observe(now, sizing.Poll{Occupied: ceiling, Waiting: 99, Settled: boots(100*i, ceiling, began, now.Sub(began), sizing.Up)})
		now = now.Add(time.Second)
	}
	var open []sizing.Boot
	host, end := 10_000, now.Add(6*time.Hour)
	for ; now.Before(end); now = now.Add(10 * time.Second) {
		p := sizing.Poll{Waiting: 99}
		for _, b := range open {
			if b.Took = now.Sub(b.Began); b.Took < 30*time.Minute {
				p.Open = append(p.Open, b)
				continue
			}
			all++
			if l.CutFor(b.Host) {
				answered++
			}
			b.End = sizing.Failed
			p.Settled = append(p.Settled, b)
		}
		open, p.Occupied = p.Open, len(p.Open)
		l.Observe(now, p)
		for len(open) < l.Limit() {
			host++
			open = append(open, boots(host, 1, now, 0, sizing.Open)...)
		}
	}
	return answered, all
}

// Where no boot comes up at all, no limit is to blame: the breaker has to hear of it. However slow boots were before, the
// first crowd is the most that it is not told of.
func TestSZ12_AnOutageIsEvidence(t *testing.T) {
	for _, slower := range []float64{1, 1.3, 1.8} {
		for _, ceiling := range []int{20, 60, 200} {
			if answered, all := outage(slower, ceiling); answered > ceiling || all-answered < ceiling {
				t.Errorf("boots %v times slower, %d slots: a cut has answered %d of %d failures", slower, ceiling, answered, all)
			}
		}
	}
}
