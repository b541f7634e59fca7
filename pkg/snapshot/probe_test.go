package snapshot

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowProbe makes each probe of s last so long after it has read; when it is cancelled
// it takes as long again to end.
func (s *source) slowProbe(d time.Duration) func(context.Context, string) (Token, error) {
	return func(ctx context.Context, key string) (Token, error) {
		token, err := s.probe(ctx, key)
		select {
		case <-time.After(d):
			return token, err
		case <-ctx.Done():
			pass(d)
			return Token{}, ctx.Err()
		}
	}
}

func TestGC5_WhoCancelsDoesNotStopAProbeForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		o := s.options()
		o.Probe, o.ProbeEvery = s.slowProbe(2*time.Second), 5*time.Second
		c := open(t, o)
		ctx, cancel := context.WithCancel(t.Context())
		first, second := s.begin(ctx, c), s.begin(t.Context(), c)
		cancel()
		<-first.done
		holds(t, "cancelled", errors.Is(first.err, context.Canceled), true)
		holds(t, "value", second.value(t), 0)
		s.wants(t, 1, 1)
	})
}

// TestGC6_AnAbandonedProbeIsNotJoined: who comes while it takes its time to end begins
// another, which is shared until its own end.
func TestGC6_AnAbandonedProbeIsNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		o := s.options()
		o.Probe, o.ProbeEvery = s.slowProbe(2*time.Second), 5*time.Second
		c := open(t, o)
		ctx, cancel := context.WithCancel(t.Context())
		gone := s.begin(ctx, c)
		pass(time.Second)
		cancel()
		<-gone.done // its probe ends at 3 s
		pass(time.Second)
		second := s.begin(t.Context(), c)
		pass(1500 * time.Millisecond)
		third := s.begin(t.Context(), c)
		second.value(t)
		third.value(t)
		s.wants(t, 1, 2)
		holds(t, "failures", c.Stats().Failures, 0)
	})
}

// TestGC1_AProbeThatBeganTooLongAgoIsNotShared: its word would be older than ProbeEvery.
func TestGC1_AProbeThatBeganTooLongAgoIsNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		o := s.options()
		o.Probe, o.ProbeEvery = s.slowProbe(3*time.Second), time.Second
		c := open(t, o)
		get(t, c, "a")
		pass(time.Second)
		early := s.begin(t.Context(), c)
		pass(time.Second)
		s.set("a", 1)
		late := s.begin(t.Context(), c)
		holds(t, "early", early.value(t), 0)
		holds(t, "late", late.value(t), 1)
	})
}

// TestGC7_AProbeIsCutOffAtListTimeout.
func TestGC7_AProbeIsCutOffAtListTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cut atomic.Bool
		o := newSource().options()
		o.ListTimeout, o.ProbeEvery = 3*time.Second, time.Second
		o.Probe = func(ctx context.Context, _ string) (Token, error) {
			<-ctx.Done()
			cut.Store(true)
			return Token{}, ctx.Err()
		}
		c := open(t, o)
		began := time.Now()
		_, err := c.Get(t.Context(), "a")
		holds(t, "deadline", errors.Is(err, context.DeadlineExceeded), true)
		holds(t, "cut off", cut.Load(), true)
		holds(t, "after", time.Since(began), 3*time.Second)
	})
}

// TestGC7_AProbeOnEachGetHasItsPauseToo.
func TestGC7_AProbeOnEachGetHasItsPauseToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.fails(nil, errDown)
		o := s.options()
		o.Probe = s.probe
		c := open(t, o)
		for range 3 {
			_, err := c.Get(t.Context(), "a")
			holds(t, "down", errors.Is(err, errDown), true)
		}
		s.wants(t, 0, 1)
		holds(t, "probes told", c.Stats().Probes, 1)
		s.fails(nil, nil)
		pass(time.Second)
		get(t, c, "a")
		s.wants(t, 1, 2)
		holds(t, "probes told", c.Stats().Probes, 2)
	})
}

// TestAContextEndsWithItsCall: nothing of it is left until ListTimeout.
func TestAContextEndsWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var probing, listing <-chan struct{}
		o := newSource().options()
		o.ProbeEvery = time.Second
		o.Probe = func(ctx context.Context, _ string) (Token, error) { probing = ctx.Done(); return Token{}, nil }
		o.List = func(ctx context.Context, _ string) (int, error) { listing = ctx.Done(); return 0, nil }
		c := open(t, o)
		get(t, c, "a")
		began := time.Now()
		<-probing
		<-listing
		holds(t, "left for", time.Since(began), 0)
	})
}
