package snapshot

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestGC7_FailuresAndThePause(t *testing.T) {
	for op, fails := range map[string]func(*source, error){
		"list":  func(s *source, err error) { s.fails(err, nil) },
		"probe": func(s *source, err error) { s.fails(nil, err) },
	} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				s.set("a", 1)
				o := s.options()
				o.Probe = s.probe
				o.MaxAge = 10 * time.Second
				c := open(t, o)
				good := get(t, c, "a")
				pass(10 * time.Second)
				fails(s, errDown)
				_, err := c.Get(t.Context(), "a")
				if !errors.Is(err, errDown) || err.Error() != "snapshot: "+op+" of a: "+errDown.Error() {
					t.Fatalf("Get: %v", err)
				}
				lists, probes := s.asked()
				pass(time.Second - 1)
				if snap, err := c.Get(t.Context(), "a"); !errors.Is(err, errDown) {
					t.Errorf("in the pause: %+v, %v", snap, err)
				}
				s.wants(t, lists, probes) // not sooner than 1 s
				if last, ok := c.Peek("a"); !ok || last != good {
					t.Errorf("the last good is gone: %+v", last)
				}
				pass(1)
				if snap, err := c.Get(t.Context(), "a"); !errors.Is(err, errDown) {
					t.Errorf("after the pause: %+v, %v", snap, err)
				}
				if l, p := s.asked(); l+p == lists+probes {
					t.Error("the source was not asked after the pause")
				}
				fails(s, nil)
				pass(time.Second)
				holds(t, "value after recovery", get(t, c, "a").Value(), 1)
				holds(t, "misses of age and cold", c.Stats().Misses.Age+c.Stats().Misses.Cold, 2)
			})
		})
	}
}

func TestGC7_TheFailuresOfAnOldListDoNotHideANewerSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.slow = func(ctx context.Context, nth int) error {
			if nth == 1 {
				pass(2 * time.Second)
				return errDown
			}
			return nil
		}
		c := open(t, s.probed())
		old := s.begin(t.Context(), c)
		s.bump("a")
		fresh := get(t, c, "a")
		<-old.done
		if !errors.Is(old.err, errDown) {
			t.Errorf("the old Get: %v", old.err)
		}
		holds(t, "pointer", get(t, c, "a"), fresh)
		s.bump("a")
		get(t, c, "a") // no pause
		s.wantsLists(t, 3)
	})
}

func TestGC7_RetryCanBeSwitchedOff(t *testing.T) {
	s := newSource()
	s.fails(errDown, nil)
	o := s.options()
	o.Retry = -1
	c := open(t, o)
	for range 3 {
		_, _ = c.Get(t.Context(), "a")
	}
	s.wants(t, 3, 0)
}

func TestGC7_AHangingSourceEndsWithListTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.slow = takes(time.Hour)
		c := open(t, s.options())
		began := time.Now()
		_, err := c.Get(t.Context(), "a")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Get: %v", err)
		}
		holds(t, "after", time.Since(began), time.Minute)
		_, err = c.Get(t.Context(), "a")
		holds(t, "kept for the pause", errors.Is(err, context.DeadlineExceeded), true)
		s.wants(t, 1, 0)
	})
}

// TestGC7_ACallersCancelIsNoFailure: a probe with the ctx of a Get that was cancelled
// says nothing of the source.
func TestGC7_ACallersCancelIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		o := s.options()
		hang := true
		o.Probe = func(ctx context.Context, key string) (Token, error) {
			if hang {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return s.probe(ctx, key)
		}
		c := open(t, o)
		ctx, cancel := context.WithCancel(t.Context())
		a := s.begin(ctx, c)
		cancel()
		<-a.done
		holds(t, "error", a.err, context.Canceled)
		hang = false
		get(t, c, "a")
		s.wants(t, 1, 1)
		_, err := c.Get(ctx, "b")
		holds(t, "error of a ctx that has ended", err, context.Canceled)
	})
}

func TestPanicsAreErrors(t *testing.T) {
	boom := func() { panic("boom") }
	for name, o := range map[string]Options[string, int]{
		"list": {List: func(context.Context, string) (int, error) { boom(); return 0, nil }},
		"probe": {
			List:  newSource().list,
			Probe: func(context.Context, string) (Token, error) { boom(); return 0, nil },
		},
		"overlay":      {List: newSource().list, Overlay: func(string, int) (int, error) { boom(); return 0, nil }},
		"overlay size": {List: newSource().list, Size: func(int) (int, int64) { boom(); return 0, 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			o.MaxAge = time.Minute
			_, err := open(t, o).Get(t.Context(), "a")
			if err == nil || !strings.HasSuffix(err.Error(), "of a: panic: boom") {
				t.Errorf("Get: %v", err)
			}
		})
	}
}

func TestAFunctionThatEndsItsGoroutineIsAnError(t *testing.T) {
	for name, o := range map[string]Options[string, int]{
		"list":    {List: func(context.Context, string) (int, error) { runtime.Goexit(); return 0, nil }},
		"overlay": {List: newSource().list, Overlay: func(string, int) (int, error) { runtime.Goexit(); return 0, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			o.MaxAge = time.Minute
			if _, err := open(t, o).Get(t.Context(), "a"); !errors.Is(err, errGone) {
				t.Errorf("Get: %v", err)
			}
		})
	}
}

// TestGC7_AProbeHasItsPauseToo.
func TestGC7_AProbeHasItsPauseToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.fails(nil, errDown)
		c := open(t, s.probed())
		for range 3 {
			_, err := c.Get(t.Context(), "a")
			holds(t, "down", errors.Is(err, errDown), true)
		}
		s.wants(t, 0, 1)
		s.fails(nil, nil)
		pass(time.Second)
		get(t, c, "a")
		s.wants(t, 1, 2)
	})
}

// TestAContextEndsWithItsCall: nothing of it is left until ListTimeout.
func TestAContextEndsWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var listing <-chan struct{}
		o := newSource().options()
		o.List = func(ctx context.Context, _ string) (int, error) { listing = ctx.Done(); return 0, nil }
		c := open(t, o)
		get(t, c, "a")
		began := time.Now()
		<-listing
		holds(t, "left for", time.Since(began), 0)
	})
}
