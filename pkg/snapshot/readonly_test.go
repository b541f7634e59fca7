package snapshot

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// host is a row as readers get it: plain values, and read-only lists and maps.
type host struct {
	name   string
	ports  Rows[int]
	traits Map[string, int]
}

func hosts(n, version int) Rows[host] {
	rows := make([]host, n)
	for i := range rows {
		rows[i] = host{
			name:   strings.Repeat("n", 1+i%7),
			ports:  RowsOf([]int{i, version, i + version}),
			traits: MapOf(map[string]int{"rank": n - i, "version": version}),
		}
	}
	return RowsOf(rows)
}

// TestGC10_ReadersCannotSpoilTheCache has 64 readers do to what they get all that the
// types allow, while it changes; the race detector and the last look say what came of it.
func TestGC10_ReadersCannotSpoilTheCache(t *testing.T) {
	c := open(t, Options[string, Rows[host]]{
		List:   func(context.Context, string) (Rows[host], error) { return hosts(50, 1), nil },
		MaxAge: time.Minute, MaxStale: time.Minute,
	})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for n := range 20 {
				spoil(get(t, c, "a").Value())
				if (i+n)%40 == 0 {
					c.Bump("a")
				}
			}
		})
	}
	wg.Wait()
	want, got := hosts(50, 1), get(t, c, "a").Value()
	holds(t, "rows", got.Len(), want.Len())
	for i, h := range got.All() {
		w := want.At(i)
		if h.name != w.name || !slices.Equal(h.ports.rows, w.ports.rows) {
			t.Fatalf("row %d is %+v, want %+v", i, h, w)
		}
		for k, v := range h.traits.All() {
			if wv, ok := w.traits.Get(k); !ok || wv != v {
				t.Fatalf("row %d: %s is %d, want %d", i, k, v, wv)
			}
		}
	}
}

// spoil sorts, appends to, overwrites and deletes what it can get hold of.
func spoil(rows Rows[host]) {
	mine := make([]host, 0, rows.Len()+1)
	for i, h := range rows.All() {
		h.name += "!" // a copy
		h.ports, h.traits = Rows[int]{}, Map[string, int]{}
		mine = append(mine, h, rows.At(i))
	}
	rand.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
	slices.SortFunc(mine, func(a, b host) int { return strings.Compare(b.name, a.name) })
	clear(mine)
}

func TestGC10_RowsAndMapAreCopies(t *testing.T) {
	list, table := []int{1, 2, 3}, map[string]int{"a": 1}
	rows, m := RowsOf(list), MapOf(table)
	list[0], table["a"] = 9, 9
	table["b"] = 9
	holds(t, "row", rows.At(0), 1)
	holds(t, "rows", rows.Len(), 3)
	v, ok := m.Get("a")
	holds(t, "value", v, 1)
	holds(t, "known", ok, true)
	holds(t, "keys", m.Len(), 1)
	for i, v := range (Rows[int]{}).All() {
		t.Errorf("the zero Rows has %d at %d", v, i)
	}
	if _, ok := (Map[string, int]{}).Get("a"); ok {
		t.Error("the zero Map has something")
	}
}
