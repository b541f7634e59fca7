package snapshot

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestModelAlwaysLists plays random histories, and compares each answer with that of a cache that lists on every Get.
func TestModelAlwaysLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1e9, 0)
		s := newSource()
		o := s.options()
		o.Now = func() time.Time { return now }
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		asked, version := uint64(0), 0
		key := func(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key") }
		get := func(t *rapid.T, ctx context.Context) {
			asked++
			k := key(t)
			snap, err := c.Get(ctx, k)
			switch {
			case err == nil:
				if age := now.Sub(snap.Begun()); age < 0 || age >= o.MaxAge || snap.Value() != s.values[k] {
					t.Fatalf("key %s is %d, %v old; want %d", k, snap.Value(), age, s.values[k])
				}
			case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			case s.err == nil || !errors.Is(err, errDown):
				t.Fatalf("Get: %v, and the source says %v", err, s.err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"get":    func(t *rapid.T) { get(t, t.Context()) },
			"cancel": func(t *rapid.T) { get(t, gone) },
			"change": func(t *rapid.T) { version++; s.set(key(t), version) },
			"source": func(t *rapid.T) { s.err = rapid.SampledFrom([]error{nil, nil, errDown}).Draw(t, "err") },
			"time": func(t *rapid.T) { // which may go back
				now = now.Add(time.Duration(rapid.IntRange(-10, 35).Draw(t, "s")) * time.Second)
			},
			"": func(t *rapid.T) {
				if st := c.Stats(); st.Hits+st.Misses+st.Errors != asked || st.Lists != uint64(s.lists) {
					t.Fatalf("%d Gets, %d lists, stats %+v", asked, s.lists, st)
				}
			},
		})
	})
}
