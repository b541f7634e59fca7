package snapshot

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// policy is an overlay: it adds a number.
type policy struct {
	mu    sync.Mutex
	add   int
	err   error
	folds int
	slow  func()
}

func (p *policy) fold(_ string, base int) (int, error) {
	p.mu.Lock()
	p.folds++
	v, err, slow := base+p.add, p.err, p.slow
	p.mu.Unlock()
	if slow != nil {
		slow()
	}
	return v, err
}

func (p *policy) is(add int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add, p.err = add, err
}

func (p *policy) wants(t *testing.T, folds int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	holds(t, "folds", p.folds, folds)
}

func TestGC12_TheOverlayIsFoldedOncePerMiss(t *testing.T) {
	s, p := newSource(), &policy{add: 100}
	o := s.options()
	o.Overlay, o.Probe = p.fold, s.probe
	c := open(t, o)
	for range 5 {
		holds(t, "value", get(t, c, "a").Value(), 100)
	}
	p.wants(t, 1)
	p.is(200, nil)
	c.Refold("a")
	for range 5 {
		holds(t, "value", get(t, c, "a").Value(), 200)
	}
	p.wants(t, 2)
	s.set("a", 7)
	holds(t, "value", get(t, c, "a").Value(), 207)
	p.wants(t, 3)
	lists, _ := s.asked()
	holds(t, "lists", lists, 2) // the overlay alone costs the source nothing
	holds(t, "misses", c.Stats().Misses, Misses{Cold: 1, Overlay: 1, Probe: 1})
}

func TestGC12_AnOverlayThatFailsLeavesTheOldEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := newSource(), &policy{add: 100}
		o := s.probed()
		o.Overlay = p.fold
		c := open(t, o)
		old := get(t, c, "a")
		p.is(0, errDown)
		c.Refold("a")
		for range 3 {
			_, err := c.Get(t.Context(), "a")
			if !errors.Is(err, errDown) || err.Error() != "snapshot: overlay of a: "+errDown.Error() {
				t.Fatalf("Get: %v", err)
			}
		}
		p.wants(t, 2) // the pause
		if got, _ := c.Peek("a"); got != old {
			t.Error("the old entry is gone")
		}
		// What was listed meanwhile is kept for the overlay that is right again, and
		// a new revision need not wait for the end of the pause.
		s.set("a", 7)
		if _, err := c.Get(t.Context(), "a"); !errors.Is(err, errDown) {
			t.Fatalf("Get: %v", err)
		}
		s.wantsLists(t, 2)
		p.wants(t, 3)
		p.is(300, nil)
		c.Refold("a")
		holds(t, "value", get(t, c, "a").Value(), 307)
		s.wantsLists(t, 2)
	})
}

func TestGC12_ConcurrentGetsShareAFold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := newSource(), &policy{add: 1}
		o := s.options()
		o.Overlay = p.fold
		c := open(t, o)
		get(t, c, "a")
		p.slow = func() { pass(time.Second) }
		c.Refold("a")
		early := []*async{s.begin(t.Context(), c), s.begin(t.Context(), c)}
		p.wants(t, 2)
		p.is(2, nil)
		c.Refold("a") // while the first fold runs: who comes now needs another one
		late := []*async{s.begin(t.Context(), c), s.begin(t.Context(), c)}
		for _, a := range early {
			holds(t, "early", a.value(t) <= 2, true)
		}
		for _, a := range late {
			holds(t, "late", a.value(t), 2)
		}
		p.wants(t, 3)
		s.wants(t, 1, 0)
		holds(t, "waits", c.Stats().Waits, 2) // the second of each pair
	})
}

// TestGC12_AFoldDoesNotWaitForAList: a list that runs for others does not hold up who
// needs the overlay alone.
func TestGC12_AFoldDoesNotWaitForAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := newSource(), &policy{add: 1}
		s.slow = takes(2 * time.Second)
		o := s.options()
		o.Overlay, o.Ahead = p.fold, true
		c := open(t, o)
		get(t, c, "a")
		pass(24 * time.Second)
		get(t, c, "a") // begins the next list
		synctest.Wait()
		p.is(2, nil)
		c.Refold("a")
		began := time.Now()
		holds(t, "value", get(t, c, "a").Value(), 2)
		holds(t, "waited", time.Since(began), 0)
		pass(2 * time.Second)
		synctest.Wait()
		holds(t, "value", get(t, c, "a").Value(), 2)
		s.wants(t, 2, 0)
		p.wants(t, 3)
	})
}

// TestGC12_TheFirstOverlayFails: the list is kept for the overlay that is right again.
func TestGC12_TheFirstOverlayFails(t *testing.T) {
	s, p := newSource(), &policy{err: errDown}
	o := s.options()
	o.Overlay = p.fold
	c := open(t, o)
	if snap, err := c.Get(t.Context(), "a"); !errors.Is(err, errDown) {
		t.Errorf("Get: %+v, %v", snap, err)
	}
	if snap, ok := c.Peek("a"); ok {
		t.Errorf("there is a snapshot: %+v", snap)
	}
	p.is(1, nil)
	c.Refold("a")
	holds(t, "value", get(t, c, "a").Value(), 1)
	s.wants(t, 1, 0)
	holds(t, "misses", c.Stats().Misses, Misses{Error: 1, Cold: 1})
	holds(t, "failure is forgotten", c.find("a").spoilt == nil, true)
}

// TestGC12_ANewListNeedNotWaitForThePauseOfTheOld: an overlay that could not be folded
// into one list may fit the next.
func TestGC12_ANewListNeedNotWaitForThePauseOfTheOld(t *testing.T) {
	s := newSource()
	o := s.probed()
	o.Overlay = func(_ string, base int) (int, error) {
		if base == 0 {
			return 0, errDown
		}
		return base, nil
	}
	c := open(t, o)
	if snap, err := c.Get(t.Context(), "a"); !errors.Is(err, errDown) {
		t.Fatalf("Get: %+v, %v", snap, err)
	}
	s.set("a", 7)
	holds(t, "value", get(t, c, "a").Value(), 7)
}
