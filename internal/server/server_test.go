package server

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/metrics"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ Decider = (*admission.Controller)(nil)

// fake is a Decider that says what it is told to say, and notes what it was asked for. Unless it is still its revision
// moves with each look.
type fake struct {
	first  chan struct{}
	answer api.Answer
	status api.Status
	why    api.Why
	err    error  // of changes
	on     func() // called by IsReady

	still           bool
	revision, reads atomic.Uint64 // reads of the status

	mu      sync.Mutex
	asks    []api.Ask
	queries []api.QueueQuery
	changes []string
}

// seen returns a fake with a first complete poll behind it. Its status has lists that are nil and maps that lack words:
// what is answered has all of them.
func seen() *fake {
	f := &fake{first: make(chan struct{}), answer: api.Answer{Ready: true, Reason: api.ReasonGranted}, status: api.Status{
		Mode: "enforce", Now: noon, View: api.View{Fresh: true, Settled: true, AgeSeconds: 2.5, Polls: 7},
		Slots: api.SlotsView{
			Total:     api.Slots{Limit: 20, Occupied: 3, Free: 17, Leased: 1, Booting: 1, Waiting: 4},
			Occupants: []api.Occupant{{Name: "metal3~a", Kind: "granted", Op: api.OpProvision, Counted: true, SinceSeconds: 3}},
		},
		Breakers: []api.Breaker{
			{Scope: "group:rack1", State: "OPEN", TimeToRecovery: 840, Causes: []api.BreakerCause{{Text: "time-out", Count: 2}}},
			{Scope: "ironic", State: "HALF_OPEN", Probes: 1, ProbeLimit: 2},
		},
		Warnings: []string{"one host is stuck"},
	}}
	close(f.first)
	return f
}

func (f *fake) IsReady(_ time.Time, ask api.Ask) api.Answer {
	f.mu.Lock()
	f.asks = append(f.asks, ask)
	f.mu.Unlock()
	if f.on != nil {
		f.on()
	}
	return f.answer
}

func (f *fake) asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asks)
}

func (f *fake) QueueOf(_ time.Time, query api.QueueQuery) api.Queue {
	f.queries = append(f.queries, query)
	return api.Queue{Pools: []api.PoolQueue{
		{Limit: 20, Waiting: 1, Hosts: []api.QueuedHost{{Position: 1, Name: "metal3~a", Tenant: "metal3", WaitedSeconds: 61}}}, {Pool: "rack1", Limit: 8},
	}}
}

func (f *fake) Why(_ time.Time, namespace, name string) api.Why {
	w := f.why
	w.Host = namespace + "|" + name
	return w
}

func (f *fake) Revision() uint64 {
	if f.still {
		return f.revision.Load()
	}
	return f.revision.Add(1)
}

func (f *fake) Status(time.Time) api.Status {
	f.reads.Add(1)
	return f.status
}

func (f *fake) View(time.Time) api.View      { return f.status.View }
func (f *fake) Vacancy(time.Time) api.Answer { return f.answer }
func (f *fake) FirstPoll() <-chan struct{}   { return f.first }
func (f *fake) Holds(time.Time) api.Holds {
	return api.Holds{Timeout: "48h", Hosts: []api.Hold{{Namespace: "metal3", Name: "a", NodeUUID: "u-1", Episode: "e-1", Held: true}}}
}

func (f *fake) Breakers(time.Time) api.Breakers {
	return api.Breakers{Enabled: true, Breakers: f.status.Breakers}
}

func (f *fake) ReleaseHold(_ time.Time, namespace, name, episode string) (api.ReleaseAnswer, error) {
	f.changes = append(f.changes, "release "+namespace+"|"+name+"|"+episode)
	return api.ReleaseAnswer{Released: true, Message: "may be tried again", Hold: api.Hold{NodeUUID: "u-1", Episode: "e-7"}}, f.err
}

func (f *fake) ResetBreaker(_ time.Time, scope string) (api.BreakerAnswer, error) {
	f.changes = append(f.changes, "reset "+scope)
	return api.BreakerAnswer{Changed: true, Message: "is so", Breaker: f.status.Breakers[0]}, f.err
}

func (f *fake) TripBreaker(now time.Time, scope string, d time.Duration) (api.BreakerAnswer, error) {
	answer, err := f.ResetBreaker(now, scope)
	f.changes = []string{"trip " + scope + " " + d.String()}
	return answer, err
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// made builds a Server around f.
func made(t testing.TB, f Decider, change ...func(*Options)) *Server {
	t.Helper()
	m := metrics.New()
	o := Options{
		Decider: f, Complete: func(s *api.Status) { s.Version = "v1.2.3" }, Now: func() time.Time { return noon },
		Leading: func() bool { return true }, CouldLead: func() bool { return false }, Observe: func() bool { return false },
		Save: func() error { return nil }, Running: func() *api.PlanRunning { return nil },
		Metrics: m.Handler(slog.New(slog.DiscardHandler)), Instrument: m.Route, Log: slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	m.Read(metrics.Sources{Status: s.Status, Leading: s.opts.Leading})
	return s
}

// logged is a Server around f that logs into what is returned.
func logged(t *testing.T, f Decider, change ...func(*Options)) (*Server, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	return made(t, f, append(change, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })...), &log
}

// send passes one request to h without a network.
func send(t *testing.T, h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// jsonType is the header of a good ask.
var jsonType = []string{"Content-Type", "application/json"}

// decoded reads the body of w.
func decoded[T any](t *testing.T, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	d := json.NewDecoder(w.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Header(), err)
	}
	return v
}

// isError fails unless w is an error of the one form.
func isError(t *testing.T, w *httptest.ResponseRecorder, code int, field string) api.Error {
	t.Helper()
	e := decoded[api.ErrorBody](t, w).Error
	if w.Code != code || e.Code != code || e.Field != field || e.Message == "" || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %s %+v, want %d with field %q", w.Code, w.Header(), e, code, field)
	}
	return e
}
