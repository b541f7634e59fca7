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

func TestGC7_FailuresAndTheLastGood(t *testing.T) {
	for op, fails := range map[string]func(*source, error){
		"list":  func(s *source, err error) { s.fails(err, nil) },
		"probe": func(s *source, err error) { s.fails(nil, err) },
	} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				s.set("a", 1)
				o := s.options()
				o.Probe, o.ProbeEvery = s.probe, time.Millisecond
				o.MaxAge = 10 * time.Second
				c := open(t, o)
				if _, err := c.GetStale(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				good := get(t, c, "a")
				pass(10 * time.Second)
				fails(s, errDown)
				_, err := c.Get(t.Context(), "a")
				var fault *Error
				if !errors.Is(err, errDown) || !errors.As(err, &fault) || fault.Op != op || fault.Key != "a" {
					t.Fatalf("Get: %v", err)
				}
				lists, probes := s.asked()
				pass(time.Second - 1)
				last, err := c.GetStale(t.Context(), "a")
				if err != nil || !last.Stale() || last.Value() != 1 || last.Generation() != good.Generation() || !last.Begun().Equal(good.Begun()) {
					t.Fatalf("GetStale: %+v, %v", last, err)
				}
				again, _ := c.GetStale(t.Context(), "a")
				holds(t, "pointer", again, last)
				s.wants(t, lists, probes) // not sooner than 1 s
				pass(1)
				_, _ = c.GetStale(t.Context(), "a")
				if l, p := s.asked(); l+p == lists+probes {
					t.Error("the source was not asked after the pause")
				}
				holds(t, "stale", good.Stale(), false)

				pass(30*time.Second - last.Age(time.Now())) // just MaxStale old
				if snap, err := c.GetStale(t.Context(), "a"); err != nil || !snap.Stale() {
					t.Errorf("at MaxStale: %+v, %v", snap, err)
				}
				pass(1)
				if snap, err := c.GetStale(t.Context(), "a"); !errors.Is(err, errDown) {
					t.Errorf("beyond MaxStale: %+v, %v", snap, err)
				}
				fails(s, nil)
				pass(time.Second)
				holds(t, "stale after recovery", get(t, c, "a").Stale(), false)
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
		c := open(t, s.options())
		old := s.begin(t.Context(), c)
		c.Bump("a")
		fresh := get(t, c, "a")
		<-old.done
		if !errors.Is(old.err, errDown) {
			t.Errorf("the old Get: %v", old.err)
		}
		holds(t, "pointer", get(t, c, "a"), fresh)
		c.Bump("a")
		get(t, c, "a") // no pause
		s.wants(t, 3, 0)
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
		holds(t, "failures", c.Stats().Failures, 1)
	})
}

// TestGC7_ACallersCancelIsNoFailure: a probe with the ctx of a Get that was cancelled
// says nothing of the source.
func TestGC7_ACallersCancelIsNoFailure(t *testing.T) {
	for name, every := range map[string]time.Duration{"alone": 0, "shared": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				o := s.options()
				hang := true
				o.ProbeEvery = every
				o.Probe = func(ctx context.Context, key string) (Token, error) {
					if hang {
						<-ctx.Done()
						return Token{}, ctx.Err()
					}
					return s.probe(ctx, key)
				}
				c := open(t, o)
				ctx, cancel := context.WithCancel(t.Context())
				a := s.begin(ctx, c)
				cancel()
				<-a.done
				holds(t, "error", a.err, context.Canceled)
				synctest.Wait()
				hang = false
				get(t, c, "a")
				s.wants(t, 1, 1)
				_, err := c.Get(ctx, "b")
				holds(t, "error of a ctx that has ended", err, context.Canceled)
			})
		})
	}
}

func TestPanicsAreErrors(t *testing.T) {
	boom := func() { panic("boom") }
	for name, o := range map[string]Options[string, int]{
		"list": {List: func(context.Context, string) (int, error) { boom(); return 0, nil }},
		"probe": {
			List:  newSource().list,
			Probe: func(context.Context, string) (Token, error) { boom(); return Token{}, nil },
		},
		"shared probe": {
			List: newSource().list, ProbeEvery: time.Second,
			Probe: func(context.Context, string) (Token, error) { boom(); return Token{}, nil },
		},
		"overlay":      {List: newSource().list, Overlay: func(string, int) (int, error) { boom(); return 0, nil }},
		"overlay size": {List: newSource().list, Size: func(int) (int, int64) { boom(); return 0, 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			o.MaxAge, o.MaxStale = time.Minute, time.Minute
			_, err := open(t, o).Get(t.Context(), "a")
			var p *PanicError
			if !errors.As(err, &p) || p.Value != "boom" || len(p.Stack) == 0 || !strings.Contains(err.Error(), "boom") {
				t.Errorf("Get: %v", err)
			}
		})
	}
}

func TestAFunctionThatEndsItsGoroutineIsAnError(t *testing.T) {
	for name, o := range map[string]Options[string, int]{
		"list":    {List: func(context.Context, string) (int, error) { runtime.Goexit(); return 0, nil }},
		"overlay": {List: newSource().list, Overlay: func(string, int) (int, error) { runtime.Goexit(); return 0, nil }},
		"probe": {
			List: newSource().list, ProbeEvery: time.Second,
			Probe: func(context.Context, string) (Token, error) { runtime.Goexit(); return Token{}, nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			o.MaxAge, o.MaxStale = time.Minute, time.Minute
			if _, err := open(t, o).Get(t.Context(), "a"); !errors.Is(err, errGone) {
				t.Errorf("Get: %v", err)
			}
		})
	}
}
