package app

import (
	"context"
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// newGateway builds the gateway where one is wanted.
func (a *App) newGateway(o Options) (err error) {
	c := o.Config.Gateway
	if c.Listen == "" {
		return nil
	}
	settings := ironicSettings(o, slog.New(slog.DiscardHandler)) // the client says what there is to say
	base, err := settings.Base()
	if err != nil {
		return err
	}
	network, err := ironic.NewTransport(settings)
	if err != nil {
		return err
	}
	var nodes gateway.Nodes // stays nil without a list
	if c.ListCache {
		nodes = a.list.inventory
	}
	certificates := httpserve.Certificates{
		Name: "gateway", Log: a.log, Now: a.now,
		Cert:     httpserve.File{Setting: "IRONIC_THROTTLE_GATEWAY_TLS_CERT_FILE", Path: c.CertFile},
		Key:      httpserve.File{Setting: "IRONIC_THROTTLE_GATEWAY_TLS_KEY_FILE", Path: c.KeyFile},
		ClientCA: httpserve.File{Setting: "IRONIC_THROTTLE_GATEWAY_CLIENT_CA_FILE", Path: c.ClientCAFile},
	}
	if a.gatewayCert, err = certificates.Open(); err != nil {
		return err
	}
	a.gatewayTLS = a.gatewayCert.Config()
	a.gateway, err = gateway.New(gateway.Options{
		Address: c.Listen,
		Base:    base, Transport: network, Ironic: a.client, Decider: a.decider(), Leading: a.mayStart,
		Timeout: c.Timeout, MaxBody: int64(c.MaxBody), SpoolLimit: c.SpoolLimit(),
		Workers: o.Config.BMOConcurrency, ListMaxAge: o.Config.View.ListMaxAge, Nodes: nodes, ReadCache: c.ReadCache, Observe: a.observes(), Forwarded: c.ForwardedHeaders,
		Now: a.now, Log: a.log,
	})
	return err
}

// serveGateway is the part that runs it.
func (a *App) serveGateway(ctx context.Context) error {
	return a.gateway.Serve(ctx, a.listeners.gateway, a.gatewayTLS)
}

// observed passes a complete poll on to whatever caches answers of Ironic.
func (a *App) observed(now time.Time, o ironic.Observation) {
	a.list.inventory.Observe(now, o)
	if a.gateway != nil {
		a.gateway.Polled(now, o)
	}
}

// measured is Ironic as the poller reads it: how long it takes for a small list is how
// the gateway knows that Ironic is slow.
type measured struct {
	*ironic.Client
	report func(begun time.Time, took time.Duration, answered bool)
}

// List implements ironic.Source.
func (m measured) List(ctx context.Context, state ironic.State) ([]ironic.Node, error) {
	begun := time.Now()
	nodes, err := m.Client.List(ctx, state)
	m.report(begun, time.Since(begun), err == nil)
	return nodes, err
}

// Newest implements ironic.Source.
func (m measured) Newest(ctx context.Context, k int) ([]ironic.Change, bool, error) {
	begun := time.Now()
	changes, all, err := m.Client.Newest(ctx, k)
	m.report(begun, time.Since(begun), err == nil)
	return changes, all, err
}

// source is what the poller reads.
func (a *App) source() ironic.Source {
	if a.gateway == nil {
		return a.client
	}
	return measured{a.client, a.gateway.Answered}
}

// wantsChanges reports whether answers of Ironic are cached that each poll should show the
// newest changes for.
func (a *App) wantsChanges(now time.Time) bool {
	return a.list.inventory.InUse(now) || a.gateway != nil && a.gateway.Watching(now)
}

// GatewayURL is what BMO's IRONIC_ENDPOINT may name, less /v1; "" without a gateway.
func (a *App) GatewayURL() string {
	if a.gatewayTLS != nil {
		return urlOf("https", a.listeners.gateway)
	}
	return urlOf("http", a.listeners.gateway)
}

// GatewayStats counts what went through the gateway; zero without one.
func (a *App) GatewayStats() gateway.Stats {
	if a.gateway == nil {
		return gateway.Stats{}
	}
	return a.gateway.Stats()
}

// gatewayPart keeps the gateway's fields of App together.
type gatewayPart struct {
	gateway     *gateway.Gateway
	gatewayTLS  *tls.Config
	gatewayCert *httpserve.InUse
}

// gatewayCollector reads the gateway's counters at scrape.
type gatewayCollector struct {
	stats                                     func() gateway.Stats
	requests, refused, failed, inFlight, room *prometheus.Desc
	roomLimit, places                         *prometheus.Desc
	waiting, waitingLimit, waited             *prometheus.Desc
	lists, reads, kept, keptLimit             *prometheus.Desc
}

func newGatewayCollector(stats func() gateway.Stats) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "gateway", name), help, labels, nil)
	}
	return &gatewayCollector{
		stats: stats,
		requests: desc("requests_total",
			"Requests to the gateway: passed = start nothing, free = provisioning requests that start nothing, gated = asked for a slot, obscure = provisioning requests that cannot be read surely.", "kind"),
		refused:      desc("refusals_total", "Gated requests that the gateway answered with 409 itself."),
		failed:       desc("failures_total", "Requests that the gateway answered because Ironic did not."),
		inFlight:     desc("requests_in_flight", "Requests in the gateway now."),
		places:       desc("requests_limit", "Requests that may be on their way to Ironic at once now, but for large bodies: fewer while Ironic is slow."),
		waiting:      desc("requests_waiting", "Gated requests of the next hosts in line that the gateway keeps until a slot is free, now."),
		waitingLimit: desc("requests_waiting_limit", "Gated requests that may be kept at once: a quarter of BMO_CONCURRENCY."),
		waited:       desc("requests_waited_total", "Gated requests that were kept, until a slot was free or the time was over."),
		room:         desc("body_bytes", "Room taken by bodies of gated requests now.", "where"),
		roomLimit:    desc("body_limit_bytes", "Room that bodies of gated requests may take; who finds none waits.", "where"),
		lists: desc("capacity_lists_total",
			"Capacity checks of the operator, by what came of them: hit = answered from the list of all nodes; passed on to Ironic for: head = headers or a version that is not answered for, unknown = Ironic has not let this client in or writes such lists otherwise, unavailable = there is no list, marker = its marker is no node.", "result"),
		reads:     desc("host_reads_total", "Reads of nodes of refused hosts, by result: hit = answered again, miss = passed on to Ironic.", "result"),
		kept:      desc("host_reads_bytes", "Room taken by answers that are kept for refused hosts now."),
		keptLimit: desc("host_reads_limit_bytes", "Room that these may take; the oldest go."),
	}
}

