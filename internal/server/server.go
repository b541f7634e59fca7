package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/snapshot"
)

// Decider is what the server needs of the decision. Its methods are safe for
// concurrent use and do not block.
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
	// ReleaseHold ends the hold of a host, of whatever episode when that is "". The
	// error is api.ErrNoHold or an *api.EpisodeError (BO-10).
	ReleaseHold(now time.Time, namespace, name, episode string) (api.ReleaseAnswer, error)
	// Breakers shows the circuit breakers.
	Breakers(now time.Time) api.Breakers
	// ResetBreaker closes the breaker of a scope, TripBreaker opens it for d, or for
	// its recovery time when d is 0 (CB-29). The error is api.ErrNoBreaker or an
	// *api.FieldError.
	// CheckScope tells before whether anybody was seen in the scope: the error may be an
	// *api.UnknownScopeError too.
	CheckScope(now time.Time, scope string) error
	ResetBreaker(now time.Time, scope string) (api.BreakerAnswer, error)
	TripBreaker(now time.Time, scope string, d time.Duration) (api.BreakerAnswer, error)
	// FirstPoll is closed after the first complete poll.
	FirstPoll() <-chan struct{}
}

// hasScopeTimeout bounds what Ironic is asked for a change: a client waits for 2 s.
const hasScopeTimeout = 1500 * time.Millisecond

// Options is what New needs. Decider is required; everything else may be zero.
type Options struct {
	Decider Decider
	Version string
	// Settings are the effective ones, without secrets. It is called for each
	// status, because some change while running.
	Settings func() map[string]string
	// Cluster is what the status shows of the cluster; nil, or nil from it: nothing.
	Cluster func() *api.Cluster
	// Warnings are added to those of the Decider.
	Warnings func() []string
	// Access is asked about every request to the API, the page too; nil: everybody may
	// do everything. It needs TLS: a token must not travel in the clear.
	Access Access
	// TLS is how the API is served; nil: plain HTTP.
	TLS *tls.Config
	// Address is where the API listens, as LISTEN_ADDRESS has it.
	Address string
	// Standby tells why this process does not decide, such as "throttle-1 leads"; "" where
	// it does (LH-27). It is called for each request and must not block. nil: it always does.
	Standby func() (why string)
	// Observe: nothing is refused. Asks are answered and the process is ready also where
	// Standby says why it does not decide.
	Observe bool
	// HasScope asks Ironic whether a node belongs to the scope of a breaker; nil: nobody
	// can be asked.
	HasScope func(ctx context.Context, scope string) (bool, error)
	// FindNode asks Ironic for the state of a node, by name or UUID; false when it has none.
	// nil: nobody can be asked.
	FindNode func(ctx context.Context, key string) (state string, found bool, err error)
	// Groups are the scopes of all conductor groups that nodes of Ironic are in, as far as
	// they can be found out in time; nil: not known. It is called for a misspelt one only.
	Groups func(ctx context.Context) []string
	// Save makes released holds last; it is called before a release is answered. nil:
	// there is nothing to save.
	Save func() error
	// Registry gets our metrics and those of Collectors; nil: a new one, with
	// the metrics of Go and of the process.
	Registry   *prometheus.Registry
	Collectors []prometheus.Collector
	Now        func() time.Time // nil: time.Now
	Log        *slog.Logger     // nil: silent
}

// Server holds the handlers. Make one with New; Serve runs them.
type Server struct {
	decider  Decider
	version  string
	settings func() map[string]string
	warnings func() []string
	cluster  func() *api.Cluster
	save     func() error
	hasScope func(context.Context, string) (bool, error)
	findNode func(context.Context, string) (string, bool, error)
	groups   func(context.Context) []string
	now      func() time.Time
	log      *slog.Logger
	requests *prometheus.HistogramVec
	drain    time.Duration
	gentle   *gentle
	access   Access
	standby  func() (why string)
	observe  bool
	tls      *tls.Config
	address  string
	names    atomic.Pointer[httpserve.Names] // by which the API may be asked; nil: any
	statuses *snapshot.Cache[struct{}, api.Status]

	api, local, health, metrics http.Handler
}

// New builds the handlers and registers the metrics. It opens nothing.
func New(o Options) (*Server, error) {
	if o.Decider == nil {
		return nil, errors.New("options: Decider must be set")
	}
	if o.Access != nil && o.TLS == nil {
		return nil, errors.New("options: Access needs TLS")
	}
	s := &Server{
		decider: o.Decider, version: o.Version, settings: o.Settings, warnings: o.Warnings, cluster: o.Cluster, save: o.Save, hasScope: o.HasScope, findNode: o.FindNode, groups: o.Groups,
		now: o.Now, log: o.Log, requests: newRequestMetric(), drain: drainTimeout, gentle: newGentle(),
		access: o.Access, standby: o.Standby, observe: o.Observe, tls: o.TLS, address: o.Address,
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.standby == nil {
		s.standby = func() string { return "" }
	}
	var err error
	if s.statuses, err = newStatuses(s.decider, newGentle(), s.now); err != nil {
		return nil, err
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
		o.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	for _, c := range append([]prometheus.Collector{s.requests, newCollector(s)}, o.Collectors...) {
		if err := o.Registry.Register(c); err != nil {
			return nil, err
		}
	}
	everything := routes{
		"/v1/isready":  {http.MethodGet: s.asked(s.vacancy), http.MethodPost: s.asked(s.isReady)},
		"/v1/status":   {http.MethodGet: s.status},
		"/v1/slots":    {http.MethodGet: s.slots},
		"/v1/queue":    {http.MethodGet: s.queue},
		"/v1/holds":    {http.MethodGet: s.holds},
		"/v1/breakers": {http.MethodGet: s.breakers},
		"/":            {http.MethodGet: servePage},

		"/v1/why/{namespace}/{name}":           {http.MethodGet: s.why},
		"/v1/holds/{namespace}/{name}/release": {http.MethodPost: s.leader(s.releaseHold)},
		"/v1/breakers/{scope}/reset":           {http.MethodPost: s.leader(s.resetBreaker)},
		"/v1/breakers/{scope}/trip":            {http.MethodPost: s.leader(s.tripBreaker)},
	}
	s.api, s.local = s.guarded(s.permitted, everything), s.guarded(nearby, everything)
	s.health = s.guarded(anybody, routes{
		"/healthz": {http.MethodGet: healthz},
		"/readyz":  {http.MethodGet: s.readyz},
	})
	s.metrics = s.guarded(anybody, routes{"/metrics": {http.MethodGet: metricsHandler(o.Registry, s.log)}})
	return s, nil
}

// API is the handler of /v1 and the page.
func (s *Server) API() http.Handler { return s.api }

// Local is the handler of the same without Access.
func (s *Server) Local() http.Handler { return s.local }

// Health is the handler of /healthz and /readyz.
func (s *Server) Health() http.Handler { return s.health }

// Metrics is the handler of /metrics.
func (s *Server) Metrics() http.Handler { return s.metrics }
