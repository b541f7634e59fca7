// Package app wires the throttle together and runs it: the only place that knows all the others. With several replicas
// the servers run in all of them, and the decision in the one that holds the Lease.
//
// Nothing is decided here, and nothing is done that another package could do: what the log
// says of the decision is in internal/decisionlog, every metric in internal/metrics, what
// hosts in the cluster ask for and are told in internal/clusterhosts.
package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/clusterhosts"
	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/decisionlog"
	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
	"github.com/ironic-throttle/ironic-throttle/internal/metrics"
	"github.com/ironic-throttle/ironic-throttle/internal/server"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Options is what New needs. Config is required; everything else may be zero.
type Options struct {
	// Config was checked by config.Load. A listener whose address is empty, as no file can say it, is not opened.
	Config config.Config
	// Warnings of config.Load; they are logged once and shown by /v1/status.
	Warnings []string
	// Reload is what Config was loaded from, for the hot reload of its file; nil: no reload.
	Reload *config.Sources
	Log    *slog.Logger   // nil: silent
	Level  *slog.LevelVar // of Log, which LOG_LEVEL changes; nil: it stays as it is
	// Version is shown by /v1/status and in the metrics.
	Version string
	// Transport replaces the network between us and Ironic, and with it all TLS settings; nil: the network.
	Transport http.RoundTripper
	// ClusterTransport does so for the network between us and the API server.
	ClusterTransport http.RoundTripper
	// NoListeners opens no address: API and Gateway are then the only ways in.
	NoListeners bool
	// Now is the clock that decisions go by; nil: time.Now. Poll interval and time-outs go by the real one.
	Now func() time.Time

	fleet state // replaces what reads the cluster for plans; nil: the cluster is read
}

// App is a throttle that is ready to run. Make one with New, then call Run once, also when it is not wanted any more:
// Run closes what New has opened. All other methods are safe for concurrent use, from New on.
type App struct {
	log         *slog.Logger
	level       *slog.LevelVar // nil: it never changes
	version     string
	now         func() time.Time
	client      *ironic.Client
	controller  *admission.Controller
	poller      *ironic.Poller
	server      *server.Server
	listeners   listeners
	reload      *config.Sources // nil: no reload
	holds       *store.Keeper
	nodes       *inventory.Inventory // all of Ironic, for the gateway; and plans, which read no states there
	gateway     *gateway.Gateway     // nil: none
	gatewayCert *httpserve.InUse
	kubePart
	operatorPart
	accessPart

	forcing sync.Mutex // held while force or what hosts ask for is put in force
	force   atomic.Pointer[force]
}

// New builds everything and opens the listeners. Nothing runs yet and nothing is sent to Ironic or the API server, so
// that one that is away is no error. An error names the setting, file or address that is wrong.
func New(ctx context.Context, o Options) (_ *App, err error) {
	a := &App{log: o.Log, level: o.Level, version: o.Version, now: o.Now, reload: o.Reload}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.now == nil {
		a.now = time.Now
	}
	if err := a.newKube(o); err != nil {
		return nil, err
	}
	a.force.Store(newForce(o.Config, o.Warnings))
	if err := a.newAccess(o.Config); err != nil {
		return nil, err
	}
	if a.client, err = ironic.NewClient(a.toIronic(o, a.log)); err != nil {
		return nil, err
	}
	var place store.Store // of the holds; nil: none
	switch {
	case a.holdMap != nil:
		place = a.holdMap
	case o.Config.Holdoff.File != "":
		place = store.NewFile(o.Config.Holdoff.File)
	}
	a.holds = store.New(place, a.now, a.log)
	if err := a.newDecision(o); err != nil {
		return nil, err
	}
	if err := a.newGateway(o); err != nil {
		return nil, err
	}
	m := metrics.New()
	if err := a.newPoller(o.Config, m); err != nil {
		return nil, err
	}
	plans, err := a.newPlanner(o.fleet)
	if err != nil {
		return nil, err
	}
	if err := a.newServer(m, plans); err != nil || o.NoListeners {
		return a, err
	}
	return a, a.listen(ctx)
}

// newDecision makes the Controller.
func (a *App) newDecision(o Options) error {
	decision, err := admissionConfig(o.Config, nil)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	decision.Notify = func(all []slots.Notice) { decisionlog.Slots(a.log, all) }
	decision.NotifyFailures = func(all []admission.FailureNotice) {
		decisionlog.Failures(a.log, all)
		a.holds.Changed()
	}
	decision.Leading = a.mayStart
	a.begun.Store(a.elector == nil) // who polls nothing yet lets nobody start
	if a.hosts != nil {
		decision.Hosts = a.hosts
	}
	if a.controller, err = admission.New(decision, a.now()); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	a.holds.Source = a.controller
	if a.hosts != nil {
		a.hosts.Decision, a.hosts.HoldChanged = a.controller, a.holds.Changed
	}
	a.nodes, err = inventory.New(inventory.Options{
		Source: a.client, Begin: a.controller.Begin, MaxAge: o.Config.View.ListMaxAge, Now: a.now, Log: a.log,
	})
	return err
}

