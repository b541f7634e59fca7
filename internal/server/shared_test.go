package server

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// still is a fake in which nothing happens until it is told.
type still struct {
	*fake
	moved  atomic.Uint64
	builds atomic.Int64
}

func (s *still) Revision() uint64 { return s.moved.Load() }

func (s *still) Status(now time.Time) api.Status {
	s.builds.Add(1)
	return s.fake.Status(now)
}

// TestReadersShareOneStatus: 64 of them, of all kinds, and none takes the decision's
// lock while nothing happens.
func TestReadersShareOneStatus(t *testing.T) {
	d := &still{fake: seen()}
	s := made(t, d)
	read := func() {
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				switch i % 3 {
				case 0:
					send(t, s.API(), http.MethodGet, "/v1/status", "")
				case 1:
					send(t, s.API(), http.MethodGet, "/v1/slots", "")
				default:
					send(t, s.Metrics(), http.MethodGet, "/metrics", "")
				}
			})
		}
		all.Wait()
	}
	synctest.Test(t, func(t *testing.T) {
		s = made(t, d)
		read()
		if n := d.builds.Load(); n != 1 {
			t.Errorf("64 readers built the status %d times, want once", n)
		}
		d.moved.Add(1)
		read()
		if n := d.builds.Load(); n != 2 {
			t.Errorf("after a change it was built %d times, want once more", n)
		}
		<-time.After(statusMaxAge) // its ages
		read()
		if n := d.builds.Load(); n != 3 {
			t.Errorf("a second later it was built %d times, want once more", n)
		}
	})
	st := s.statuses.Stats() // each round has 22 reads of the status and 21 of the metrics
	if st.Hits+st.Misses < 3*43 || st.Errors > 0 || st.Lists != 3 {
		t.Errorf("counted %+v", st)
	}
}

// TestAChangeIsReadAtOnce: who reads after a change reads it.
func TestAChangeIsReadAtOnce(t *testing.T) {
	d := &still{fake: seen()}
	s := made(t, d)
	for limit := 1; limit <= 50; limit++ {
		status := exampleStatus()
		status.Slots.Total.Limit = limit
		d.fake.status = func() api.Status { return status }
		d.moved.Add(1)
		if got := decoded[api.SlotsView](t, send(t, s.API(), http.MethodGet, "/v1/slots", "")); got.Total.Limit != limit {
			t.Fatalf("limit %d, want %d", got.Total.Limit, limit)
		}
	}
}

// TestReadersKeepOffTheLock: however many read, decisions have 19 parts of 20 of the time.
func TestReadersKeepOffTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGentle()
		var held time.Duration
		begun := time.Now()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				_ = g.do(t.Context(), func() {
					<-time.After(3 * time.Millisecond)
					held += 3 * time.Millisecond
				})
			})
		}
		all.Wait()
		if part := time.Since(begun) / held; part < lockShare-1 {
			t.Errorf("readers had one part in %d of the time, want one in %d", part, lockShare)
		}
		_ = g.do(t.Context(), func() { <-time.After(time.Minute) })
		begun = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), lockPause/2)
		defer cancel()
		if err := g.do(ctx, func() { t.Error("its reader is gone") }); err == nil {
			t.Error("nobody was told that it took too long")
		}
		_ = g.do(t.Context(), func() {})
		if waited := time.Since(begun); waited != lockPause {
			t.Errorf("after a minute the next one waited %v, want %v", waited, lockPause)
		}
	})
}
