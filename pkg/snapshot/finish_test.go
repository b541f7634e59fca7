package snapshot

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestGC6_FinishGoesOnForNobody: with Finish a list that takes longer than anybody waits is
// read to its end, once, and who comes while it runs joins it. Close ends it all the same.
func TestGC6_FinishGoesOnForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.set("a", 1)
		s.slow = takes(40 * time.Second)
		o := s.options()
		o.Finish, o.MaxAge, o.MaxStale = true, time.Hour, time.Hour
		c := open(t, o)
		impatient := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, err := c.Get(ctx, "a")
			return err
		}
		for range 10 {
			holds(t, "error", impatient(), context.DeadlineExceeded)
			pass(time.Second / 2)
		}
		pass(5 * time.Second)
		holds(t, "error", impatient(), nil)
		s.wants(t, 1, 0)
		holds(t, "cancelled lists", s.cancelled, 0)

		c.Bump("a")
		holds(t, "error", impatient(), context.DeadlineExceeded)
		begun := time.Now()
		c.Close()
		if d := time.Since(begun); d > time.Second {
			t.Errorf("Close waited %v", d)
		}
		holds(t, "cancelled lists", s.cancelled, 1)
	})
}
