package fairshare

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// F-8: k asks of one host at one instant = 1 ask.
func TestF8_DuplicatesChangeNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		once, more, g := twins(t)
		k := rapid.IntRange(1, 4).Draw(t, "duplicates")
		for n := range rapid.IntRange(20, 80).Draw(t, "steps") {
			s := g.next(once)
			want, _ := once.play(s)
			got, _ := more.play(s)
			s.after = 0
			for range k {
				if got != want {
					t.Fatalf("step %d, %v: %+v, want %+v", n+1, s, got, want)
				}
				if s.verb != "ask" && s.verb != "refused" && s.verb != "update" {
					break
				}
				got, _ = more.play(s)
			}
			if err := more.same(once); err != nil {
				t.Fatalf("step %d, %v: %v", n+1, s, err)
			}
		}
	})
}

// F-8: the order of asks of already called hosts at one instant alters neither the order of the calls nor, where the same hosts are granted, their number and F.
func TestF8_OrderOfCalledHostsDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one, two, g := twins(t)
		for range rapid.IntRange(20, 100).Draw(t, "steps") {
			s := g.next(one)
			one.play(s)
			two.play(s)
		}
		stranger := len(one.slots) - 1
		var calls [2][]int
		var granted [2]map[int]bool
		for n, r := range []*run{one, two} {
			// An ask moves the ask clock to this instant: nobody grows silent after it.
			for _, verb := range []string{"leave", "ask", "leave", "update"} {
				r.play(step{verb: verb, host: stranger})
			}
			calls[n], granted[n] = r.inTurn(n == 1)
		}
		for i := range min(len(calls[0]), len(calls[1])) {
			if calls[0][i] != calls[1][i] {
				t.Fatalf("called: %v and %v", calls[0], calls[1])
			}
		}
		// Who could redeem depends on who is still called, and the automatic AHEAD on
		// the gaps that the asks show.
		if ahead := one.turns.(*actual).s.cfg.Ahead; ahead == Auto || !maps.Equal(granted[0], granted[1]) {
			return
		}
		if err := sameTags(one, two); err != nil {
			t.Fatal(err)
		}
	})
}

// inTurn lets all called hosts ask, by number or the other way round, and returns
// who was called meanwhile and who was granted a slot.
func (r *run) inTurn(back bool) (calls []int, granted map[int]bool) {
	var asks []int
	for i := range r.slots {
		if r.state(i) == Called {
			asks = append(asks, i)
		}
	}
	if back {
		slices.Reverse(asks)
	}
	granted = map[int]bool{}
	for _, i := range asks {
		a, _ := r.play(step{verb: "ask", host: i})
		granted[i] = a.Yes
	}
	r.play(step{verb: "update"})
	for i := range r.slots {
		if _, asked := granted[i]; r.state(i) == Called && !asked {
			calls = append(calls, i)
		}
	}
	slices.SortFunc(calls, func(a, b int) int { return cmp.Compare(r.order(a), r.order(b)) })
	return calls, granted
}

// sameTags compares what was called and what it cost.
func sameTags(one, two *run) error {
	a, b := one.turns.(*actual).s, two.turns.(*actual).s
	if a.stats.Calls != b.stats.Calls {
		return fmt.Errorf("%d and %d calls", a.stats.Calls, b.stats.Calls)
	}
	for name, t := range a.tenants {
		if b.tenants[name] == nil || a.tag(t) != b.tag(b.tenants[name]) {
			return fmt.Errorf("tenant %s: %+v and %+v", name, t, b.tenants[name])
		}
	}
	return nil
}

// twins are two schedulers with the same settings and hosts, and what befalls them.
func twins(t *rapid.T) (one, two *run, g *generator) {
	g = newGenerator(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
	h := g.start(rapid.IntRange(1, 16).Draw(t, "hosts"), rapid.IntRange(1, 5).Draw(t, "tenants"))
	for _, r := range []**run{&one, &two} {
		s, err := newActual(h.cfg, h.tenants)
		if err != nil {
			t.Fatal(err)
		}
		*r = newRun(s, h)
	}
	return one, two, g
}
