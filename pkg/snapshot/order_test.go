package snapshot

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestGC4_NoGetIsOlderThanItsBegin: readers raise numbers now and then and tell of it;
// they note the numbers, Get, and must not see less. Lists take their time, and end in any order.
func TestGC4_NoGetIsOlderThanItsBegin(t *testing.T) {
	var folds, listed, folded, told, toldFolds atomic.Int64
	o := Options[string, [2]int64]{
		List: func(context.Context, string) ([2]int64, error) {
			v := listed.Load()
			for range rand.IntN(50) {
				runtime.Gosched()
			}
			return [2]int64{v}, nil
		},
		Overlay: func(_ string, base [2]int64) ([2]int64, error) {
			folds.Add(1)
			base[1] = folded.Load()
			for range rand.IntN(10) {
				runtime.Gosched()
			}
			return base, nil
		},
		MaxAge: time.Hour,
	}
	o.Probe = func(context.Context, string) (Token, error) { return Token(listed.Load()), nil }
	c := open(t, o)
	change := func() {
		if rand.IntN(2) == 0 {
			folded.Add(1)
			c.Refold("a")
			toldFolds.Add(1)
			return
		}
		listed.Add(1)
		told.Add(1)
	}
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for i := range 500 {
				if i%10 == 0 {
					change()
				}
				least := [2]int64{told.Load(), toldFolds.Load()}
				snap, err := c.Get(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				if got := snap.Value(); got[0] < least[0] || got[1] < least[1] {
					t.Errorf("a Get saw %v; it was %v before", got, least)
					return
				}
			}
		})
	}
	readers.Wait()
	if st := c.Stats(); st.Hits == 0 || st.Builds < 10 || folds.Load() <= int64(st.Builds) {
		t.Errorf("the run left something out: %+v", st)
	}
}
