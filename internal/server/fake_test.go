package server

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/metrics"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a Decider that says what it is told to say.
type fake struct {
	first  chan struct{}
	answer api.Answer
	status func() api.Status
	on     func() // called by IsReady

	queue    api.Queue
	holds    api.Holds
	why      api.Why
	breakers api.Breakers
	release  func(namespace, name, episode string) (api.ReleaseAnswer, error)
	change   func(scope, how string, d time.Duration) (api.BreakerAnswer, error)

	revision atomic.Uint64

	mu     sync.Mutex
	asks   []api.Ask
	limits []int          // of QueueOf
	query  api.QueueQuery // the last one
}

// seen returns a fake with a first complete poll behind it.
func seen() *fake {
	f := unseen()
	close(f.first)
	return f
}

func unseen() *fake {
	return &fake{
		first:  make(chan struct{}),
		answer: api.Answer{Ready: true, Reason: api.ReasonGranted, Message: "takes a free slot"},
		status: exampleStatus,
		queue:  exampleQueue(),
		holds:  exampleHolds(), breakers: api.Breakers{Enabled: true, Breakers: exampleStatus().Breakers},
	}
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
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limits, f.query = append(f.limits, query.Limit), query
	return f.queue
}

func (f *fake) Why(_ time.Time, namespace, name string) api.Why {
	w := f.why
	w.Host = namespace + "|" + name
	return w
}

func (f *fake) Holds(time.Time) api.Holds       { return f.holds }
func (f *fake) Breakers(time.Time) api.Breakers { return f.breakers }
func (f *fake) ReleaseHold(_ time.Time, namespace, name, episode string) (api.ReleaseAnswer, error) {
	return f.release(namespace, name, episode)
}

func (f *fake) ResetBreaker(_ time.Time, scope string) (api.BreakerAnswer, error) {
	return f.change(scope, "reset", 0)
}

func (f *fake) TripBreaker(_ time.Time, scope string, d time.Duration) (api.BreakerAnswer, error) {
	return f.change(scope, "trip", d)
}

func (f *fake) View(time.Time) api.View { return f.status().View }

// Revision moves with each call: the status may be another one each time.
func (f *fake) Revision() uint64 { return f.revision.Add(1) }

func (f *fake) Vacancy(time.Time) api.Answer { return f.answer }
func (f *fake) Status(time.Time) api.Status  { return f.status() }
func (f *fake) FirstPoll() <-chan struct{}   { return f.first }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// exampleStatus has something in every place.
func exampleStatus() api.Status {
	return api.Status{
		Mode: "enforce", Now: noon,
		View: api.View{Fresh: true, Settled: true, AgeSeconds: 2.5, Polls: 7, TakenAt: noon.Add(-2500 * time.Millisecond), BusyNodes: 3},
		Slots: api.SlotsView{
			Total: api.Slots{Limit: 20, Occupied: 3, Free: 17, Leased: 1, Booting: 1, Waiting: 4},
			Pools: map[string]api.Slots{"rack1": {Limit: 8, Occupied: 2, Free: 6}},
			Occupants: []api.Occupant{
				{Name: "metal3~a", Kind: "granted", Op: api.OpProvision, Counted: true, SinceSeconds: 3},
				{Name: "metal3~b", Kind: "adopted", Busy: true, Stuck: true, Counted: true},
				{Name: "metal3~c", Kind: "foreign", Busy: true, Stuck: true},
				{Name: "metal3~d", Kind: "booting", Busy: true},
			},
		},
		Asks:     []api.Count{{Reason: api.ReasonGranted, Count: 5}, {Reason: api.ReasonFull, Count: 11}},
		Refusals: []api.Count{{Reason: api.ReasonFull, Count: 2}},
		Totals:   api.Totals{Granted: 5, Finished: 4, Expired: 3, Refused: 8, Vanished: 2, Adopted: 1, Foreign: 6, WrittenOff: 7},
		Turns: api.Turns{
			Waits: api.WaitHistogram{Bounds: []float64{60, 600}, Counts: []uint64{3, 4}, Count: 5, SumSeconds: 1234.5},
			Waiting: []api.WaitingCount{
				{Lane: "healthy", Tenant: "metal3", Hosts: 3, WaitedSeconds: 55.5}, {Lane: "failing", Tenant: "metal3", Hosts: 1, WaitedSeconds: 7},
				{Lane: "healthy", Tenant: "(others)", Hosts: 2, WaitedSeconds: 8}, {Lane: "healthy", Hosts: 1},
			},
			Stopped: 6,
		},
		Sizing: exampleSizing(),
		Breakers: []api.Breaker{
			{
				Scope: "group:rack1", State: "OPEN", Mode: "consecutive", RecentFailures: 3, FailureThreshold: 3, ProbeLimit: 2, MaxConcurrent: 20,
				LastStateChange: noon.Add(-time.Minute), TimeToRecovery: 840, Tripped: true,
				Causes: []api.BreakerCause{{Text: "time-out", Count: 2, Hosts: []string{"metal3~a", "metal3~b"}}, {Text: "no route", Count: 1, Hosts: []string{}}},
			},
			{
				Scope: "ironic", State: "HALF_OPEN", Mode: "window", RecentFailures: 10, FailureThreshold: 10, InstancesThisMinute: 4, RateLimit: 10,
				ConcurrentInstances: 3, MaxConcurrent: 20, Probes: 1, ProbeLimit: 2, Causes: []api.BreakerCause{},
			},
		},
		Holds: &api.HoldCounts{Held: 4, Failed: 2},
		Storm: api.Storm{
			Opened:     map[string]uint64{"ironic": 1, "group": 2, "driver": 0, "image": 0},
			HoldsBegun: 9, HoldsReleased: map[string]uint64{"hand": 1, "spec": 2, "time": 3, "success": 4, "gone": 5},
			Outcomes: []api.OutcomeCount{
				{Result: "success", Work: "deploy", Whose: "ours", Count: 12}, {Result: "failure", Work: "inspect", Whose: "foreign", Count: 3},
				{Result: "failure", Work: "inspect", Whose: "foreign", Count: 1},
			},
			Pools: []api.PoolFailures{{Failed: 1, Hosts: 9, Allowed: 3}, {Pool: "rack1", Failed: 5, Hosts: 10, Allowed: 4, Paused: true}},
		},
		Warnings: []string{"one host is stuck"},
	}
}

