package gate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/proxy"
	"github.com/ironic-throttle/ironic-throttle/internal/gateway/spool"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// alone is a Gate on s in mode observe with nothing behind it.
func alone(s *shownNodes) *Gate {
	log := slog.New(slog.DiscardHandler)
	return New(Options{
		Proxy: proxy.New(proxy.Options{Base: &url.URL{}, Log: log}), Ironic: s, Decider: s, Observe: func() bool { return true },
		Timeout: time.Minute, ListMaxAge: time.Minute, Now: time.Now, Log: log,
	})
}

// GW-14: a node that was not seen before its PUT is looked for when Ironic has taken it: a 2xx, nothing else.
func TestGW14_WhatIronicHasTakenIsLookedFor(t *testing.T) {
	for status, looks := range map[int]int{0: 0, 101: 0, 200: 1, 202: 1, 299: 1, 300: 0, 409: 0, 500: 0} {
		for _, unknown := range []bool{false, true} {
			s := &shownNodes{}
			g := alone(s)
			g.landed(t.Context(), &flight{status: status, now: time.Now}, leave{unknown: unknown}, "u", ironic.TargetActive)
			want := looks
			if !unknown {
				want = 0
			}
			if len(s.heard) != want {
				t.Errorf("%d, unknown %t: looked for %d times, want %d", status, unknown, len(s.heard), want)
			}
			g.proxy.Close()
		}
	}
}

// GW-17: a fetch has ten seconds, whoever asked for it and however long that one has.
func TestGW17_AFetchIsBounded(t *testing.T) {
	for name, fetch := range map[string]func(g *Gate){
		"before a PUT": func(g *Gate) { _, _, _ = g.fetch(context.Background(), "u") },
		"after a PUT": func(g *Gate) {
			gone, cancel := context.WithCancel(context.Background())
			cancel() // its client waits no more
			g.surprised(gone, "u", ironic.TargetActive)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, begin := alone(&shownNodes{slow: true}), time.Now()
			fetch(g)
			if took := time.Since(begin); took != 10*time.Second {
				t.Errorf("%s: it took %v", name, took)
			}
		})
	}
}

// GW-8: who writes all of its body before it reads sees the answer, whatever is wrong; whose body is too late loses its
// connection.
func TestGW8_AnAnswerToABodyIsSeen(t *testing.T) {
	for _, row := range []struct {
		err    error
		status int
		left   int // bytes of the body that are not read
		header string
	}{
		{os.ErrDeadlineExceeded, http.StatusConflict, 100, "close"},
		{spool.ErrTooLarge, http.StatusRequestEntityTooLarge, 0, ""},
		{spool.ErrNoRoom, http.StatusConflict, 0, ""},
		{spool.ErrBroken, http.StatusBadRequest, 100, "close"},
		{io.ErrShortWrite, http.StatusConflict, 0, ""},
	} {
		g := New(Options{Log: slog.New(slog.DiscardHandler)})
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPut, "/", strings.NewReader(strings.Repeat("x", 100)))
		g.badBody(w, r, row.err)
		rest, _ := io.ReadAll(r.Body)
		if got := w.Result(); got.StatusCode != row.status || len(rest) != row.left || got.Header.Get("Connection") != row.header {
			t.Errorf("%v: %s, %d bytes left, connection %q", row.err, got.Status, len(rest), got.Header.Get("Connection"))
		}
	}
}

// watched is a Decider that tells what an Observer has told it.
type watched struct {
	*shownNodes
	gone []string
}

func (w *watched) HostGone(_ time.Time, h admission.Host) { w.gone = append(w.gone, h.NodeUUID) }
func (*watched) HasSlot(time.Time, string) bool           { return true }

