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

// Decider is what the gate needs of the decision: admission.Controller. Safe for concurrent use, it does not block.
type Decider interface {
	Forward(now time.Time, ask api.Ask, target ironic.Target) (api.Answer, *admission.Pass)
	Begin(now time.Time) ironic.Mark
	ObserveNode(now time.Time, s ironic.NodeObservation)
	// HasSlot reports whether the host of a node's UUID holds a slot.
	HasSlot(now time.Time, uuid string) bool
	// HostGone takes the host of a node that was deleted out of the queue.
	HostGone(now time.Time, h admission.Host)
}

// Ironic fetches single nodes with the throttle's own credentials: ironic.Client.
type Ironic interface {
	Node(ctx context.Context, key string) (ironic.Node, bool, error)
}

// Options is what New needs: everything but Nodes.
type Options struct {
	Base      *url.URL          // Ironic's, without /v1 and without credentials
	Transport http.RoundTripper // to Ironic; the gateway makes its own of an *http.Transport
	Ironic    Ironic
	Decider   Decider
	Address   string // where the gateway listens, as GATEWAY_LISTEN_ADDRESS has it

	Timeout    time.Duration // of one request, without the reading of a gated body
	MaxBody    int64         // bytes of the body of a gated request, and 64 KiB beside
	SpoolLimit int64         // bytes of all bodies on disk together, >= MaxBody
	ListMaxAge time.Duration // how long a node's name is believed for a refusal

	Nodes   *inventory.Inventory // for the capacity list; nil: Ironic answers it
	Observe func() bool          // whether nothing is refused now
	Leading func() bool          // whether this process may start work
	Now     func() time.Time     // the clock of the decision
	Log     *slog.Logger
}

// Gateway is the http.Handler in front of Ironic. Make one with New; it is safe for concurrent use. Call Close when no
// more requests come.
type Gateway struct {
	o       Options
	via     string            // tells this gateway from every other
	network http.RoundTripper // to Ironic
	reverse *httputil.ReverseProxy
	longest time.Duration // that one request may take on its connection
	ended   context.Context
	end     context.CancelFunc

	// The requests that are on their way to Ironic at once. Each holds one of the few threads of Ironic's server, so
	// the others wait here, where their going away can still be noticed. Those whose body is still to come have a
	// part of their own: clients that send slowly cannot keep the others out.
	whole    *semaphore.Weighted
	streamed *semaphore.Weighted
	spool    spool

	directory recent[string, api.Ask]       // who is who, by the UUID or name that was asked with
	access    recent[credentials, struct{}] // whom Ironic has let in
	forms     recent[clientKind, form]      // how it writes lists for them

	obscure, unkept logging.Rare // lines of the log
	count           counts
}

type counts struct {
	passed, free, gated, obscure, refused, failed, listHits, listMisses atomic.Uint64
	inFlight                                                            atomic.Int64
}

// New checks that bodies can be kept. It opens nothing.
func New(o Options) (*Gateway, error) {
	file, err := nameless()
	if _ = file.Close(); err != nil {
		return nil, fmt.Errorf("place of large bodies (TMPDIR): %w", err)
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

// Close ends what still waits for Ironic, as broken, and lets go of idle connections.
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

// unclear refuses what may be a provisioning request for a node that nobody can tell for sure.
func (g *Gateway) unclear(w http.ResponseWriter, r *http.Request) {
	g.count.obscure.Add(1)
	observe := g.o.Observe()
	if more, ok := g.obscure.Tell(time.Now()); ok {
		g.o.Log.Warn("gateway: a provisioning request that cannot be read surely",
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

// Stats counts what the gateway has done since New, but for the gauges.
type Stats struct {
	Passed, Obscure      uint64 // requests that start nothing, and those that could not be read surely
	Free, Gated, Refused uint64 // PUTs that start nothing, that asked the decision, that got a 409 of our own
	Failed               uint64 // requests that we answered because Ironic did not
	ListHits, ListMisses uint64 // capacity lists that we answered, and those that were passed on
	InFlight             int64  // gauge: requests
	DiskBytes, DiskLimit int64  // gauges: room of large bodies
}

// Stats reads all counters.
func (g *Gateway) Stats() Stats {
	c := &g.count
	return Stats{
		Passed: c.passed.Load(), Obscure: c.obscure.Load(), Free: c.free.Load(), Gated: c.gated.Load(),
		Refused: c.refused.Load(), Failed: c.failed.Load(), ListHits: c.listHits.Load(),
		ListMisses: c.listMisses.Load(), InFlight: c.inFlight.Load(),
		DiskBytes: g.spool.used.Load(), DiskLimit: g.spool.all,
	}
}