// Describe implements prometheus.Collector.
func (c *gatewayCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.requests, c.refused, c.failed, c.inFlight, c.places, c.waiting, c.waitingLimit, c.waited, c.room, c.roomLimit, c.lists, c.reads, c.kept, c.keptLimit} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *gatewayCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.stats()
	count := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	count(c.requests, s.Passed, "passed")
	count(c.requests, s.Free, "free")
	count(c.requests, s.Gated, "gated")
	count(c.requests, s.Obscure, "obscure")
	count(c.refused, s.Refused)
	count(c.failed, s.Failed)
	count(c.lists, s.ListHits, "hit")
	for _, why := range gateway.ListPasses() {
		count(c.lists, s.ListPasses[why], string(why))
	}
	count(c.reads, s.ReadHits, "hit")
	count(c.reads, s.ReadMisses, "miss")
	gauge(c.kept, s.ReadBytes)
	gauge(c.keptLimit, s.ReadLimit)
	gauge(c.inFlight, s.InFlight)
	gauge(c.places, s.Places)
	gauge(c.waiting, s.Waiting)
	gauge(c.waitingLimit, s.WaitingLimit)
	count(c.waited, s.Waited)
	gauge(c.room, s.MemoryBytes, "memory")
	gauge(c.room, s.DiskBytes, "disk")
	gauge(c.roomLimit, s.MemoryLimit, "memory")
	gauge(c.roomLimit, s.DiskLimit, "disk")
}
