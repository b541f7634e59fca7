package server

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestStatusIsTheDecidersPlusOurs(t *testing.T) {
	s := made(t, seen(), func(o *Options) {
		o.Settings = func() map[string]string { return map[string]string{"mode": "enforce"} }
		o.Warnings = func() []string { return []string{"from the settings"} }
	})
	want := exampleStatus()
	want.Version, want.Settings = "v1.2.3", map[string]string{"mode": "enforce"}
	want.Warnings = []string{"one host is stuck", "from the settings"}
	if diff := cmp.Diff(want, decoded[api.Status](t, send(t, s.API(), http.MethodGet, "/v1/status", "")), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	for _, f := range []*fake{seen(), {first: make(chan struct{})}} {
		h := made(t, f).API()
		for _, path := range []string{"/v1/status", "/v1/slots", "/v1/holds", "/v1/breakers", "/v1/queue"} {
			if body := send(t, h, http.MethodGet, path, "").Body.String(); strings.Contains(body, "null") {
				t.Errorf("a list is null in %s: %s", path, body)
			}
		}
		if len(f.status.Breakers) > 0 && f.status.Breakers[0].Causes[0].Hosts != nil {
			t.Error("the breakers of the Decider were changed")
		}
	}
	if diff := cmp.Diff(want.Slots, decoded[api.SlotsView](t, send(t, s.API(), http.MethodGet, "/v1/slots", "")), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// However many read the status, the decision is read once for each change, and once a second for its ages. A reader
// after a change reads the change.
func TestReadersShareOneStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := seen()
		f.still = true
		s := made(t, f)
		read := func(want uint64) {
			t.Helper()
			var all sync.WaitGroup
			for i := range 64 {
				all.Go(func() {
					if i%2 == 0 {
						send(t, s.Metrics(), http.MethodGet, "/metrics", "")
					} else if got := decoded[api.SlotsView](t, send(t, s.API(), http.MethodGet, "/v1/slots", "")); got.Total != f.status.Slots.Total {
						t.Errorf("read %+v", got.Total)
					}
				})
			}
			all.Wait()
			if n := f.reads.Load(); n != want {
				t.Errorf("the decision was read %d times, want %d", n, want)
			}
		}
		read(1)
		f.status.Slots.Total.Limit++
		f.revision.Add(1)
		read(2)
		<-time.After(statusMaxAge)
		read(3)
	})
}

// However many read, decisions have 19 parts of 20 of the time.
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
			t.Error("a reader was not told that it took too long")
		}
		_ = g.do(t.Context(), func() {})
		if waited := time.Since(begun); waited != lockPause {
			t.Errorf("after a minute the next one waited %v, want %v", waited, lockPause)
		}
	})
}
