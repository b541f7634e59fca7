package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/internal/page"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/snapshot"
)

// Decider is what the server needs of the decision. Its methods are safe for concurrent use and do not block.
type Decider interface {
	// IsReady decides on a valid, normalized ask.
	IsReady(now time.Time, ask api.Ask) api.Answer
	// Vacancy answers whether a slot is free, and changes nothing.
	Vacancy(now time.Time) api.Answer
	// Status returns the status, without what Options.Complete adds.
	Status(now time.Time) api.Status
	// View says how fresh the view of Ironic is, and costs little.
	View(now time.Time) api.View
	// Revision changes with all that Status returns, except what time alone changes.
	Revision() uint64
	// QueueOf returns the hosts that wait and that query asks for.
	QueueOf(now time.Time, query api.QueueQuery) api.Queue
	// Why says how one host stands and why, and changes nothing.
	Why(now time.Time, namespace, name string) api.Why
	// Holds returns the holds of failed hosts.
	Holds(now time.Time) api.Holds
	// ReleaseHold ends the hold of a host, if episode is its episode or "". An *api.Error says why it did not.
	ReleaseHold(now time.Time, namespace, name, episode string) (api.ReleaseAnswer, error)
	// Breakers returns the circuit breakers.
	Breakers(now time.Time) api.Breakers
	// ResetBreaker closes the breaker of a scope. TripBreaker opens it for d, or for its recovery time if d is 0. An
	// *api.Error says why they did not.
	ResetBreaker(now time.Time, scope string) (api.BreakerAnswer, error)
	TripBreaker(now time.Time, scope string, d time.Duration) (api.BreakerAnswer, error)
	// FirstPoll is closed after the first complete poll.
	FirstPoll() <-chan struct{}
}

// Options is what New needs. Access, TLS and Planner may be nil. No function but Save may block.
type Options struct {
	Decider Decider
	// Complete adds to a status what the Decider does not know. Readers share its lists and maps: Complete changes none.
	Complete func(*api.Status)
	// Access checks every request to the API and the page; nil: everybody may do everything. It needs TLS, because a
	// token must not travel in the clear. MetricsAccess does the same for /metrics.
	Access, MetricsAccess Access
	// TLS and MetricsTLS are the TLS of API and metrics; nil: plain HTTP.
	TLS, MetricsTLS *tls.Config
	// Address is where the API listens, as IRONIC_THROTTLE_LISTEN_ADDRESS says.
	Address string
	// Leading reports whether this process decides. Standby says why it does not, such as "throttle-1 leads". CouldLead
	// reports whether it could take over now, and so is ready.
	Leading   func() bool
	Standby   func() (why string)
	CouldLead func() bool
	// Observe reports whether the mode is observe: then the process answers asks and is ready even if it does not
	// decide.
	Observe func() bool
	// Save saves the holds. The server calls it before it answers a release.
	Save func() error
	// Planner answers GET /v1/plan; nil: nothing is planned.
	Planner Planner
	// Running returns the planned work that the throttle carries out now; nil: none.
	Running func() *api.PlanRunning
	// Metrics answers GET /metrics.
	Metrics http.Handler
	// Instrument measures the requests to h. A route is one of a closed set, never what a client sent.
	Instrument func(route string, h http.Handler) http.Handler
	Now        func() time.Time
	Log        *slog.Logger
}

// Server holds the handlers. Make one with New; Serve runs them.
type Server struct {
	opts     Options
	drain    time.Duration
	gentle   *gentle
	gate     *gate // of the API
	statuses *snapshot.Cache[struct{}, api.Status]
	pages    *snapshot.Cache[struct{}, page.View]
	ending   context.Context // ends with the server
	end      context.CancelFunc

	api, local, health, metrics http.Handler
}

// New builds the handlers and opens nothing.
func New(o Options) (*Server, error) {
	if o.Access != nil && o.TLS == nil || o.MetricsAccess != nil && o.MetricsTLS == nil {
		return nil, errors.New("options: Access needs TLS")
	}
	s := &Server{opts: o, drain: drainTimeout, gentle: newGentle(), gate: &gate{access: o.Access}}
	s.ending, s.end = context.WithCancel(context.Background()) // Serve calls it
	if err := s.share(); err != nil {
		return nil, err
	}
	s.api = s.guarded(s.gate, s.apiRoutes())
	s.local = s.guarded(&gate{names: &httpserve.Names{}}, s.localRoutes())
	s.health = s.guarded(&gate{}, s.healthRoutes())
	// Metrics answer to any name: proxies pass on names of their own, and nobody can change anything here.
	s.metrics = s.guarded(&gate{access: o.MetricsAccess}, s.metricsRoutes())
	return s, nil
}

// API returns the handler of /v1 and the page.
func (s *Server) API() http.Handler { return s.api }

// Health returns the handler of /healthz and /readyz.
func (s *Server) Health() http.Handler { return s.health }
