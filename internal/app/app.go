// Package app wires the throttle together and runs it. It alone knows all the other packages. Every replica runs the
// servers; only the one that holds the Lease decides.
//
// It does nothing that another package could do: internal/decisionlog logs the decisions, internal/metrics has every
// metric, internal/clusterhosts reads what BareMetalHosts ask for and tells them their answers.
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
	// Config must come from config.Load. New opens no listener whose address is empty.
	Config config.Config
	// Warnings of config.Load: App logs them once, and /v1/status shows them.
	Warnings []string
	// Reload says where Config came from, so that App can reload its file; nil: no reload.
	Reload *config.Sources
	Log    *slog.Logger   // nil: silent
	Level  *slog.LevelVar // of Log, which LOG_LEVEL changes; nil: it stays as it is
	// Version is what /v1/status and the metrics show.
	Version string
	// Transport replaces the network to Ironic, and with it all TLS settings; nil: the network.
	Transport http.RoundTripper
	// ClusterTransport replaces the network to the Kubernetes API server in the same way.
	ClusterTransport http.RoundTripper
	// NoListeners: New opens no address. Requests then come in only through API and Gateway.
	NoListeners bool
	// Now is the clock of the decision; nil: time.Now. The poll interval and the time-outs use the real clock.
	Now func() time.Time

	readFleet readState // for plans; nil: App reads the cluster
}

// App is a throttle that is ready to run. Make one with New, then call Run exactly once: only Run closes what New has
// opened. All other methods are safe for concurrent use, before and after Run too.
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
	nodes       *inventory.Inventory // all nodes of Ironic, for the gateway
	gateway     *gateway.Gateway     // nil: none
	gatewayCert *httpserve.InUse
	kubePart
	operatorPart
	accessPart

	forcing sync.Mutex // held while new settings, or new hold-offs that hosts ask for, take effect
	force   atomic.Pointer[force]
}

// New builds everything and opens the listeners. It starts nothing and sends nothing, so Ironic and the Kubernetes API
// server may be down. An error names the setting, file or address that is wrong.
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
	var place store.Store // where the holds are saved; nil: nowhere
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
	plans, err := a.newPlanner(o.readFleet)
	if err != nil {
		return nil, err
	}
	if err := a.newServer(m, plans); err != nil || o.NoListeners {
		return a, err
	}
	return a, a.listen(ctx)
}

// newDecision makes the Controller, and the inventory of nodes.
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
	a.begun.Store(a.elector == nil) // without a Lease, the Controller itself says no until it has seen Ironic
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

// newPoller makes the Poller, which reads Ironic.
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

// polledView passes each poll on to the Controller, the metrics and the inventory. Only the Poller's goroutine uses it.
type polledView struct {
	*admission.Controller
	app     *App
	metrics *metrics.Metrics
	begun   time.Time // when the last poll began
}

// Whole implements ironic.View. The Poller calls it when a poll begins.
func (v *polledView) Whole(now time.Time) bool {
	v.begun = now
	return v.Controller.Whole(now)
}

// Observe implements ironic.View.
func (v *polledView) Observe(now time.Time, o ironic.Observation) {
	v.metrics.Polled(true, now.Sub(v.begun))
	v.Controller.Observe(now, o)
	if v.app.gateway != nil { // only its capacity lists use the provision states of the inventory
		v.app.nodes.Observe(now, o)
	}
}

// PollFailed implements ironic.View.
func (v *polledView) PollFailed(now time.Time, err error) {
	v.metrics.Polled(false, now.Sub(v.begun))
	v.Controller.PollFailed(now, err)
}

// newServer makes the server of the API, health and metrics, and connects m to what it measures.
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

// complete adds what only App knows to the status of the Controller.
func (a *App) complete(s *api.Status) {
	s.Version, s.Settings, s.Cluster = a.version, a.force.Load().settings, a.showCluster()
	if url := a.finder.URL(); url != "" {
		s.Settings = maps.Clone(s.Settings)
		s.Settings["ironicEndpoint"] = url // where the finder found Ironic
	}
	s.Warnings = slices.Concat(s.Warnings, a.force.Load().warnings, a.presentWarnings(s.Cluster))
}

// decision is what the server and the gateway ask.
type decision interface {
	server.Decider
	gateway.Decider
}

// decider returns the Controller. With a cluster, it also tells BareMetalHosts their answers.
func (a *App) decider() decision {
	if a.hosts == nil {
		return a.controller
	}
	return clusterhosts.Told{Controller: a.controller, Hosts: a.hosts}
}

// pollTimeout bounds a whole poll: MAX_STALE, but a minute and two requests at least.
func pollTimeout(c config.Config) time.Duration {
	return max(time.Minute, c.View.MaxStale, 2*ironicTimeout)
}

// Run decides, serves and watches the config file until ctx ends or one of these fails. Then it ends them all, the
// servers first: they answer open requests, and the holds are saved, while this replica still has the Lease. It returns
// within 5 s of the end of ctx, or 10 s with a cluster. An error names the parts that failed or have not ended.
func (a *App) Run(ctx context.Context) error {
	a.tellStart()
	within := 4900 * time.Millisecond // the servers take up to 4.5 s
	if a.cluster != nil {
		within += 5 * time.Second // to end the term, the label and the Lease
	}
	parts := []part{
		{"config watch", a.watch, true}, // in standby too: mode observe switches that replica off as well
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

// API returns the handler of /v1 and the page.
func (a *App) API() http.Handler { return a.server.API() }

// Status returns what GET /v1/status shows now.
func (a *App) Status() api.Status { return a.server.Status() }
