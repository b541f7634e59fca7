package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/internal/logging"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Decider is what the gateway needs of the decision: admission.Controller. Its
// methods are safe for concurrent use and do not block.
type Decider interface {
	Forward(now time.Time, ask api.Ask, target ironic.Target) (api.Answer, *admission.Pass)
	// Foresee is what Forward would answer. It changes nothing.
	Foresee(now time.Time, ask api.Ask, target ironic.Target) api.Answer
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
	// Shown reads the whole document of a node that Ironic gave to somebody else.
	Shown(document io.Reader) (ironic.Node, error)
}

// Options is what New needs; SpoolDir and what follows may be zero.
type Options struct {
	// Base is Ironic's URL without /v1 and without credentials.
	Base *url.URL
	// Transport reaches Ironic; the gateway makes its own of an *http.Transport.
	Transport http.RoundTripper
	Ironic    Ironic
	Decider   Decider

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
	Observe   bool             // nothing is refused (GW-14)
	Leading   func() bool      // whether this process may start work (LH-27); nil: always
	Forwarded bool             // X-Forwarded-* are added
	Now       func() time.Time // the clock of the decision; nil: time.Now
	Log       *slog.Logger     // nil: silent
}

// Gateway is the http.Handler in front of Ironic. Make one with New; it is safe for
// concurrent use. Call Close when no more requests come.
type Gateway struct {
	base      *url.URL
	upstream  *upstream
	room      room
	ironic    Ironic
	decider   Decider
	timeout   time.Duration
	observe   bool
	forwarded bool
	leading   func() bool
	now       func() time.Time
	log       *slog.Logger
	via       string // tells this gateway from every other
	drain     time.Duration
	patience  time.Duration // from the arrival of a gated request to its first byte to Ironic

	proxy     *httputil.ReverseProxy
	spool     *spool
	directory directory
	access    access
	queue     queue
	count     counters
	lists     *lists       // nil: off
	reads     *reads       // nil: off
	obscure   logging.Rare // lines of the log
	unlike    logging.Rare
	unkept    logging.Rare
	misled    logging.Rare
	address   string
	names     atomic.Pointer[httpserve.Names] // by which it may be asked; nil: any
	presence  presence                        // of Ironic

	ended context.Context // done: nothing is waited for any more
	end   context.CancelFunc
}

// New checks the Options, and that bodies can be kept. It opens nothing.
func New(o Options) (*Gateway, error) {
	if o.Base == nil || o.Transport == nil || o.Ironic == nil || o.Decider == nil {
		return nil, errors.New("gateway: Base, Transport, Ironic and Decider must be set")
	}
	if o.Timeout <= 0 || o.ListMaxAge <= 0 || o.MaxBody <= 0 || o.SpoolLimit < o.MaxBody {
		return nil, fmt.Errorf("gateway: timeout %v, list max age %v and max body %d must be positive, spool limit %d at least max body",
			o.Timeout, o.ListMaxAge, o.MaxBody, o.SpoolLimit)
	}
	if file, err := nameless(o.SpoolDir); err != nil {
		return nil, err
	} else if err := file.Close(); err != nil {
		return nil, err
	}
	g := &Gateway{
		base: o.Base, address: o.Address, upstream: newUpstream(o.Transport), room: newRoom(), ironic: o.Ironic, decider: o.Decider,
		timeout: o.Timeout, observe: o.Observe, forwarded: o.Forwarded, leading: o.Leading, now: o.Now, log: o.Log,
		via: "1.1 ironic-throttle-" + rand.Text(), drain: drainTimeout, patience: maxAge,
		spool:     newSpool(o.SpoolDir, o.MaxBody+beside, max(o.SpoolLimit, o.MaxBody+beside)),
		directory: directory{maxAge: o.ListMaxAge, known: map[string]entry{}},
		access:    access{maxAge: accessMaxAge, accepted: map[credentials]time.Time{}},
		queue:     queue{places: o.Workers / workersAPlace, most: maxQueued},
	}
	if g.now == nil {
		g.now = time.Now
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.leading == nil || g.observe {
		g.leading = func() bool { return true }
	}
	g.upstream.leading = g.leading
	if g.observe {
		g.patience = g.timeout // nothing is refused for being late
	}
	if o.Nodes != nil {
		g.lists = newLists(o.Nodes)
	}
	if o.ReadCache {
		g.reads = newReads()
		g.upstream.reads, g.upstream.prefix, g.upstream.now = g.reads, o.Base.EscapedPath(), g.now
	}
	g.ended, g.end = context.WithCancel(context.Background())
	g.proxy = g.newProxy()
	return g, nil
}

// Close ends what still waits for Ironic, as broken, and lets go of idle
// connections.
func (g *Gateway) Close() {
	g.end()
	if t, ok := g.upstream.next.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.count.inFlight.Add(1)
	defer g.count.inFlight.Add(-1)
	if strings.Contains(strings.Join(r.Header["Via"], ","), g.via) {
		writeFault(w, http.StatusLoopDetected, server, "IRONIC_ENDPOINT of the throttle leads back to its own gateway; it must name Ironic itself")
		return
	}
	if names := g.names.Load(); names != nil {
		if why := names.Refuse(r); why != "" {
			g.misdirected(w, r, why)
			return
		}
	}
	switch class, to := classify(r); {
	case class == suspect:
		g.gate(w, r, to)
		return
	case class == obscure:
		g.count.obscure.Add(1)
		if more, ok := g.obscure.Tell(time.Now()); ok {
			g.log.Warn("gateway: a provisioning request that cannot be read surely",
				"method", brief(r.Method), "path", brief(r.URL.Path), "refused", !g.observe, "before", more)
		}
		if !g.observe {
			g.unclear(w)
			return
		}
	default:
		// One with a body would wait for that with a turn in its hands.
		if q, ok := readCapacity(r); ok && r.ContentLength == 0 {
			g.serveList(w, r, q)
			return
		}
		var answered bool
		if r, answered = g.answersRead(w, r); answered {
			return
		}
		g.count.passed.Add(1)
	}
	g.pass(w, r)
}

// Polled takes what a complete poll has shown, for the cache of reads (GW-18). It does
// not block.
func (g *Gateway) Polled(now time.Time, o ironic.Observation) {
	if g.reads != nil {
		g.reads.polled(now, o)
	}
}

// Watching reports whether the polls should show which nodes changed last, also of those
// that do not work: some host that waits may be answered from the cache of reads.
func (g *Gateway) Watching(now time.Time) bool { return g.reads != nil && g.reads.busy(now) }
