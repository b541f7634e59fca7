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
	// IsReady decides about a valid, normalized ask.
	IsReady(now time.Time, ask api.Ask) api.Answer
	// Vacancy tells whether a slot is free and changes nothing.
	Vacancy(now time.Time) api.Answer
	// Status shows everything but Version and Settings.
	Status(now time.Time) api.Status
	// View tells how fresh the view of Ironic is, and costs nothing.
	View(now time.Time) api.View
	// Revision moves with everything that Status shows but what time alone changes.
	Revision() uint64
	// QueueOf shows who waits, as far as query wants to know.
	QueueOf(now time.Time, query api.QueueQuery) api.Queue
	// Why tells the story of one host and changes nothing.
	Why(now time.Time, namespace, name string) api.Why
	// Holds shows the failed hosts.
	Holds(now time.Time) api.Holds
	// ReleaseHold ends the hold of a host, of whatever episode when that is "". An *api.Error says why not.
	ReleaseHold(now time.Time, namespace, name, episode string) (api.ReleaseAnswer, error)
	// Breakers shows the circuit breakers.
	Breakers(now time.Time) api.Breakers
	// ResetBreaker closes the breaker of a scope, TripBreaker opens it for d, or for its recovery time when d is 0.
	// An *api.Error says why not.
	ResetBreaker(now time.Time, scope string) (api.BreakerAnswer, error)
	TripBreaker(now time.Time, scope string, d time.Duration) (api.BreakerAnswer, error)
	// FirstPoll is closed after the first complete poll.
	FirstPoll() <-chan struct{}
}

// Options is what New needs. Access, TLS and Planner may be nil. The functions are called for each request and must not block.
type Options struct {
	Decider Decider
	// Complete adds to a status what is no matter of the Decider. Readers share what the status holds: it is not changed.
	Complete func(*api.Status)
	// Access is asked about every request to the API, the page too; nil: each is let in. It needs TLS: a token must not
	// travel in the clear. MetricsAccess is the same for /metrics.
	Access, MetricsAccess Access
	// TLS and MetricsTLS are how API and metrics are served; nil: plain HTTP.
	TLS, MetricsTLS *tls.Config
	// Address is where the API listens, as LISTEN_ADDRESS has it.
	Address string
	// Leading reports whether this process decides. Standby tells why it does not, such as "throttle-1 leads", and
	// CouldLead whether it could take over now, and so is ready.
	Leading   func() bool
	Standby   func() (why string)
	CouldLead func() bool
	// Observe reports whether nothing is refused now: then asks are answered and the process is ready also where it does
	// not decide.
	Observe func() bool
	// Save makes released holds last; it is called before a release is answered.
	Save func() error
	// Planner answers GET /v1/plan; nil: nothing is planned.
	Planner Planner
	// Running is the planned work that is being carried out; nil from it: none.
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
	// By any name: proxies in front pass on names of their own, and nothing can be changed here.
	s.metrics = s.guarded(&gate{access: o.MetricsAccess}, s.metricsRoutes())
	return s, nil
}

// API is the handler of /v1 and the page.
func (s *Server) API() http.Handler { return s.api }

// Health is the handler of /healthz and /readyz.
func (s *Server) Health() http.Handler { return s.health }
