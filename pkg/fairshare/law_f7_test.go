package fairshare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// F-7: above its part w/sum(w) no tenant gains by claiming errors, asking more often, or listing more hosts.
func TestF7_NobodyGainsByCheating(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		c := drawCheat(r)
		if err := c.play(r, rapid.IntRange(40, 100).Draw(t, "steps")); err != nil {
			t.Fatalf("%v\n%+v", err, c)
		}
	})
}

// cheat is a world in which all tenants want more slots than there are, and the
// first one does something in order to get more.
type cheat struct {
	tenants, limit, ahead int
	faster                bool // asks every second
	more                  int  // lists so many hosts more
	ghosts                int  // of these ask once and never again
	errors                int  // claims so many, for a part of its hosts or all
	errorsOf              int  // one host in so many
}

func drawCheat(r *rand.Rand) cheat {
	c := cheat{tenants: 2 + r.IntN(2), limit: 1 + r.IntN(3), ahead: r.IntN(2), faster: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		c.more = r.IntN(10)
		c.ghosts = r.IntN(c.more + 1)
	}
	if r.IntN(2) == 0 {
		c.errors, c.errorsOf = 1+r.IntN(9), 1+r.IntN(3)
	}
	return c
}

func (c cheat) play(r *rand.Rand, steps int) error {
	w := &world{Rand: r, cfg: DefaultConfig(c.limit), now: worldStart}
	w.cfg.Ahead = c.ahead
	w.cfg.Weights = map[string]float64{}
	var names []string
	for tenant := range c.tenants {
		w.cfg.Weights[tenantName(tenant)] = pick(r, 0.5, 1, 1, 2)
		hosts := 3 + c.limit + c.ahead
		if tenant == 0 {
			hosts += c.more
		}
		for i := range hosts {
			g := guest{tenant: tenant, every: [2]time.Duration{60 * time.Second, 120 * time.Second}, next: w.now.Add(w.within(0, time.Second))}
			if tenant == 0 {
				g = c.cheater(g, i)
			}
			w.hosts, names = append(w.hosts, g), append(names, tenantName(tenant))
		}
	}
	s, err := newActual(w.cfg, names)
	if err != nil {
		return err
	}
	w.turns, w.laws = s, []namedLaw{{"F-7", &partLaw{}}}
	w.weigh()
	return w.live(traits{workMin: time.Second, workRange: 5 * time.Minute}, steps)
}

func (c cheat) cheater(g guest, i int) guest {
	switch {
	case i < c.ghosts:
		g.every = [2]time.Duration{24 * time.Hour, 48 * time.Hour}
	case c.faster:
		g.every = [2]time.Duration{time.Second, time.Second}
	}
	if c.errors > 0 && i%c.errorsOf == 0 {
		g.errors = c.errors
	}
	return g
}

// partLaw holds the first tenant to its part of the grants, counted from when all
// tenants have waiters and no slot is free, up to the slack that F-2 leaves.
type partLaw struct {
	began    bool
	grants   [maxTenants]int64
	uncalled bool
}

func (l *partLaw) check(w *world) error {
	var waits [maxTenants]bool
	last := 0
	for i := range w.hosts {
		h := &w.hosts[i]
		last = max(last, h.tenant)
		if h.state == Waiting {
			waits[h.tenant] = true
		}
	}
	if slices.Contains(waits[1:last+1], false) {
		*l = partLaw{} // others want nothing: what is left is anybody's
		return nil
	}
	l.began = l.began || waits[0] && w.free() <= 0
	if !l.began {
		return nil
	}
	l.uncalled = l.uncalled || len(w.event.uncalled) > 0
	if w.event.answer.Yes {
		l.grants[w.hosts[w.event.host].tenant]++
	}
	return l.weigh(w, last+1)
}

func (l *partLaw) weigh(w *world, tenants int) error {
	var weights, all, slack float64
	own := 1 / float64(w.quanta[0])
	c := 1.0
	if l.uncalled {
		c += float64(w.most)
	}
	for j := range tenants {
		weights += 1 / float64(w.quanta[j])
		all += float64(l.grants[j])
		if j > 0 {
			slack += c * (1 + float64(w.quanta[0])/float64(w.quanta[j]))
		}
	}
	most := own/weights*(all+slack) + float64(w.most)
	if got := float64(l.grants[0]); got > most {
		return fmt.Errorf("the first tenant got %v of %v grants, more than %.1f", got, all, most)
	}
	return nil
}
