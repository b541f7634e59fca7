package snapshot

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestGC1_SameTupleIsAHit(t *testing.T) {
	for name, every := range map[string]time.Duration{"each Get probes": 0, "a word lasts 10 s": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				o := s.options()
				o.Probe, o.ProbeEvery = s.probe, every
				c := open(t, o)
				first := get(t, c, "a")
				s.wants(t, 1, 1)
				pass(9 * time.Second)
				holds(t, "pointer", get(t, c, "a"), first)
				probes := 2
				if every > 0 {
					probes = 1
				}
				s.wants(t, 1, probes)
				pass(time.Second) // the word is 10 s old
				holds(t, "pointer", get(t, c, "a"), first)
				s.wants(t, 1, probes+1)
				holds(t, "hits", c.Stats().Hits, 2)
			})
		})
	}
}

func TestGC2_EachFieldThatDiffersMakesOneList(t *testing.T) {
	for name, change := range map[string]func(*source, *Cache[string, int]){
		"probe": func(s *source, _ *Cache[string, int]) { s.set("a", 2) },
		"event": func(_ *source, c *Cache[string, int]) { c.Bump("a") },
		"epoch": func(_ *source, c *Cache[string, int]) { c.Keep() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSource()
			s.set("a", 1)
			o := s.options()
			o.Probe = s.probe
			c := open(t, o)
			old := get(t, c, "a")
			change(s, c)
			fresh := get(t, c, "a")
			if fresh == old || fresh.Generation() == old.Generation() {
				t.Errorf("got the old snapshot again: %v, %v", fresh, old)
			}
			holds(t, "what the holder of the old one sees", old.Value(), 1)
			s.wants(t, 2, 2)
			holds(t, "pointer", get(t, c, "a"), fresh)
			s.wants(t, 2, 3)
		})
	}
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
	one := Token{15: 1}
	for i, step := range []struct {
		events, overlay int
		token           Token
	}{
		{1, 1, Token{}},  // two fields +1 from equal values
		{0, 0, one},      // events, overlay and probe all 1
		{0, 0, Token{}},  // probe and events swap 1 and 0
		{1, 0, Token{}},  // one alone
		{2, 3, Token{7}}, // all of them
	} {
		before := get(t, c, "a").Generation()
		lists, _ := s.asked()
		for range step.events {
			c.Bump("a")
		}
		for range step.overlay {
			c.Refold("a")
		}
		token = step.token
		if after := get(t, c, "a").Generation(); after == before {
			t.Errorf("step %d: generation stayed %+v", i, after)
		}
		now, _ := s.asked()
		if now != lists+1 {
			t.Errorf("step %d: %d lists, want one more than %d", i, now, lists)
		}
	}
	// All counters at 0 again, with the old token: the epoch tells.
	token = Token{}
	before := get(t, c, "a").Generation()
	c.Keep()
	after := get(t, c, "a").Generation()
	holds(t, "events and overlay", [2]uint64{after.Events, after.Overlay}, [2]uint64{})
	if after.Epoch == before.Epoch {
		t.Error("the epoch did not change")
	}
}

func TestGC3_TokensOfDifferentPartsDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.SliceOfN(rapid.ByteRange(0, 1), 0, 3), 0, 3).Draw(t, "a")
		b := rapid.SliceOfN(rapid.SliceOfN(rapid.ByteRange(0, 1), 0, 3), 0, 3).Draw(t, "b")
		same := len(a) == len(b)
		for i := 0; same && i < len(a); i++ {
			same = bytes.Equal(a[i], b[i])
		}
		if got := TokenOf(a...) == TokenOf(b...); got != same {
			t.Fatalf("tokens of %v and %v equal: %v", a, b, got)
		}
		if one, other := Unlike(), Unlike(); one == other || TokenOf(a...) == one {
			t.Fatal("Unlike is like another token")
		}
	})
}

func TestUnlikeAlwaysLists(t *testing.T) {
	s := newSource()
	o := s.options()
	o.Probe = func(context.Context, string) (Token, error) { return Unlike(), nil }
	c := open(t, o)
	for range 5 {
		get(t, c, "a")
	}
	s.wants(t, 5, 0)
}

func TestGC11_PoolsDoNotTouchEachOther(t *testing.T) {
	s := newSource()
	c := open(t, s.options())
	get(t, c, "a")
	b := get(t, c, "b")
	c.Bump("a")
	holds(t, "pointer of b", get(t, c, "b"), b)
	s.wants(t, 2, 0)
	c.Keep("b", "c")
	if _, ok := c.Peek("a"); ok {
		t.Error("a is still there")
	}
	holds(t, "pointer of b", get(t, c, "b"), b)
	holds(t, "entries", c.Stats().Entries, 1)
	if a := get(t, c, "a"); a.Generation().Epoch == 0 || a.Generation().Epoch == b.Generation().Epoch {
		t.Errorf("epochs %d and %d", a.Generation().Epoch, b.Generation().Epoch)
	}
	s.wants(t, 3, 0)
}

func TestGC15_NothingListedIsNotNothingKnown(t *testing.T) {
	lists := 0
	c := open(t, Options[string, Rows[int]]{
		List:   func(context.Context, string) (Rows[int], error) { lists++; return Rows[int]{}, nil },
		MaxAge: time.Minute, MaxStale: time.Minute,
	})
	if _, ok := c.Peek("a"); ok {
		t.Error("there is a snapshot before the first list")
	}
	first := get(t, c, "a")
	holds(t, "rows", first.Value().Len(), 0)
	holds(t, "pointer", get(t, c, "a"), first)
	if got, ok := c.Peek("a"); !ok || got != first {
		t.Errorf("Peek: %v, %v", got, ok)
	}
	holds(t, "lists", lists, 1)
	holds(t, "entries", c.Stats().Entries, 1)
}

// TestGC18_ARestartIsAnotherEpoch starts the same cache twice; what both count is equal.
func TestGC18_ARestartIsAnotherEpoch(t *testing.T) {
	s := newSource()
	a := get(t, open(t, s.options()), "a").Generation()
	b := get(t, open(t, s.options()), "a").Generation()
	if a.Epoch == b.Epoch || a == b {
		t.Errorf("%+v before, %+v after the restart", a, b)
	}
	if boot == 0 || random() == boot {
		t.Errorf("boot is %d: epochs do not begin at random", boot)
	}
}

// TestGC3_UnlikeIsNoTokenOfParts: one bit keeps them apart, whatever the rest is.
func TestGC3_UnlikeIsNoTokenOfParts(t *testing.T) {
	defer func(was uint64) { boot = was }(boot)
	boot = 0
	holds(t, "bit of Unlike", Unlike()[0], unlikeBit)
	for i := range 64 {
		holds(t, "bit of TokenOf", numberToken(i)[0]&unlikeBit, 0)
	}
}

// TestGC18_EpochsDoNotBeginAt0: what a client kept from before a restart matches nothing.
func TestGC18_EpochsDoNotBeginAt0(t *testing.T) {
	if n := epochs.Load(); n-boot > 1<<40 || boot < 1<<8 {
		t.Errorf("epoch %d; counted from %d", n, boot)
	}
}
