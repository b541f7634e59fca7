package fairshare

import (
	"math/rand/v2"
	"testing"
	"time"
)

// foreseen is a Scheduler of two slots of which so many have ended, of each kind after the given time.
func foreseen(t *testing.T, n int, took map[Kind]time.Duration) (s *Scheduler, now time.Time) {
	t.Helper()
	s, err := New(DefaultConfig(2))
	if err != nil {
		t.Fatal(err)
	}
	now = worldStart
	for kind, d := range took {
		for range n {
			h := NewHost("", "t")
			s.Wants(h, kind)
			if a := s.Ask(now, 2, h, 0); !a.Yes {
				t.Fatalf("%+v", a)
			}
			now = now.Add(d)
			s.Release(now, h, Finished)
			s.Update(now, 2)
		}
	}
	return s, now
}

// tells is what the fourth host is told, after three that want work of one kind.
func tells(s *Scheduler, now time.Time, k Kind) Answer {
	for range 3 {
		h := NewHost("", "t")
		s.Wants(h, k)
		s.Ask(now, 0, h, 0)
	}
	return s.Ask(now.Add(2*time.Second), 0, NewHost("", "t"), 0)
}

// What those before a host want says how long it waits.
func TestF12_ForecastByKind(t *testing.T) {
	took := map[Kind]time.Duration{1: 2 * time.Minute, 2: 20 * time.Minute}
	s, now := foreseen(t, 40, took)
	short := tells(s, now, 1)
	s, now = foreseen(t, 40, took)
	long := tells(s, now, 2)
	if short.Expect < 3*time.Minute || short.Expect > 12*time.Minute || long.Expect < 3*short.Expect {
		t.Errorf("behind three of 2 min %v, behind three of 20 min %v", short.Expect, long.Expect)
	}
	if short.AtMost < 3*short.Expect/2 || long.AtMost < 3*long.Expect/2 {
		t.Errorf("%+v, %+v: no honest range", short, long)
	}
}

// Of work that nobody has seen end nobody can tell, though other work is known well; when some has
// ended, the range is wide, and gets narrower.
func TestF12_ForecastOfTheUnseen(t *testing.T) {
	s, now := foreseen(t, 40, map[Kind]time.Duration{1: time.Minute})
	if a := tells(s, now, 2); a.Expect != Unmeasured || a.AtMost != Unmeasured {
		t.Errorf("%+v", a)
	}
	wide := 0.0
	for i, n := range []int{5, 20, 200} {
		s, now := foreseen(t, n, map[Kind]time.Duration{1: 10 * time.Minute})
		a := tells(s, now, 1)
		width := float64(a.AtMost) / float64(a.Expect)
		if a.Expect <= 0 || i > 0 && width >= wide {
			t.Errorf("after %d slots %+v, %.2f times, before %.2f", n, a, width, wide)
		}
		wide = width
	}
}

// The first slots to end are the shortest. Those that go on count as well.
func TestF12_ForecastOfSlotsThatGoOn(t *testing.T) {
	expects := func(old time.Duration) time.Duration {
		s, now := foreseen(t, enoughEnded, map[Kind]time.Duration{0: 2 * time.Minute})
		for range 2 {
			if a := s.Ask(now, 2, NewHost("", "t"), 0); !a.Yes {
				t.Fatalf("%+v", a)
			}
		}
		return tells(s, now.Add(old), 0).Expect
	}
	if fresh, old := expects(0), expects(20*time.Minute); old < 2*fresh {
		t.Errorf("%v, and while two go on for 20 min %v", fresh, old)
	}
}

// The counts of the forecast are those of the hosts, whatever happens.
func TestF12_ForecastCounts(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		s, err := New(DefaultConfig(4))
		if err != nil {
			t.Fatal(err)
		}
		var hosts []*Host
		for range 20 {
			hosts = append(hosts, NewHost("", string(rune('a'+r.IntN(3)))))
		}
		now := worldStart
		for step := range 1000 {
			now = now.Add(time.Duration(r.IntN(20)) * time.Second)
			h := hosts[r.IntN(len(hosts))]
			free := 4 - s.lane[Healthy].holding - s.lane[Failing].holding
			switch r.IntN(12) {
			case 0:
				s.Suspend(now, h)
			case 1:
				s.Leave(now, h)
			case 2:
				s.Hold(now, h, r.IntN(4)-1)
			case 3, 4, 5:
				s.Release(now, h, End(r.IntN(3)))
			case 6:
				s.Wants(h, Kind(r.IntN(kinds)))
			default:
				s.Ask(now, free, h, r.IntN(4))
			}
			s.Update(now, max(0, 4-s.lane[Healthy].holding-s.lane[Failing].holding))
			var want forecast
			for _, h := range hosts {
				want.moved(h, Absent, h.state)
			}
			if got := s.forecast; got.queued != want.queued || got.running != want.running || got.sinceSum != want.sinceSum {
				t.Fatalf("seed %d, step %d: %+v, want %+v", seed, step, got, want)
			}
			if half, most := s.Last(); most < half {
				t.Fatalf("seed %d, step %d: %v to %v", seed, step, half, most)
			}
		}
	}
}

// The last host of a queue is a failing one; while their lane is shut it waits for one of its slots.
func TestF12_TheLastHostIsOneThatMayNotStart(t *testing.T) {
	s, err := New(DefaultConfig(20))
	if err != nil {
		t.Fatal(err)
	}
	now, free := worldStart, 20
	for range 300 {
		h := NewHost("", "t")
		s.Ask(now, free, h, 0)
		now = now.Add(10 * time.Minute)
		s.Release(now, h, Finished)
		s.Update(now, free)
	}
	for i := range 105 {
		name, errors := "healthy", 0
		if i < 5 || i >= 65 {
			name, errors = "failing", 5
		}
		if s.Ask(now, free, NewHost(name, "t"), errors).Yes {
			free--
		}
	}
	v := s.View(now, 1000)
	last := v.Hosts[len(v.Hosts)-1]
	if v.FailingOpen || last.Lane != Failing {
		t.Fatalf("open %v, last %+v: this is not what the test is about", v.FailingOpen, last)
	}
	if half, most := s.Last(); half != last.Expect || most != last.AtMost {
		t.Errorf("the last host is told %v to %v, the queue says %v to %v", last.Expect, last.AtMost, half, most)
	}
}
