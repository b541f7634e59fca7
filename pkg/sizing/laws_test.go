package sizing_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// TestMain has 30 histories of each law; make search sets more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	m.Run()
}

// restarted returns a Limiter of a new process, which knows what l has left behind.
func restarted(t *rapid.T, l *sizing.Limiter, adaptive bool, now time.Time) *sizing.Limiter {
	text, err := sizing.State{Pools: map[string]sizing.Record{"": l.Record()}}.Text()
	s, wrong := sizing.ParseState(text)
	if err != nil || wrong != nil {
		t.Fatal(err, wrong)
	}
	next := sizing.New(l.Ceiling(), adaptive, now)
	next.Restore(now, s.Pools[""])
	if diff := cmp.Diff(l.Record(), next.Record(), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(sizing.Record{}, "BadAt")); diff != "" {
		t.Fatal(diff) // BadAt may lie ahead of a clock that was wrong
	}
	return next
}

// Whatever polls show, and however often ceiling and process change: the limit is from 1 to the ceiling, what is known
// can be kept and read, and who sees the same comes to the same limit.
func TestTheLimitStaysWithinTheCeilingWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ceiling, adaptive := rapid.IntRange(1, 60).Draw(t, "ceiling"), rapid.Bool().Draw(t, "adaptive")
		l, twin, now := sizing.New(ceiling, adaptive, t0), sizing.New(ceiling, adaptive, t0), t0
		var open []sizing.Boot
		for step := range rapid.IntRange(1, 120).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(-60, 600).Draw(t, "seconds")) * time.Second)
			switch rapid.IntRange(0, 20).Draw(t, "what") {
			case 0:
				ceiling = rapid.IntRange(1, 60).Draw(t, "new ceiling")
				l.SetCeiling(now, ceiling)
				twin.SetCeiling(now, ceiling)
			case 1:
				l, twin = restarted(t, l, adaptive, now), restarted(t, twin, adaptive, now)
			}
			p := sizing.Poll{Frozen: rapid.IntRange(0, 9).Draw(t, "frozen") == 0, Waiting: rapid.IntRange(0, 3).Draw(t, "waiting")}
			for _, b := range open {
				b.Took = now.Sub(b.Began)
				b.End = rapid.SampledFrom([]sizing.End{sizing.Open, sizing.Open, sizing.Up, sizing.Failed, sizing.Unknown}).Draw(t, "end")
				to := &p.Ended
				if b.End == sizing.Open {
					to = &p.Open
				}
				*to = append(*to, b)
			}
			for i := range rapid.IntRange(0, 30).Draw(t, "new") {
				p.Open = append(p.Open, sizing.Boot{Host: fmt.Sprint(step, "-", i), Kind: "clean wait", Began: now})
			}
			open, p.Occupied = p.Open, len(p.Open)
			was, changed, _ := l.Limit(), l.Observe(now, p), twin.Observe(now, p)
			got := l.Limit()
			if got < 1 || got > ceiling || !adaptive && got != ceiling || got != twin.Limit() || changed != (got != was) {
				t.Fatalf("limit %d and %d, before %d, with a ceiling of %d, changed %v", got, twin.Limit(), was, ceiling, changed)
			}
			if a := l.Advice(now); a.Evidence == "" || (a.Limit == 0) != strings.HasPrefix(a.Evidence, "not enough evidence") || a.Limit < 0 {
				t.Fatalf("%+v", a)
			}
		}
	})
}

// Whatever a site goes through, some hours after all is well again the limit is back at the ceiling.
func TestALimitAlwaysComesBack(t *testing.T) {
	troubles := map[string]boots{
		"none": healthy, "outage": nothing, "cliff of 12": cliff(12), "cliff of 3": cliff(3), "link": link(10),
		"one in 3": oneIn(3), "one in 10": oneIn(10),
	}
	rapid.Check(t, func(t *rapid.T) {
		s := newSite(rapid.IntRange(1, 80).Draw(t, "ceiling"), healthy)
		s.run(time.Duration(rapid.IntRange(0, 60).Draw(t, "minutes of peace")) * time.Minute)
		for range rapid.IntRange(1, 4).Draw(t, "troubles") {
			s.took = troubles[rapid.SampledFrom(slices.Sorted(maps.Keys(troubles))).Draw(t, "trouble")]
			s.run(time.Duration(rapid.IntRange(1, 180).Draw(t, "minutes")) * time.Minute)
			if rapid.Bool().Draw(t, "restart") {
				s.l = restarted(t, s.l, true, s.now)
			}
		}
		s.took = healthy
		s.run(8 * time.Hour)
		if got, ceiling := s.l.Limit(), s.l.Ceiling(); got != ceiling {
			t.Fatalf("limit %d of %d after eight hours: %+v", got, ceiling, s.l.Record())
		}
	})
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte(`{"version":2,"pools":{"":{"limit":5,"bad":9,"stood":9,"badPart":1,"usual":0.5,"least":{"x":-1},"windows":[{}]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		state, err := sizing.ParseState(text)
		for _, r := range state.Pools {
			s := newSite(40, healthy)
			s.l.Restore(t0, r)
			s.run(20 * time.Minute)
			if got := s.l.Limit(); err != nil || got < 1 || got > 40 || s.l.Advice(t0).Limit < 0 {
				t.Fatalf("%v, limit %d of %+v", err, got, r)
			}
		}
	})
}

func TestParseStateSaysWhatIsWrong(t *testing.T) {
	const wrong = `limits: pool "": a number is out of range`
	for text, want := range map[string]string{
		`{"version":1}`: "limits: version: 1 is not 2",
		`{"version":3}`: "limits: version: 3 is not 2",
		`{`:             "limits: unexpected end of JSON input",
		`{"version":2,"pools":{"rack1":{"limit":0}}}`:                   `limits: pool "rack1": a number is out of range`,
		`{"version":2,"pools":{"":{"limit":5,"bad":3,"stood":4}}}`:      wrong,
		`{"version":2,"pools":{"":{"limit":5,"bad":3}}}`:                wrong,
		`{"version":2,"pools":{"":{"limit":5,"usual":1.5}}}`:            wrong,
		`{"version":2,"pools":{"":{"limit":5,"badPart":-1,"stood":0}}}`: wrong,
	} {
		if _, err := sizing.ParseState([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
