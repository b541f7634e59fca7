package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/cache"
	"github.com/ironic-throttle/ironic-throttle/internal/gateway/gate"
	"github.com/ironic-throttle/ironic-throttle/internal/gateway/proxy"
	"github.com/ironic-throttle/ironic-throttle/internal/gateway/request"
	"github.com/ironic-throttle/ironic-throttle/internal/gateway/spool"
	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
	"github.com/ironic-throttle/ironic-throttle/internal/logging"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Nodes is the list of all nodes: inventory.Inventory.
type Nodes = cache.Nodes

// Options is what New needs; SpoolDir and what follows may be zero.
type Options struct {
	// Base is Ironic's URL without /v1 and without credentials.
	Base *url.URL
	// Transport reaches Ironic; the gateway makes its own of an *http.Transport.
	Transport http.RoundTripper
	Ironic    gate.Ironic
	Decider   gate.Decider

	// Address is where the gateway listens, as GATEWAY_LISTEN_ADDRESS has it. "": whoever
	// serves it sees to it that no page of another site can ask (GW-1).
	Address string

	Timeout    time.Duration // of one request, without the reading of a gated body
	MaxBody    int64         // bytes of the body of a gated request, and 64 KiB beside
	SpoolLimit int64         // bytes of all bodies on disk together, >= MaxBody
	ListMaxAge time.Duration // how long a node's name is believed for a refusal

	Workers   int              // of the operator, which sends one request at a time each; 0: not known (GW-19)
	Nodes     Nodes            // the list of all nodes, for the capacity check (GW-11); nil: Ironic answers it
	ReadCache bool             // what a refused host reads again is answered from a cache (GW-18); needs Polled
	SpoolDir  string           // "" = the system's place for temporary files
	Observe   func() bool      // whether nothing is refused now; nil: never
	Leading   func() bool      // whether this process may start work; nil: always
	Forwarded bool             // X-Forwarded-* are added
	Now       func() time.Time // the clock of the decision; nil: time.Now
	Log       *slog.Logger     // nil: silent
}

// Gateway is the http.Handler in front of Ironic. Make one with New; it is safe for
// concurrent use. Call Close when no more requests come.
type Gateway struct {
	proxy     *proxy.Proxy
	gate      *gate.Gate
	lists     *cache.Lists
	reads     *cache.Reads // nil: off
	spool     *spool.Spool
	transport http.RoundTripper // to Ironic

	observe func() bool
	longest time.Duration // that one request may take
	address string
	names   atomic.Pointer[httpserve.Names] // by which it may be asked; nil: any
	log     *slog.Logger
	obscure logging.Rare // lines of the log
	misled  logging.Rare
	count   struct {
		passed, obscure atomic.Uint64
		inFlight        atomic.Int64
	}
}

// complete checks the Options and fills in what may be left out.
func (o *Options) complete() error {
	if o.Base == nil || o.Transport == nil || o.Ironic == nil || o.Decider == nil {
		return errors.New("gateway: Base, Transport, Ironic and Decider must be set")
	}
	if o.Timeout <= 0 || o.ListMaxAge <= 0 || o.MaxBody <= 0 || o.SpoolLimit < o.MaxBody {
		return fmt.Errorf("gateway: timeout %v, list max age %v and max body %d must be positive, spool limit %d at least max body",
			o.Timeout, o.ListMaxAge, o.MaxBody, o.SpoolLimit)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = func() bool { return false }
	}
	leads := o.Leading
	o.Leading = func() bool { return leads == nil || leads() || o.Observe() }
	return nil
}

// New checks the Options, and that bodies can be kept. It opens nothing.
func New(o Options) (*Gateway, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	g := &Gateway{
		transport: proxy.Transport(o.Transport),
		observe:   o.Observe, address: o.Address, log: o.Log, longest: o.Timeout + gate.MaxAge + proxy.Grace,
	}
	var err error
	body := o.MaxBody + gate.Beside
	if g.spool, err = spool.New(o.SpoolDir, body, maxConns*spool.Small, max(o.SpoolLimit, body)); err != nil {
		return nil, err
	}
	prefix := o.Base.EscapedPath()
	way := gate.Flights(g.transport, o.Leading)
	seen, refused := func(*http.Response) {}, func(time.Time, string) {}
	if o.ReadCache {
		g.reads = cache.NewReads(prefix, o.Now, func(who request.Credentials) bool { return g.proxy.Admitted(who) })
		way, seen, refused = g.reads.Watch(way), g.reads.Seen, g.reads.Refused
	}
	g.proxy = proxy.New(proxy.Options{
		Base: o.Base, Transport: &gate.Observer{Next: way, Prefix: prefix, Ironic: o.Ironic, Decider: o.Decider, Now: o.Now}, Seen: seen,
		Spool: g.spool, Timeout: o.Timeout, Longest: g.longest, Forwarded: o.Forwarded, Log: o.Log,
	})
	g.lists = cache.NewLists(o.Nodes, g.proxy, o.Timeout, o.Now, o.Log)
	var listed func() (inventory.View, bool)
	if o.Nodes != nil {
		listed = o.Nodes.Peek
	}
	g.gate = gate.New(gate.Options{
		Proxy: g.proxy, Ironic: o.Ironic, Decider: o.Decider, Refused: refused, Listed: listed,
		Timeout: o.Timeout, MaxBody: o.MaxBody, ListMaxAge: o.ListMaxAge, Workers: o.Workers,
		Observe: o.Observe, Leading: o.Leading, Now: o.Now, Log: o.Log,
	})
	return g, nil
}

