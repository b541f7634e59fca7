package snapshot

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestCloseEndsAll, also for what is in the cache and for who was about to begin.
func TestCloseEndsAll(t *testing.T) {
	c := open(t, newSource().options())
	for range 3 {
		get(t, c, "a")
	}
	c.Close()
	if snap, err := c.Get(t.Context(), "a"); !errors.Is(err, ErrClosed) {
		t.Errorf("Get: %+v, %v", snap, err)
	}
	_, there := c.Peek("a")
	holds(t, "Peek", there, false)
	c.Refold("a")
	holds(t, "entries", len(*c.entries.Load()), 0)
	holds(t, "something begins", c.spawn(func() {}), false)
}

// TestCloseWaitsForListsThatAreSlowToEnd.
func TestCloseWaitsForListsThatAreSlowToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.slow = func(ctx context.Context, _ int) error {
			<-ctx.Done()
			pass(time.Second)
			return ctx.Err()
		}
		c := open(t, s.options())
		a := s.begin(t.Context(), c)
		began := time.Now()
		c.Close()
		holds(t, "waited", time.Since(began), time.Second)
		<-a.done
		holds(t, "told", errors.Is(a.err, ErrClosed), true)
	})
}
