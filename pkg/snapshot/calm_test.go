package snapshot

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// calm reports whether a hit of key reads no clock.
func calm[V any](c *Cache[string, V], key string) bool {
	synctest.Wait() // for a timer that is due
	return calmAtOnce(c, key)
}

func calmAtOnce[V any](c *Cache[string, V], key string) bool {
	return c.find(key).calm.Load() != nil
}

// TestGC1_AHitReadsTheClockOnlyShortlyBeforeADeadline, whichever comes first.
func TestGC1_AHitReadsTheClockOnlyShortlyBeforeADeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(s *source, o *Options[string, int])
		until  time.Duration
		hits   bool // at until still
	}{
		"MaxAge": {until: 30 * time.Second},
		"ahead": {
			change: func(_ *source, o *Options[string, int]) { o.Ahead = true },
			until:  26 * time.Second, hits: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				o := s.options()
				if tc.change != nil {
					tc.change(s, &o)
				}
				s.slow = takes(2 * time.Second)
				c := open(t, o)
				began := time.Now()
				first := get(t, c, "a")
				pass(tc.until - lead - 1 - time.Since(began))
				holds(t, "calm 1 ns too early", calm(c, "a"), true)
				holds(t, "pointer", get(t, c, "a"), first)
				pass(1)
				holds(t, "calm in time", calm(c, "a"), false)
				pass(lead - 1)
				holds(t, "pointer", get(t, c, "a"), first)
				pass(1)
				holds(t, "a hit at the deadline", get(t, c, "a") == first, tc.hits)
				synctest.Wait() // for the list ahead to begin
				pass(2 * time.Second)
				get(t, c, "a")
				holds(t, "calm again", calm(c, "a"), true)
			})
		})
	}
}

// TestGC1_ACalmHitTakesNoTime: were the clock read, then a start that is moved would
// make it a miss.
func TestGC1_ACalmHitTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		c := open(t, s.options())
		first := get(t, c, "a")
		c.start = c.start.Add(-time.Hour)
		holds(t, "pointer", get(t, c, "a"), first)
		c.start = c.start.Add(time.Hour)
		c.Refold("a") // calm or not, what happened counts
		if get(t, c, "a") == first {
			t.Error("a hit after another overlay")
		}
		s.wantsLists(t, 1)
		holds(t, "misses", c.Stats().Misses, Misses{Cold: 1, Overlay: 1})
	})
}

// TestGC1_WhoCannotBeCalm: nobody arms a timer where the clock is not the machine's, or
// where each Get asks.
func TestGC1_WhoCannotBeCalm(t *testing.T) {
	for name, change := range map[string]func(s *source, o *Options[string, int]){
		"clock":  func(_ *source, o *Options[string, int]) { o.Now = time.Now },
		"probed": func(s *source, o *Options[string, int]) { o.Probe = s.probe },
		"short":  func(_ *source, o *Options[string, int]) { o.MaxAge = lead },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				o := s.options()
				change(s, &o)
				c := open(t, o)
				first := get(t, c, "a")
				holds(t, "calm", calm(c, "a"), false)
				holds(t, "timer", c.find("a").timer == nil, true)
				pass(o.MaxAge - 1)
				holds(t, "pointer", get(t, c, "a"), first)
				pass(1)
				holds(t, "hit at MaxAge", get(t, c, "a") == first, false)
			})
		})
	}
}

// TestGC9_ATimerIsNotWrongForGood: one that fires after its entry was listed anew looks,
// and goes to sleep again.
func TestGC9_ATimerIsNotWrongForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newSource().options())
		get(t, c, "a")
		e := c.find("a")
		e.timer.Reset(0)
		holds(t, "calm", calm(c, "a"), true)
		pass(30*time.Second - lead)
		holds(t, "calm", calm(c, "a"), false)
	})
}

// TestCloseEndsTheTimer, and what still runs arms none.
func TestCloseEndsTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		c := open(t, s.options())
		get(t, c, "a")
		e := c.find("a")
		holds(t, "calm", e.calm.Load() != nil, true)
		c.Close()
		holds(t, "calm after Close", e.calm.Load() != nil, false)
		holds(t, "timer runs", e.timer.Stop(), false)
	})
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		o := s.options()
		o.Overlay = (&policy{slow: func() { pass(time.Second) }}).fold
		c := open(t, o)
		late := s.begin(context.Background(), c)
		e := c.find("a")
		c.Close()
		<-late.done
		holds(t, "calm after Close", e.calm.Load() != nil, false)
		holds(t, "timer", e.timer == nil, true)
	})
}
