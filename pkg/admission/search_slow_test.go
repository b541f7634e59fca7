package admission

import (
	"slices"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// The history that showed it: a slow conductor group beside a fast total, and the other
// way round.
func TestF3_ASlowPoolBesideAFastOne(t *testing.T) {
	whole(t)
	t.Parallel()
	fast, slow := [2]time.Duration{3400 * time.Millisecond, 3400 * time.Millisecond}, [2]time.Duration{90 * time.Second, 90 * time.Second}
	for _, c := range []struct {
		name       string
		group      string // the slow one
		limit      int
		fastLimits map[string]int
	}{
		{"a group", "g1", 1, nil},
		{"the total", "", 0, map[string]int{"g2": 2}},
		{"the total, two groups", "", 0, map[string]int{"g2": 1, "g3": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.Slots.Total, cfg.Slots.StuckAfter, cfg.Slots.StuckCap, cfg.Slots.Groups = 2, 0, 0, map[string]int{}
			pools := []slots.Pool{{Group: c.group}}
			if c.group != "" {
				cfg.Slots.Groups[c.group] = c.limit
				pools = append(pools, slots.Pool{})
			}
			for name, limit := range c.fastLimits {
				cfg.Slots.Groups[name] = limit
				pools = append(pools, slots.Pool{Group: name})
			}
			slices.SortFunc(pools[1:], func(a, b slots.Pool) int { return len(a.Group) - len(b.Group) })
			works := [2]time.Duration{5 * time.Minute, 15 * time.Minute}
			var guests []poolGuest
			for i := range 40 {
				g := poolGuest{pool: pools[0], gap: slow, works: works, tenant: "a"}
				if i >= 5 {
					g.pool, g.gap = pools[1+i%(len(pools)-1)], fast
				}
				guests = append(guests, g)
			}
			w := newPoolWorld(1, cfg, guests)
			w.live(12 * time.Hour)
			if w.broken != "" {
				t.Error(w.broken)
			}
			mean := float64(w.grants) / 40
			if got := float64(w.served[pools[0]]) / 5; got < mean/3 {
				t.Errorf("a host of the slow pool got %.1f slots, one of all %.1f; longest waits %v", got, mean, w.longest)
			}
			t.Logf("%d grants %v, longest waits %v, a wanted slot was free for %v at most", w.grants, w.served, w.longest, w.slowest)
		})
	}
}
