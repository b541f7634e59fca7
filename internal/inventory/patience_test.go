package inventory

import (
	"context"
	"testing"
	"time"
)

// TestGW11_AListIsReadToItsEnd: those who asked for it have gone, and the next one finds it.
func TestGW11_AListIsReadToItsEnd(t *testing.T) {
	play(t, func(s *stage) {
		s.source.wait = 40 * time.Second
		var err error
		for range 11 {
			ctx, cancel := context.WithTimeout(s.Context(), 3*time.Second)
			_, err = s.nodes.Get(ctx)
			cancel()
			<-time.After(time.Second)
		}
		if s.listed(1); err != nil {
			s.Error("a list of 40 s is never finished, as nobody waits for so long")
		}
	})
}

// TestGC7_AListThatFailsLateIsNotTriedAtOnce: Ironic works on such lists for a small part of the time.
func TestGC7_AListThatFailsLateIsNotTriedAtOnce(t *testing.T) {
	play(t, func(s *stage) {
		s.source.late, s.source.wait = true, 5*time.Second
		s.source.fail.Store(true)
		for range 600 { // ten minutes, and the waits
			ctx, cancel := context.WithTimeout(s.Context(), 3*time.Second)
			_, _ = s.nodes.Get(ctx)
			cancel()
			<-time.After(time.Second)
		}
		if n := s.source.lists.Load(); n > 701/35+1 {
			s.Errorf("%d lists of 5 s each failed in less than twelve minutes", n)
		}
		s.source.fail.Store(false)
		<-time.After(time.Minute)
		s.get()
	})
}

// TestCloseEndsAListThatNobodyWaitsFor: goleak holds the rest.
func TestCloseEndsAListThatNobodyWaitsFor(t *testing.T) {
	play(t, func(s *stage) {
		s.source.wait = time.Hour
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		_, _ = s.nodes.Get(ctx)
		begun := time.Now()
		s.nodes.Close()
		if d := time.Since(begun); d > time.Second {
			s.Errorf("it took %v", d)
		}
	})
}