// SetWorkers tells how many workers the operator has, where Options did not know (GW-19).
func (g *Gateway) SetWorkers(n int) { g.gate.SetWorkers(n) }

// Close ends what still waits for Ironic, as broken, and lets go of idle
// connections.
func (g *Gateway) Close() {
	g.proxy.Close()
	if t, ok := g.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.count.inFlight.Add(1)
	defer g.count.inFlight.Add(-1)
	if g.proxy.Sent(r) {
		proxy.Fault(w, http.StatusLoopDetected, proxy.Server, "IRONIC_ENDPOINT of the throttle leads back to its own gateway; it must name Ironic itself")
		return
	}
	if names := g.names.Load(); names != nil {
		if why := names.Refuse(r); why != "" {
			g.misdirected(w, r, why)
			return
		}
	}
	switch class, to := request.Classify(r); class {
	case request.Suspect:
		g.gate.Serve(w, r, to, g.pass)
	case request.Obscure:
		g.unclear(w, r)
	default:
		if g.lists.Serve(w, r, g.pass) {
			return
		}
		if g.reads != nil {
			var answered bool
			if r, answered = g.reads.Answer(w, r); answered {
				return
			}
		}
		g.pass(w, r)
	}
}

// pass sends a request on that starts nothing.
func (g *Gateway) pass(w http.ResponseWriter, r *http.Request) {
	g.count.passed.Add(1)
	g.proxy.Pass(w, r)
}

// unclear refuses what may be a provisioning request for a node that nobody can
// tell for sure (GW-7).
func (g *Gateway) unclear(w http.ResponseWriter, r *http.Request) {
	g.count.obscure.Add(1)
	if more, ok := g.obscure.Tell(time.Now()); ok {
		g.log.Warn("gateway: a provisioning request that cannot be read surely",
			"method", proxy.Brief(r.Method), "path", proxy.Brief(r.URL.Path), "refused", !g.observe(), "before", more)
	}
	if g.observe() {
		g.proxy.Pass(w, r)
		return
	}
	proxy.Fault(w, http.StatusBadRequest, proxy.Client,
		"it cannot be told for sure what this provisioning request would do to which node; "+
			"write it as PUT /v1/nodes/<uuid or name>/states/provision")
}

// misdirected refuses a request by a name that may be of a page of another site.
func (g *Gateway) misdirected(w http.ResponseWriter, r *http.Request, why string) {
	if more, ok := g.misled.Tell(time.Now()); ok {
		g.log.Warn("gateway: a request by a name that is not this machine's own is refused", "host", fmt.Sprintf("%.100q", r.Host), "remote", r.RemoteAddr, "before", more)
	}
	proxy.Fault(w, http.StatusMisdirectedRequest, proxy.Client, why)
}

// Polled takes what a complete poll has shown, for the cache of reads (GW-18). It does
// not block.
func (g *Gateway) Polled(now time.Time, o ironic.Observation) {
	if g.reads != nil {
		g.reads.Polled(now, o)
	}
}

// Watching reports whether the polls should show which nodes changed last, also of those
// that do not work: some host that waits may be answered from the cache of reads.
func (g *Gateway) Watching(now time.Time) bool { return g.reads != nil && g.reads.Watching(now) }

// Answered tells how long Ironic took for a small list of the throttle's own that was asked
// for at begun, and whether it answered. It does not block.
func (g *Gateway) Answered(begun time.Time, took time.Duration, answered bool) {
	g.proxy.Answered(begun, took, answered)
}

// Stats counts what the gateway has done since New, but for the gauges.
type Stats struct {
	Passed, Obscure uint64 // requests that start nothing, and those that could not be read surely
	InFlight        int64  // gauge: requests
	gate.Counts
	proxy.Load
	cache.ListCounts
	cache.ReadCounts
	spool.Room // gauges: of bodies
}

// Stats reads all counters.
func (g *Gateway) Stats() Stats {
	s := Stats{
		Passed: g.count.passed.Load(), Obscure: g.count.obscure.Load(), InFlight: g.count.inFlight.Load(),
		Counts: g.gate.Counts(), Load: g.proxy.Load(), ListCounts: g.lists.Counts(), Room: g.spool.Room(),
	}
	if g.reads != nil {
		s.ReadCounts = g.reads.Counts()
	}
	return s
}
