package server

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ironic-throttle/ironic-throttle/internal/page"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestStatusIsTheDecidersPlusOurs(t *testing.T) {
	s := made(t, seen(), func(o *Options) {
		o.Complete = func(s *api.Status) { s.Settings = map[string]string{"mode": "enforce"} }
	})
	want := seen().status
	want.Settings = map[string]string{"mode": "enforce"}
	if diff := cmp.Diff(want, decoded[api.Status](t, send(t, s.api, http.MethodGet, "/v1/status", "")), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Slots, decoded[api.SlotsView](t, send(t, s.api, http.MethodGet, "/v1/slots", "")), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	fresh, err := admission.New(admission.DefaultConfig(), noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []Decider{seen(), fresh, &fake{}} {
		for _, path := range []string{"/v1/status", "/v1/slots", "/v1/holds", "/v1/breakers", "/v1/queue", "/v1/why/a/b"} {
			if body := send(t, made(t, d).api, http.MethodGet, path, "").Body.String(); strings.Contains(body, "null") {
				t.Errorf("a list is null in %s: %s", path, body)
			}
		}
		if f, ok := d.(*fake); ok && len(f.status.Breakers) > 0 && f.status.Breakers[0].Causes[0].Hosts != nil {
			t.Error("the breakers of the Decider were changed")
		}
	}
	body := send(t, made(t, fresh).metrics, http.MethodGet, "/metrics", "").Body.String()
	// A rate would miss the first event of a series that begins with it: of answers, and of refusals in mode observe.
	for series, want := range map[string]int{`{reason="full"} 0`: 2, `{reason="hold"} 0`: 2, `{result="failure",work="deploy"} 0`: 1} {
		if got := strings.Count(body, series+"\n"); got != want {
			t.Errorf("%d metrics have %s, want %d", got, series, want)
		}
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
						send(t, s.metrics, http.MethodGet, "/metrics", "")
					} else if got := decoded[api.SlotsView](t, send(t, s.api, http.MethodGet, "/v1/slots", "")); got.Total != f.status.Slots.Total {
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

func TestQueueIsTheDeciders(t *testing.T) {
	rack := "rack1"
	for _, row := range []struct {
		query string
		want  api.QueueQuery
		pools []string
	}{
		{"", api.QueueQuery{Limit: 100}, []string{"", "rack1"}},
		{"?limit=0", api.QueueQuery{}, []string{"", "rack1"}},
		{"?pool=", api.QueueQuery{Limit: 100, Pool: new(string)}, []string{""}},
		{"?limit=7&pool=Rack1", api.QueueQuery{Limit: 7, Pool: &rack}, []string{"rack1"}},
		{"?namespace=metal3&reason=hold", api.QueueQuery{Limit: 100, Namespace: "metal3", Reason: api.ReasonHold}, []string{"", "rack1"}},
	} {
		f := seen()
		var pools []string
		for _, p := range decoded[api.Queue](t, send(t, made(t, f).api, http.MethodGet, "/v1/queue"+row.query, "")).Pools {
			pools = append(pools, p.Pool)
		}
		if !reflect.DeepEqual(f.queries, []api.QueueQuery{row.want}) || !slices.Equal(pools, row.pools) {
			t.Errorf("%q: asked for %+v, got pools %q", row.query, f.queries, pools)
		}
	}
	for _, row := range []struct{ query, field, words string }{
		{"limit=-1", "limit", `limit: "-1" is not a whole number 0..1000`},
		{"limit=1001", "limit", "0..1000"},
		{"limit=" + strings.Repeat("9", 1000), "limit", `9…" is`},
		{"limit=1&limit=1", "limit", "is given twice"},
		{"pool=rack2", "pool", `pool: "rack2" has no limit of its own`},
		{"Limit=1", "Limit", "known are limit, namespace, pool, reason"},
		{"reason=ful", "reason", `reason: "ful" must be one of [granted `},
		{"limit=%zz", "query", "cannot be read"},
		{"=1", "query", "is not a parameter"},
	} {
		e := isError(t, send(t, made(t, seen()).api, http.MethodGet, "/v1/queue?"+row.query, ""), http.StatusBadRequest, row.field)
		if !strings.Contains(e.Message, row.words) {
			t.Errorf("%.40s: %q, want %q", row.query, e.Message, row.words)
		}
	}
}

// Both pages and the story of a host in JSON, and what pages are made of.
func TestPagesAreServedWithTheirPolicy(t *testing.T) {
	h := made(t, seen()).api
	for path, want := range map[string]string{
		"/": `<h1 id="headline">`, "/why/metal3/host-1": "<h1>metal3|host-1 is ", "/why/-/bare": "<h1>|bare is ", "/page.css": ":root",
		"/page.js": "visibilitychange", "/v1/why/metal3/a%2Fb": `"host":"metal3|a/b"`, "/v1/why/-/u-1": `"host":"|u-1"`,
	} {
		w := send(t, h, http.MethodGet, path, "")
		header, kind := w.Header(), map[string]string{"css": "text/css", "js": "text/javascript"}[path[strings.LastIndex(path, ".")+1:]]
		if w.Code != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), kind) || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %v", path, w.Code, header)
		}
		if strings.HasPrefix(want, "<h1") && (header.Get("Content-Security-Policy") != page.Policy || header.Get("Content-Type") != "text/html; charset=utf-8") {
			t.Errorf("%s: %v", path, header)
		}
	}
}

// The page has buttons for users who may use them: for all where no token is asked for, else by what Access says of
// just that path; for none on a replica that does not decide.
func TestPageHasButtonsForUsersWhoMayUseThem(t *testing.T) {
	f := seen()
	f.why.Hold = &api.Hold{Namespace: "metal3", Name: "a", NodeUUID: "u-1", Held: true}
	g := &guards{}
	open, behind, waits := made(t, f), made(t, f, guarded(g)), made(t, f, standby(new(atomic.Bool)))
	for _, row := range []struct {
		name    string
		h       http.Handler
		headers []string
		buttons int
	}{
		{"open", open.api, nil, 3}, {"local", behind.local, nil, 3}, {"viewer", behind.api, token("reader"), 0},
		{"operator", behind.api, token("root"), 3}, {"standby", waits.api, nil, 0},
	} {
		for path, want := range map[string]int{"/": row.buttons, "/why/metal3/a": min(row.buttons, 1)} {
			got := strings.Count(send(t, row.h, http.MethodGet, "http://localhost"+path, "", row.headers...).Body.String(), "<button")
			if got != want {
				t.Errorf("%s: %d buttons on %s, want %d", row.name, got, path, want)
			}
		}
	}
	for _, want := range []string{
		"root post /v1/holds/metal3/a/release", "root post /v1/breakers/group:rack1/reset", "reader post /v1/breakers/ironic/reset",
	} {
		if !slices.Contains(g.asked, want) {
			t.Errorf("Access was not asked %q: %q", want, g.asked)
		}
	}
}
