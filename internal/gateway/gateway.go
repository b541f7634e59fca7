package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/classify"
	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
	"github.com/ironic-throttle/ironic-throttle/internal/logging"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Decider is what the gateway needs of admission.Controller. It is safe for concurrent use, and does not block.
type Decider interface {
	Forward(now time.Time, ask api.Ask, target ironic.Target) (api.Answer, *admission.Pass)
	Begin(now time.Time) ironic.Mark
	ObserveNode(now time.Time, s ironic.NodeObservation)
	// HasSlot reports whether the host of the node with that UUID holds a slot, or the node is at work.
	HasSlot(now time.Time, uuid string) bool
	// HostGone takes a host whose node a client has deleted out of the queue.
	HostGone(now time.Time, h admission.Host)
}

// Ironic fetches single nodes with the throttle's own credentials: ironic.Client. false: Ironic has no such node.
type Ironic interface {
	Node(ctx context.Context, key string) (ironic.Node, bool, error)
}

// Options is what New needs. Only Nodes may be nil.
type Options struct {
	Base      *url.URL          // of Ironic, without /v1 and without credentials
	Transport http.RoundTripper // to Ironic; the gateway clones an *http.Transport
	Ironic    Ironic
	Decider   Decider
	Address   string // where the gateway listens, as IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS says

	Timeout    time.Duration // of one request, without the reading of a gated body
	MaxBody    int64         // bytes of a config drive; the body of a gated request may have 64 KiB more
	SpoolLimit int64         // bytes of all bodies on disk together, >= MaxBody
	ListMaxAge time.Duration // how old the fetch of a node may be on which a refusal rests

	Nodes   *inventory.Inventory // for the capacity list; nil: Ironic answers it
	Observe func() bool          // whether the gateway refuses nothing now
	Leading func() bool          // whether this process may start work
	Now     func() time.Time     // the clock of the decision
	Log     *slog.Logger
}

// Gateway is the http.Handler in front of Ironic. Make one with New; it is safe for concurrent use. Call Close when no
// more requests come.
type Gateway struct {
	o       Options
	via     string            // names this gateway alone, to find loops
	network http.RoundTripper // to Ironic
	reverse *httputil.ReverseProxy
	longest time.Duration // how long one request may take on its connection
	ended   context.Context
	end     context.CancelFunc

	// The places for requests at Ironic. Each request there holds one of Ironic's few threads, so the others wait here,
	// where the gateway still notices a client that goes away. Requests whose body is still coming have places of their
	// own, so that slow clients cannot keep the others out.
	whole    *semaphore.Weighted
	streamed *semaphore.Weighted
	spool    spool

	directory recent[string, api.Ask]       // the hosts of nodes, by the UUID or name in the PUT
	access    recent[credentials, struct{}] // the clients that Ironic has let in
	forms     recent[clientKind, form]      // how Ironic writes the capacity list for them

	obscure, unkept logging.Rare // bound how often the log has these lines
	count           counts
}

type counts struct {
	passed, free, gated, obscure, refused, failed, listHits, listMisses atomic.Uint64
	inFlight                                                            atomic.Int64
}

// New makes a Gateway; it does not listen. An error says that TMPDIR cannot keep large bodies.
func New(o Options) (*Gateway, error) {
	file, err := nameless()
	if _ = file.Close(); err != nil {
		return nil, fmt.Errorf("place for large bodies (TMPDIR): %w", err)
	}
	room := max(o.SpoolLimit, o.MaxBody+beside)
	g := &Gateway{
		o: o, via: "1.1 ironic-throttle-" + rand.Text(), longest: o.Timeout + maxAge + grace,
		network: transport(o.Transport),
		spool:   spool{most: o.MaxBody + beside, all: room, disk: semaphore.NewWeighted(room)},
		whole:   semaphore.NewWeighted(upstreamConns - streamedConns), streamed: semaphore.NewWeighted(streamedConns),
		directory: recent[string, api.Ask]{maxAge: o.ListMaxAge, most: maxIdentities},
		access:    recent[credentials, struct{}]{maxAge: clientMaxAge, most: maxClients},
		forms:     recent[clientKind, form]{maxAge: clientMaxAge, most: maxClients},
	}
	g.ended, g.end = context.WithCancel(context.Background())
	// The standard library's reverse proxy, told to change nothing.
	g.reverse = &httputil.ReverseProxy{
		Rewrite: g.rewrite, Transport: upstream{g}, ErrorHandler: g.fail,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	return g, nil
}

// Close breaks requests that still wait for Ironic, and closes idle connections.
func (g *Gateway) Close() {
	g.end()
	(&http.Client{Transport: g.network}).CloseIdleConnections()
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.count.inFlight.Add(1)
	defer g.count.inFlight.Add(-1)
	if strings.Contains(strings.Join(r.Header["Via"], ","), g.via) {
		fault(w, http.StatusLoopDetected, server,
			"IRONIC_ENDPOINT of the throttle leads back to its own gateway; it must name Ironic itself")
		return
	}
	r = asSent(r)
	switch class, to := classify.Request(r); class {
	case classify.Suspect:
		g.gate(w, r, to)
	case classify.Obscure:
		g.unclear(w, r)
	default:
		if !g.list(w, r) {
			g.count.passed.Add(1)
			g.pass(w, r)
		}
	}
}

// unclear refuses a request that may be a provisioning request, in a spelling that does not name one node for sure.
func (g *Gateway) unclear(w http.ResponseWriter, r *http.Request) {
	g.count.obscure.Add(1)
	observe := g.o.Observe()
	if more, ok := g.obscure.Tell(time.Now()); ok {
		g.o.Log.Warn("gateway: cannot tell for certain what a provisioning request would do",
			"method", brief(r.Method), "path", brief(r.URL.Path), "refused", !observe, "before", more)
	}
	if observe {
		g.pass(w, r)
		return
	}
	fault(w, http.StatusBadRequest, client,
		"the gateway cannot tell for certain what this provisioning request would do to which node; "+
			"write it as PUT /v1/nodes/<uuid or name>/states/provision")
}

// Stats has what the gateway has counted since New, and gauges.
type Stats struct {
	Passed, Obscure      uint64 // requests that start nothing, and those that nobody can read for certain
	Free, Gated, Refused uint64 // PUTs that start nothing, that asked the decision, that got the gateway's 409
	Failed               uint64 // requests that the gateway answered because Ironic did not
	ListHits, ListMisses uint64 // capacity lists that the gateway answered, and those that it passed on
	InFlight             int64  // gauge: requests
	DiskBytes, DiskLimit int64  // gauges: bytes on disk for large bodies
}

// Stats returns all counters and gauges.
func (g *Gateway) Stats() Stats {
	c := &g.count
	return Stats{
		Passed: c.passed.Load(), Obscure: c.obscure.Load(), Free: c.free.Load(), Gated: c.gated.Load(),
		Refused: c.refused.Load(), Failed: c.failed.Load(), ListHits: c.listHits.Load(),
		ListMisses: c.listMisses.Load(), InFlight: c.inFlight.Load(),
		DiskBytes: g.spool.used.Load(), DiskLimit: g.spool.all,
	}
}