// newPoller makes what reads Ironic.
func (a *App) newPoller(c config.Config, m *metrics.Metrics) (err error) {
	view := &polledView{Controller: a.controller, app: a, metrics: m}
	a.poller, err = ironic.NewPoller(a.client, view, ironic.PollerOptions{
		Interval: c.View.PollInterval, Timeout: pollTimeout(c), Now: a.now, Jitter: rand.Float64, Log: a.log,
	})
	if err != nil {
		return fmt.Errorf("poller: %w", err)
	}
	return nil
}

// polledView is the Controller as the Poller sees it: with a clock held to each poll, and
// with everybody else who goes by polls. Only the Poller's goroutine uses it.
type polledView struct {
	*admission.Controller
	app     *App
	metrics *metrics.Metrics
	begun   time.Time // of the last poll
}

// Whole implements ironic.View. It is asked at the begin of each poll.
func (v *polledView) Whole(now time.Time) bool {
	v.begun = now
	return v.Controller.Whole(now)
}

// Observe implements ironic.View.
func (v *polledView) Observe(now time.Time, o ironic.Observation) {
	v.metrics.Polled(true, now.Sub(v.begun))
	v.Controller.Observe(now, o)
	if v.app.gateway != nil { // it alone goes by states that are kept
		v.app.nodes.Observe(now, o)
	}
}

// PollFailed implements ironic.View.
func (v *polledView) PollFailed(now time.Time, err error) {
	v.metrics.Polled(false, now.Sub(v.begun))
	v.Controller.PollFailed(now, err)
}

// newServer makes the API and health, and lets m read everything.
func (a *App) newServer(m *metrics.Metrics, plans server.Planner) (err error) {
	if a.server, err = server.New(server.Options{
		Decider: a.decider(), Complete: a.complete, Now: a.now, Log: a.log,
		Leading:   a.mayStart,
		Standby:   a.standby,
		CouldLead: a.couldLead,
		Observe:   a.observes,
		Access:    a.api.access,
		TLS:       a.api.cert.Config(),

		MetricsAccess: a.metrics.access,
		MetricsTLS:    a.metrics.cert.Config(),

		Address:    a.force.Load().config.Listen.API,
		Planner:    plans,
		Running:    a.running,
		Save:       a.holds.Flush,
		Metrics:    m.Handler(a.log),
		Instrument: m.Route,
	}); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	sources := metrics.Sources{
		Status: a.server.Status, Leading: a.mayStart, Ironic: a.client.Stats,
		Certificates: []func() time.Time{a.api.cert.NotAfter, a.gatewayCert.NotAfter, a.metrics.cert.NotAfter},
	}
	if a.gateway != nil {
		sources.Gateway = a.gateway.Stats
	}
	if a.execution != nil {
		sources.Planned = a.running
	}
	m.Read(sources)
	return nil
}

// complete adds to the decision's status what only App knows.
func (a *App) complete(s *api.Status) {
	s.Version, s.Settings, s.Cluster = a.version, a.force.Load().settings, a.showCluster()
	if url := a.finder.URL(); url != "" {
		s.Settings = maps.Clone(s.Settings)
		s.Settings["ironicEndpoint"] = url // where Ironic was found
	}
	s.Warnings = slices.Concat(s.Warnings, a.force.Load().warnings, a.presentWarnings(s.Cluster))
}

// decision is what servers and gateway ask.
type decision interface {
	server.Decider
	gateway.Decider
}

// decider is the Controller, or what tells hosts its answers too.
func (a *App) decider() decision {
	if a.hosts == nil {
		return a.controller
	}
	return clusterhosts.Told{Controller: a.controller, Hosts: a.hosts}
}

// pollTimeout bounds a whole poll: a minute, or what the settings give a slow Ironic.
func pollTimeout(c config.Config) time.Duration {
	return max(time.Minute, c.View.MaxStale, 2*ironicTimeout)
}

// Run decides, serves and watches the config file until ctx ends or one of these fails. Then all of them end, the
// servers first: what is asked already is still answered, and saved, and the Lease is ours until then. It returns
// within 5 s of the end of ctx, or 10 with a cluster: nil, or what went wrong, with the names of the parts, also of
// those that have not ended.
func (a *App) Run(ctx context.Context) error {
	a.tellStart()
	within := 4900 * time.Millisecond // the servers take up to 4.5 s
	if a.cluster != nil {
		within += 5 * time.Second // for the term, the label and the Lease
	}
	parts := []part{
		{"config watch", a.watch, true}, // also of a process that stands by: the mode is its off-switch
		{"decision", a.decide, true},
	}
	if a.finder != nil {
		parts = append(parts, part{"place of Ironic", a.finder.Run, true})
	}
	if a.listeners.Listeners != (server.Listeners{}) {
		serve := func(ctx context.Context) error { return a.server.Serve(ctx, a.listeners.Listeners) }
		parts = append(parts, part{"server", serve, false})
	}
	if a.gateway != nil {
		parts = append(parts, part{"gateway", a.serveGateway, false})
	}
	err := runParts(ctx, within, parts...)
	a.nodes.Close()
	a.client.Close()
	a.log.Info("stopped", "clean", err == nil)
	return err
}

// API is the handler of /v1 and the page.
func (a *App) API() http.Handler { return a.server.API() }

// Status is what GET /v1/status shows now.
func (a *App) Status() api.Status { return a.server.Status() }
