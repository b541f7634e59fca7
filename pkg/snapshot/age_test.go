package snapshot

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

func TestGC9_AtMaxAgeAnEqualTupleIsListedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.slow = takes(2 * time.Second)
		o := s.options()
		o.Probe = s.probe
		c := open(t, o)
		began := time.Now()
		first := get(t, c, "a")
		holds(t, "age", time.Since(first.Begun()), 2*time.Second) // from the begin of the list
		holds(t, "begun", first.Begun().Equal(began), true)
		pass(28*time.Second - 1)
		holds(t, "pointer", get(t, c, "a"), first)
		pass(1)
		if get(t, c, "a") == first {
			t.Error("a hit at MaxAge")
		}
		holds(t, "misses by age", c.Stats().Misses.Age, 1)
	})
}

// clock is set by the tests, forwards and backwards.
type clock struct{ now time.Time }

func (k *clock) Now() time.Time { return k.now }

func TestGC9_AClockThatGoesBackCostsOneList(t *testing.T) {
	s, k := newSource(), &clock{time.Unix(1e9, 0)}
	o := s.options()
	o.Now = k.Now
	o.Probe = s.probe
	c := open(t, o)
	get(t, c, "a")
	k.now = k.now.Add(-time.Hour)
	back := get(t, c, "a")
	s.wants(t, 2, 2)
	holds(t, "begun", back.Begun(), k.now)
	holds(t, "pointer", get(t, c, "a"), back)
	k.now = k.now.Add(-time.Hour)
	s.fails(errDown, nil)
	if snap, err := c.Get(t.Context(), "a"); err == nil {
		t.Errorf("Get gives what lies in the future: %+v", snap)
	}
	s.fails(nil, nil)
	k.now = k.now.Add(-time.Hour) // the failure lies in the future now: no pause
	get(t, c, "a")
}

func TestAheadListsBeforeMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.slow = takes(2 * time.Second)
		o := s.options()
		o.Probe = s.probe
		o.Ahead = true
		c := open(t, o)
		first := get(t, c, "a")
		pass(24*time.Second - 1) // 4 s before MaxAge less 1 ns
		holds(t, "pointer", get(t, c, "a"), first)
		synctest.Wait()
		lists, _ := s.asked()
		holds(t, "lists", lists, 1)
		pass(1)
		for range 3 {
			holds(t, "pointer", get(t, c, "a"), first)
		}
		synctest.Wait()
		lists, _ = s.asked()
		holds(t, "lists", lists, 2)
		pass(2 * time.Second)
		synctest.Wait()
		next := get(t, c, "a")
		if next == first {
			t.Error("the list ahead brought nothing")
		}
		holds(t, "begun", next.Begun().Sub(first.Begun()), 26*time.Second)
		lists, _ = s.asked()
		holds(t, "lists", lists, 2)
		holds(t, "hits", c.Stats().Hits, 5)
	})
}

func TestAheadIsAtMostAQuarterOfMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.slow = takes(20 * time.Second)
		o := s.options()
		o.MaxAge, o.Ahead = 40*time.Second, true
		c := open(t, o)
		get(t, c, "a")
		pass(10*time.Second - 1)
		get(t, c, "a")
		synctest.Wait() // for a list that ought not to begin
		s.wants(t, 1, 0)
		pass(1)
		get(t, c, "a")
		synctest.Wait()
		s.wants(t, 2, 0)
		// At MaxAge the list ahead still runs: a Get waits for it.
		pass(10 * time.Second)
		get(t, c, "a")
		s.wants(t, 2, 0)
		c.Close() // with nothing running
	})
}

func TestAFailureAheadIsTriedAgainAfterThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.slow = takes(2 * time.Second)
		o := s.options()
		o.Ahead = true
		c := open(t, o)
		get(t, c, "a")
		s.slow = nil
		s.fails(errDown, nil)
		pass(24 * time.Second)
		for range 2 {
			for range 3 {
				get(t, c, "a") // the entry is good still
				synctest.Wait()
			}
			pass(time.Second)
		}
		s.wants(t, 3, 0)
		holds(t, "errors of Get", c.Stats().Misses.Error, 0)
	})
}

func TestForEverIsLong(t *testing.T) {
	s := newSource()
	o := s.options()
	o.MaxAge, o.Ahead = math.MaxInt64, true
	c := open(t, o)
	get(t, c, "a")
	get(t, c, "a")
	s.wants(t, 1, 0)
	holds(t, "calm", calmAtOnce(c, "a"), true) // no time ran over
}

// TestGC9_AListLongerThanMaxAgeServesWhoWaitedForIt: nobody lists for ever.
func TestGC9_AListLongerThanMaxAgeServesWhoWaitedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.slow = takes(40 * time.Second)
		c := open(t, s.options())
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		for n := 1; n <= 2; n++ {
			if _, err := c.Get(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			s.wants(t, n, 0)
		}
	})
}
