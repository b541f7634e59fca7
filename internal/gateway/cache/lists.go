package cache

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/proxy"
	"github.com/ironic-throttle/ironic-throttle/internal/gateway/request"
	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
	"github.com/ironic-throttle/ironic-throttle/internal/logging"
)

// minorSteady is the API version from which on Ironic tells the states of nodes as they
// are (docs/dev/reference/ironic.md).
const minorSteady = 39

// Nodes is the list of all nodes: inventory.Inventory.
type Nodes interface {
	Get(ctx context.Context) (inventory.View, error)
	Peek() (inventory.View, bool)
}

// listPass tells why a capacity list was passed through to Ironic.
type listPass string

// The causes, in the order in which they are looked at.
const (
	listHead        listPass = "head"        // headers or a version that we do not answer for
	listUnknown     listPass = "unknown"     // Ironic has not let this client in, or writes lists otherwise than we
	listUnavailable listPass = "unavailable" // the list of all nodes cannot be had
	listMarker      listPass = "marker"      // the node of the marker is not in it

	listOff listPass = "off" // there is no cache, and nobody counts
)

// Lists answers the capacity check from the list of all nodes (GW-11). Make one with NewLists;
// it is safe for concurrent use.
type Lists struct {
	nodes   Nodes
	proxy   *proxy.Proxy
	timeout time.Duration
	now     func() time.Time
	log     *slog.Logger
	unlike  logging.Rare // lines of the log

	// Who is passed on takes one besides its place at Ironic: each list costs Ironic seconds
	// of work, and all at once would keep it from everything else, our polls included.
	turns   *semaphore.Weighted
	clients clients
	buffers sync.Pool // *[]byte

	hits   atomic.Uint64
	passes map[listPass]*atomic.Uint64
}

// NewLists answers from nodes, nil: never. What it does not answer has timeout.
func NewLists(nodes Nodes, p *proxy.Proxy, timeout time.Duration, now func() time.Time, log *slog.Logger) *Lists {
	return &Lists{
		nodes: nodes, proxy: p, timeout: timeout, now: now, log: log, turns: semaphore.NewWeighted(listConns),
		passes: map[listPass]*atomic.Uint64{listHead: {}, listUnknown: {}, listUnavailable: {}, listMarker: {}, listOff: {}},
	}
}

// ListCounts are the capacity lists that were answered from the list of all nodes, and those
// that were passed through, by cause.
type ListCounts struct {
	ListHits   uint64
	ListPasses map[string]uint64
}

// Counts reads them.
func (l *Lists) Counts() ListCounts {
	c := ListCounts{ListHits: l.hits.Load(), ListPasses: map[string]uint64{}}
	for why, n := range l.passes {
		if why != listOff {
			c.ListPasses[string(why)] = n.Load()
		}
	}
	return c
}

// Serve serves the capacity check: from the list of all nodes, or as Ironic answers it through
// pass; false for any other request. Few at once are passed on. The slower Ironic is, the more
// hosts ask while there is no list, and the others wait for a turn, or for the list. Who waits
// too long is told so and costs Ironic nothing.
func (l *Lists) Serve(w http.ResponseWriter, r *http.Request, pass http.HandlerFunc) bool {
	q, ok := readCapacity(r)
	if !ok || r.ContentLength != 0 { // one with a body would wait for that with a turn in its hands
		return false
	}
	ctx, cancel := l.proxy.Bound(r.Context(), l.timeout)
	defer cancel()
	asked := r.WithContext(ctx)
	why := l.answer(w, asked, q, listPatience)
	if why == "" {
		return true
	}
	wait, stop := context.WithTimeout(ctx, l.timeout/2)
	defer stop()
	err := l.turns.Acquire(wait, 1)
	if err == nil {
		defer l.turns.Release(1)
		err = wait.Err()
	}
	switch {
	case err == nil:
	case r.Context().Err() != nil: // the client has gone
		l.proxy.Fail(w, r, err)
		return true
	default:
		proxy.Fault(w, http.StatusServiceUnavailable, proxy.Server, "as many lists of all nodes as may be at once are asked of Ironic, or the throttle ends: ask again later")
		return true
	}
	if why == listUnavailable {
		if why = l.answer(w, asked, q, turnPatience); why == "" {
			return true
		}
	}
	l.passes[why].Add(1)
	pass(w, r)
	return true
}

// answer answers, or tells why not. Where there is no list it waits for one as long as
// patience says.
func (l *Lists) answer(w http.ResponseWriter, r *http.Request, q capacityQuery, patience time.Duration) listPass {
	if l.nodes == nil {
		return listOff
	}
	minor, ok := request.Minor(r.Header)
	if !ok || minor < minorSteady || !request.PlainRead(r, false) {
		return listHead
	}
	f, ok := l.formFor(r.Context(), r, minor)
	if !ok {
		return listUnknown
	}
	// Who waits for a list of many nodes longer than for Ironic's own page asks Ironic.
	wait, stop := context.WithTimeout(r.Context(), patience)
	defer stop()
	nodes, err := l.nodes.Get(wait)
	if err != nil {
		return listUnavailable
	}
	p, ok := q.of(nodes)
	if !ok {
		return listMarker
	}
	room, _ := l.buffers.Get().(*[]byte)
	if room == nil {
		room = new([]byte)
	}
	defer l.buffers.Put(room)
	body, ok := f.write((*room)[:0], nodes, p)
	*room = body
	if !ok {
		return listUnknown
	}
	h := w.Header()
	for name, values := range f.header {
		h[name] = values
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Age", ageOf(l.now().Sub(nodes.Listed)))
	h.Set(Header, "nodes")
	_, _ = w.Write(body) //nolint:gosec // it is JSON, as Ironic writes it
	l.hits.Add(1)
	return ""
}