type answering func(*http.Request) (*http.Response, error)

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// LH-13: of what passes by, the decision hears of the node that was asked about, and of one that is gone; else nothing.
func TestLH13_WhatAnObserverTells(t *testing.T) {
	const uuid, other = "6f3b2c1a-0000-4000-8000-000000000001", "6f3b2c1a-0000-4000-8000-000000000002"
	for _, row := range []struct {
		method, path, minor string
		status              int
		shown               ironic.Node
		heard, gone         int
	}{
		{http.MethodGet, "/v1/nodes/" + uuid, "1.46", 200, ironic.Node{UUID: uuid, State: ironic.Active}, 1, 0},
		{http.MethodGet, "/v1/nodes/" + uuid, "1.46", 200, ironic.Node{UUID: strings.ToUpper(uuid), State: ironic.Active}, 1, 0},
		{http.MethodGet, "/v1/nodes/" + uuid, "1.46", 200, ironic.Node{UUID: other, State: ironic.Active}, 0, 0},
		{http.MethodGet, "/v1/nodes/" + uuid, "1.46", 200, ironic.Node{UUID: uuid}, 0, 0},
		{http.MethodGet, "/v1/nodes/" + uuid, "1.46", 404, ironic.Node{UUID: uuid, State: ironic.Active}, 0, 0},
		{http.MethodGet, "/v1/nodes/" + uuid, "1.45", 200, ironic.Node{UUID: uuid, State: ironic.Active}, 0, 0},
		{http.MethodPost, "/v1/nodes/" + uuid, "1.46", 200, ironic.Node{UUID: uuid, State: ironic.Active}, 0, 0},
		{http.MethodGet, "/v1/ports/" + uuid, "1.46", 200, ironic.Node{UUID: uuid, State: ironic.Active}, 0, 0},
		{http.MethodDelete, "/v1/nodes/" + uuid, "1.46", 204, ironic.Node{}, 0, 1},
		{http.MethodDelete, "/v1/nodes/" + uuid, "1.46", 200, ironic.Node{}, 0, 1},
		{http.MethodDelete, "/v1/nodes/" + uuid, "1.46", 299, ironic.Node{}, 0, 1},
		{http.MethodDelete, "/v1/nodes/" + uuid, "1.46", 409, ironic.Node{}, 0, 0},
		{http.MethodDelete, "/v1/ports/" + uuid, "1.46", 204, ironic.Node{}, 0, 0},
		{http.MethodDelete, "/v1/nodes/" + uuid + "/vifs/x", "1.46", 204, ironic.Node{}, 0, 0},
	} {
		d := &watched{shownNodes: &shownNodes{shown: row.shown}}
		o := &Observer{Ironic: d, Decider: d, Now: time.Now, Next: answering(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: row.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), ContentLength: 2, Request: r}, nil
		})}
		r := httptest.NewRequest(row.method, row.path, nil)
		r.Header.Set("X-OpenStack-Ironic-API-Version", row.minor)
		resp, err := o.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(resp.Body)
		if diff := cmp.Diff([]int{row.heard, row.gone}, []int{len(d.heard), len(d.gone)}); diff != "" {
			t.Errorf("%s %s %s %d: %s", row.method, row.path, row.minor, row.status, diff)
		}
	}
}

// What the way to Ironic fails with is what its user gets, of whatever request.
func TestGW9_AnObserverPassesFailuresOn(t *testing.T) {
	away := errors.New("away")
	d := &watched{shownNodes: &shownNodes{}}
	o := &Observer{Ironic: d, Decider: d, Now: time.Now, Next: answering(func(*http.Request) (*http.Response, error) { return nil, away })}
	for _, r := range []*http.Request{
		httptest.NewRequest(http.MethodGet, "/v1/nodes/6f3b2c1a-0000-4000-8000-000000000001", nil), httptest.NewRequest(http.MethodGet, "/v1/ports", nil),
		httptest.NewRequest(http.MethodDelete, "/v1/nodes/6f3b2c1a-0000-4000-8000-000000000001", nil),
	} {
		r.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
		if _, err := o.RoundTrip(r); !errors.Is(err, away) || len(d.gone) > 0 {
			t.Errorf("%s %s: %v, gone %q", r.Method, r.URL.Path, err, d.gone)
		}
	}
}

// GW-6: it is said where nobody knows what became of a PUT: after a 5xx, or nothing at all.
func TestGW6_WhatIsNotKnownIsLogged(t *testing.T) {
	for _, row := range []struct {
		status int
		lost   bool
		lines  int
	}{{202, false, 0}, {499, false, 0}, {500, false, 1}, {503, false, 1}, {0, true, 1}, {0, false, 0}} {
		var log bytes.Buffer
		g := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		f := &flight{pass: &admission.Pass{}, status: row.status, lost: row.lost, now: time.Now}
		g.landed(t.Context(), f, leave{}, "u", ironic.TargetActive)
		if n := strings.Count(log.String(), "it is not known what became of"); n != row.lines {
			t.Errorf("%+v: %s", row, log.String())
		}
	}
}

// GW-19: who waits is among the next, and only a free slot is missing.
func TestGW19_WhoIsWorthItsPlace(t *testing.T) {
	q := &queue{}
	q.places.Store(2)
	for a, want := range map[api.Reason][]bool{ // by position, from 0 on
		api.ReasonFull: {false, true, true, false}, api.ReasonTurn: {false, true, true, false},
		api.ReasonStale: {false, false, false, false}, api.ReasonStarting: {false, false, false, false},
	} {
		for position, want := range want {
			if got := q.worthIt(api.Answer{Reason: a, Position: position}); got != want {
				t.Errorf("%s, number %d: %t", a, position, got)
			}
		}
	}
}
