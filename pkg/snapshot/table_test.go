package snapshot

import "testing"

// TestATableIsCopiedSeldom: n keys that come one by one cost less than a copy each.
func TestATableIsCopiedSeldom(t *testing.T) {
	var tab table[int, int]
	copies, last := 0, tab.read.Load()
	for i := range 1_000 {
		e := tab.make(i, func() *int { return &i })
		holds(t, "entry", tab.find(i), e)
		holds(t, "made twice", tab.make(i, func() *int { return new(int) }), e)
		if m := tab.read.Load(); m != last {
			copies, last = copies+1, m
		}
	}
	if copies == 0 || copies > 30 {
		t.Errorf("%d copies", copies)
	}
	holds(t, "entries", len(tab.entries()), 1_000)
}

func TestATableTellsWhatItDrops(t *testing.T) {
	var tab table[int, int]
	for i := range 4 {
		tab.make(i, func() *int { return &i })
	}
	dropped := tab.keep([]int{1, 3, 3, 5})
	holds(t, "dropped", len(dropped), 2)
	for _, e := range dropped {
		holds(t, "dropped is even", *e%2, 0)
	}
	holds(t, "kept", *tab.find(1), 1)
	holds(t, "what was never there", tab.find(5) == nil, true)
	holds(t, "closed drops", len(tab.close()), 2)
	holds(t, "after close", tab.find(1) == nil, true)
	holds(t, "made after close", tab.make(1, func() *int { return new(int) }) == nil, true)
}
