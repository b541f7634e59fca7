package fairshare

import (
	"math/rand/v2"
	"slices"
	"time"
)

// generator makes histories up. Each leans towards something: to many asks, to
// jumps of the clock, to silence, to errors.
type generator struct {
	*rand.Rand
	pace    time.Duration // typical time between two steps
	jumps   bool          // of the clock
	errors  int           // typical count
	foreign bool
	weird   bool // holds, bars, planned work, new settings
	turn    int
}

func newGenerator(r *rand.Rand) *generator {
	return &generator{
		Rand: r, jumps: r.IntN(4) == 0, errors: pick(r, 0, 0, 1, 3, 9), foreign: r.IntN(3) == 0, weird: r.IntN(2) == 0,
		pace: pick(r, 0, 100*time.Millisecond, time.Second, 5*time.Second, 20*time.Second, time.Minute),
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func (g *generator) start(hosts, tenants int) history {
	h := history{cfg: g.config(tenants)}
	for range hosts {
		// Some tenants have many hosts, others few.
		h.tenants = append(h.tenants, tenantName(g.IntN(1+g.IntN(tenants))))
	}
	return h
}

func tenantName(i int) string { return string(rune('a' + i)) }

func (g *generator) config(tenants int) Config {
	c := DefaultConfig(pick(g.Rand, 1, 1, 2, 2, 3, 4, 5, 8, 10, 1+g.IntN(50)))
	c.Ahead = pick(g.Rand, Auto, Auto, 0, 1, 2, 3, 8)
	c.Overtake = pick(g.Rand, Auto, 1, 1, 2, 3, 5, 10)
	c.RedeemAfter = pick(g.Rand, 2*time.Second, time.Millisecond, time.Second, 30*time.Second)
	c.ClaimWindow = pick(g.Rand, 10*time.Second, time.Minute, 3*time.Minute, time.Hour)
	c.Threshold = pick(g.Rand, 2, 2, 1, 5, 9)
	if g.IntN(3) == 0 {
		c.Cap = 1 + g.IntN(c.Limit)
		c.Reserve = g.IntN(c.Limit - c.Cap + 1)
	}
	for i := range tenants {
		if g.IntN(2) == 0 {
			if c.Weights == nil {
				c.Weights = map[string]float64{}
			}
			c.Weights[tenantName(i)] = pick(g.Rand, 0.01, 0.3, 0.5, 1, 2, 3, 7, 100)
		}
	}
	return c
}

func (g *generator) next(r *run) step {
	s := step{after: g.after()}
	switch n := g.IntN(100); {
	case n < 60:
		s.verb, s.host, s.arg = "ask", g.asker(r), g.count()
	case n < 75:
		s.verb, s.host = "release", g.some(r, Holding)
		if g.IntN(4) == 0 {
			s.arg = 1 + g.IntN(2)
		}
	case n < 85:
		s.verb = "update"
	case n < 88:
		s.verb, s.host = "leave", g.IntN(len(r.slots))
	case n < 91:
		s.verb, s.host, s.arg = "refused", g.asker(r), g.count()
	case n < 92:
		s.verb, s.host, s.arg = "peek", g.asker(r), g.count()
	case n < 94 && g.foreign:
		s.verb, s.arg = "foreign", g.IntN(r.limit+3)-1
	case !g.weird:
		s.verb, s.host, s.arg = "ask", g.some(r, Called), g.count()
	case n < 95:
		s.verb, s.host = "bar", g.IntN(len(r.slots))
	case n < 96:
		s.verb, s.host, s.arg = "hold", g.IntN(len(r.slots)), g.count()-1
	case n < 97:
		s.verb, s.host, s.arg = "told", g.some(r, Holding), g.count()
	case n < 98:
		s.verb, s.host, s.arg = "planned", g.some(r, Absent), 1+g.IntN(3)
	default:
		c := g.config(6)
		s.verb, s.cfg = "configure", &c
	}
	return s
}

// after draws how long nothing happens: mostly little, and at times the clock jumps.
func (g *generator) after() time.Duration {
	switch n := g.IntN(20); {
	case n < 8 || g.pace == 0 && n < 17:
		return 0
	case g.jumps && n == 18:
		return -time.Duration(g.IntN(100)) * time.Second
	case g.jumps && n == 19:
		return time.Duration(g.IntN(300)) * time.Minute
	case n < 15:
		return time.Duration(g.Int64N(int64(2*g.pace) + 1)).Round(time.Millisecond)
	default:
		return pick(g.Rand, time.Second, 3*time.Second, 30*time.Second, 90*time.Second)
	}
}

func (g *generator) count() int {
	if g.errors == 0 || g.IntN(3) == 0 {
		return 0
	}
	return g.IntN(g.errors + 2)
}

// asker is anybody, whose turn it is in a round of all, or somebody called.
func (g *generator) asker(r *run) int {
	switch g.IntN(4) {
	case 0:
		return g.IntN(len(r.slots))
	case 1:
		return g.some(r, Called)
	}
	g.turn++
	return g.turn % len(r.slots)
}

// some is a host of that state where there is one.
func (g *generator) some(r *run, state State) int {
	var all []int
	for i := range r.slots {
		if r.state(i) == state {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return g.IntN(len(r.slots))
	}
	return pick(g.Rand, slices.Clip(all)...)
}
