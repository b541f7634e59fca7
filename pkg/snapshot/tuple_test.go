package snapshot

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

func TestGC1_SameTupleIsAHit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		c := open(t, s.probed())
		first := get(t, c, "a")
		s.wants(t, 1, 1)
		pass(9 * time.Second)
		holds(t, "pointer", get(t, c, "a"), first)
		s.wants(t, 1, 2)
		pass(time.Second)
		holds(t, "pointer", get(t, c, "a"), first)
		s.wants(t, 1, 3)
		holds(t, "hits", c.Stats().Hits, 2)
	})
}

func TestGC2_AnotherTokenMakesOneList(t *testing.T) {
	s := newSource()
	s.set("a", 1)
	c := open(t, s.probed())
	old := get(t, c, "a")
	s.set("a", 2)
	fresh := get(t, c, "a")
	if fresh == old {
		t.Errorf("got the old snapshot again: %v, %v", fresh, old)
	}
	holds(t, "what the holder of the old one sees", old.Value(), 1)
	s.wants(t, 2, 2)
	holds(t, "pointer", get(t, c, "a"), fresh)
	s.wants(t, 2, 3)
}

// TestGC3_NothingCancelsOut moves the tuple in the ways that a sum or an XOR of its
// fields does not see.
func TestGC3_NothingCancelsOut(t *testing.T) {
	s := newSource()
	var token Token
	o := s.options()
	o.Probe = func(context.Context, string) (Token, error) { return token, nil }
	c := open(t, o)
	get(t, c, "a")
	for i, step := range []struct {
		overlay int
		token   Token
		lists   int
	}{
		{1, 1, 1},              // both +1 from equal values
		{1, 0, 1},              // one up, one down
		{0, 2, 1},              // one alone
		{1, 2, 0},              // the other alone
		{1, math.MaxUint64, 1}, // what an addition runs over by
		{0, 0, 1},              // back to what it was
	} {
		before := get(t, c, "a")
		lists, _ := s.asked()
		for range step.overlay {
			c.Refold("a")
		}
		token = step.token
		if get(t, c, "a") == before {
			t.Errorf("step %d: the snapshot stayed", i)
		}
		now, _ := s.asked()
		if now != lists+step.lists {
			t.Errorf("step %d: %d lists, want %d more than %d", i, now, step.lists, lists)
		}
	}
}

func TestGC11_PoolsDoNotTouchEachOther(t *testing.T) {
	s := newSource()
	c := open(t, s.probed())
	a, b := get(t, c, "a"), get(t, c, "b")
	s.bump("a")
	c.Refold("a")
	holds(t, "pointer of b", get(t, c, "b"), b)
	s.wantsLists(t, 2)
	if get(t, c, "a") == a {
		t.Error("a hit after a change")
	}
	s.wantsLists(t, 3)
}

func TestGC15_NothingListedIsNotNothingKnown(t *testing.T) {
	lists := 0
	c := open(t, Options[string, []int]{
		List:   func(context.Context, string) ([]int, error) { lists++; return nil, nil },
		MaxAge: time.Minute,
	})
	if _, ok := c.Peek("a"); ok {
		t.Error("there is a snapshot before the first list")
	}
	first := get(t, c, "a")
	holds(t, "rows", len(first.Value()), 0)
	holds(t, "pointer", get(t, c, "a"), first)
	if got, ok := c.Peek("a"); !ok || got != first {
		t.Errorf("Peek: %v, %v", got, ok)
	}
	holds(t, "lists", lists, 1)
}
