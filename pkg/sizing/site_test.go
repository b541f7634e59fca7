package sizing_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

var t0 = time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)

// site is hosts that boot, one boot each, as many at once as a Limiter allows, polled every 5 s.
type site struct {
	l     *sizing.Limiter
	now   time.Time
	rng   *rand.Rand
	open  []sizing.Boot
	ends  map[string]time.Time // when it comes up; absent: never
	hosts int
	ups   int
	took  boots
	gives time.Duration // when Ironic gives up a boot
	seen  func(sizing.Poll)
}

// boots draws how long a boot takes that begins beside others; 0: it is lost.
type boots func(s *site) time.Duration

func newSite(ceiling int, took boots) *site {
	return &site{
		l: sizing.New(ceiling, true, t0), now: t0, rng: rand.New(rand.NewPCG(1, 2)), ends: map[string]time.Time{},
		took: took, gives: 30 * time.Minute,
	}
}

// usual is a boot without load.
func (s *site) usual() time.Duration { return time.Duration(100+s.rng.IntN(120)) * time.Second }

// alive is how many of the open boots will come up.
func (s *site) alive() (n int) {
	for _, b := range s.open {
		if _, comes := s.ends[b.Host]; comes {
			n++
		}
	}
	return n
}

func healthy(s *site) time.Duration { return s.usual() }

func nothing(*site) time.Duration { return 0 }

// cliff loses seven of ten boots beyond so many at once.
func cliff(most int) boots {
	return func(s *site) time.Duration {
		if s.alive() >= most && s.rng.IntN(10) < 7 {
			return 0
		}
		return time.Duration(float64(s.usual()) * max(1, 1.25*float64(s.alive())/float64(most)))
	}
}

// link slows boots down, and loses none.
func link(most int) boots {
	return func(s *site) time.Duration {
		return time.Duration(float64(s.usual()) * (1 + float64(len(s.open))/float64(most)))
	}
}

// oneIn never boots.
func oneIn(each int) boots {
	return func(s *site) time.Duration {
		if s.rng.IntN(each) == 0 {
			return 0
		}
		return s.usual()
	}
}

// run polls for so long.
func (s *site) run(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(5 * time.Second)
		p := sizing.Poll{Waiting: 1}
		for _, b := range s.open {
			b.Took = s.now.Sub(b.Began)
			up, comes := s.ends[b.Host]
			switch {
			case comes && !s.now.Before(up):
				b.End = sizing.Up
				s.ups++
			case b.Took > s.gives:
				b.End = sizing.Failed
			default:
				p.Open = append(p.Open, b)
				continue
			}
			p.Ended = append(p.Ended, b)
		}
		s.open = p.Open
		for ; len(s.open) < s.l.Limit(); s.hosts++ {
			b := sizing.Boot{Host: fmt.Sprint("host-", s.hosts), Kind: "wait call-back", Began: s.now}
			if took := s.took(s); took > 0 {
				s.ends[b.Host] = s.now.Add(took)
			}
			s.open = append(s.open, b)
		}
		p.Open, p.Occupied = s.open, len(s.open)
		s.l.Observe(s.now, p)
		if s.seen != nil {
			s.seen(p)
		}
	}
}

// mean runs for so long, and returns the mean limit.
func (s *site) mean(d time.Duration) int {
	sum, n := 0, 0
	s.seen = func(sizing.Poll) { sum, n = sum+s.l.Limit(), n+1 }
	s.run(d)
	return sum / n
}