func exampleSizing() api.Sizing {
	return api.Sizing{
		Mode: "adaptive",
		Pools: []api.PoolSizing{
			{
				Limit: 34, Ceiling: 60, Recommended: 34, Verdict: api.SizingKeep,
				Evidence: "boots took 3.1 times as long with 34 at once on 12 Nov; 60 boots at 20 slots lost none",
			},
			{Pool: "rack1", Limit: 8, Ceiling: 9, Verdict: api.SizingUnknown},
		},
		Boots: []api.BootTimes{{State: "wait call-back", Group: "rack1", Up: exampleTimes(7, 701.5), Failed: 2, Ended: 1}},
	}
}

// exampleTimes are all within the first bucket.
func exampleTimes(count uint64, sum float64) api.Histogram {
	return api.Histogram{Count: count, SumSeconds: sum, Buckets: slices.Repeat([]uint64{count}, len(api.TimeBuckets()))}
}

// exampleHolds has something in every place.
func exampleHolds() api.Holds {
	return api.Holds{
		Timeout: "48h", Stage: "retry", Unsaved: 1,
		Hosts: []api.Hold{
			{
				Namespace: "metal3", Name: "a", NodeUUID: "u-1", Episode: "e-1", Kind: "deployment", State: "deploy failed", Cause: "time-out",
				Failures: 2, Held: true, Since: noon.Add(-time.Hour), Until: noon.Add(47 * time.Hour), RemainingSeconds: 169200,
			},
			{Name: "b", NodeUUID: "u-2", Episode: "e-2", Kind: "inspection", Failures: 1, Released: true, Since: noon},
		},
		Pools: []api.PoolFailures{{Pool: "rack1", Failed: 5, Hosts: 10, Allowed: 4, Paused: true}},
	}
}

// exampleQueue has something in every place.
func exampleQueue() api.Queue {
	expected := 120.0
	return api.Queue{Pools: []api.PoolQueue{
		{
			Limit: 20, Free: 1, Waiting: 4, Due: 1, Silent: 1,
			MeanSlotSeconds: 1200, FailingOpen: true, FailingAllowed: 5, FailingHeld: 1,
			Tenants: []api.TenantQueue{{Tenant: "metal3", Weight: 1, Holding: 2, Waiting: 2, Failing: 1, Granted: 9}},
			Hosts: []api.QueuedHost{{
				Position: 1, Name: "metal3~a", NodeUUID: "u-1", Tenant: "metal3", Lane: "failing", Errors: 3, Due: true,
				WaitedSeconds: 61, SilentSeconds: 2, ExpectSeconds: &expected,
			}},
		},
		{Pool: "rack1", Limit: 8},
	}}
}

// made builds a Server round f.
func made(t testing.TB, f Decider, change ...func(*Options)) *Server {
	t.Helper()
	m := metrics.New()
	o := Options{
		Decider: f, Version: "v1.2.3", Now: func() time.Time { return noon },
		Metrics: m.Handler(slog.New(slog.DiscardHandler)), Instrument: m.Route,
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
func decoded[T any](t *testing.T, w *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
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
