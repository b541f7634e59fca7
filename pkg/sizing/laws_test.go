package sizing_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// Whatever polls show, and however often ceiling and process change: the limit is from 1 to the ceiling,
// and what is known can be kept and read.
func TestSZ8_SZ7_TheLimitStaysWithinTheCeilingWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ceiling, adaptive := rapid.IntRange(1, 60).Draw(t, "ceiling"), rapid.Bool().Draw(t, "adaptive")
		l, now := sizing.New(ceiling, adaptive, t0), t0
		open := map[string]time.Time{}
		for step := range rapid.IntRange(1, 120).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(-60, 600).Draw(t, "seconds")) * time.Second)
			switch rapid.IntRange(0, 20).Draw(t, "what") {
			case 0:
				ceiling = rapid.IntRange(1, 60).Draw(t, "new ceiling")
				l.SetCeiling(now, ceiling)
			case 1:
				text, err := sizing.State{Pools: map[string]sizing.Record{"": l.Record()}}.Text()
				if err != nil {
					t.Fatal(err)
				}
				s, err := sizing.ParseState(text)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(l.Record(), s.Pools[""], cmpopts.EquateEmpty()); diff != "" {
					t.Fatal(diff)
				}
				l = sizing.New(ceiling, adaptive, now)
				l.Restore(now, s.Pools[""])
			}
			p := sizing.Poll{Frozen: rapid.IntRange(0, 9).Draw(t, "frozen") == 0, Waiting: rapid.IntRange(0, 3).Draw(t, "waiting")}
			for host, began := range open {
				b := sizing.Boot{Host: host, Kind: "clean wait", Began: began, Took: now.Sub(began)}
				if b.End = rapid.SampledFrom([]sizing.End{sizing.Open, sizing.Open, sizing.Up, sizing.Failed, sizing.Unknown}).Draw(t, "end"); b.End == sizing.Open {
					p.Open = append(p.Open, b)
				} else {
					p.Settled = append(p.Settled, b)
					delete(open, host)
				}
			}
			for i := range rapid.IntRange(0, 30).Draw(t, "new") {
				host := fmt.Sprint(step, "-", i)
				open[host] = now
				p.Open = append(p.Open, sizing.Boot{Host: host, Kind: "clean wait", Began: now})
			}
			p.Occupied = len(p.Open)
			was := l.Limit()
			if changed := l.Observe(now, p); changed != (l.Limit() != was) {
				t.Fatalf("from %d to %d, and changed is %v", was, l.Limit(), changed)
			}
			if got := l.Limit(); got < 1 || got > ceiling || !adaptive && got != ceiling {
				t.Fatalf("limit %d with a ceiling of %d", got, ceiling)
			}
			if a := l.Advice(now); a.Evidence == "" || (a.Limit == 0) != (a.Verdict == sizing.NotEnough) {
				t.Fatalf("%+v", a)
			}
		}
	})
}

func FuzzParseState(f *testing.F) {
	s := newSite(60, cliff(20))
	s.run(2 * time.Hour)
	text, err := sizing.State{Pools: map[string]sizing.Record{"": s.l.Record(), "rack1": {Limit: 3}}}.Text()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	for _, seed := range []string{`{}`, `{"version":2}`, `{"version":1,"pools":{"":{"limit":0}}}`, `{"version":1,"pools":{"":{"limit":5,"bad":9,"stood":10}}}`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := sizing.ParseState(text)
		if err != nil {
			return
		}
		for _, r := range s.Pools {
			l := sizing.New(40, true, t0)
			l.Restore(t0, r)
			if got := l.Limit(); got < 1 || got > 40 {
				t.Fatalf("limit %d of %+v", got, r)
			}
			l.Observe(t0, sizing.Poll{Occupied: 5})
			_ = l.Advice(t0)
		}
		if _, err := s.Text(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestParseStateSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"version":2}`: "limits: version: 2 is not 1",
		`{"version":1,"pools":{"rack1":{"limit":0}}}`:                                              `limits: pool "rack1": limit: 0 is not 1..100000`,
		`{"version":1,"pools":{"":{"limit":5,"bad":3,"stood":4}}}`:                                 `limits: pool "": bad, stood: 3, 4 are not 0..100000, the second one not above the first`,
		`{"version":1,"pools":{"":{"limit":5,"base":{"x":{"mean":99,"n":1}}}}}`:                    `limits: pool "": base: "x": mean 99 of 1 boots cannot be`,
		`{"version":1,"pools":{"":{"limit":5,"windows":[{"limit":-1,"occupied":1,"booting":1}]}}}`: `limits: pool "": windows: a number is out of range`,
	} {
		if _, err := sizing.ParseState([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
