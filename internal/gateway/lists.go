package gateway

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
)

// cacheHeader tells which cache an answer is from: nodes (GW-11) or host (GW-18).
const cacheHeader = "X-Ironic-Throttle-Cache"

// minorSteady is the API version from which on Ironic tells the states of nodes as they
// are (IRONIC.md 5).
const minorSteady = 39

// Nodes is what the gateway needs of the list of all nodes: inventory.Inventory.
type Nodes interface {
	Get(ctx context.Context) (inventory.View, error)
	Peek() (inventory.View, bool)
}

// ListPass tells why a capacity list was passed through to Ironic.
type ListPass string

// The causes, in the order in which they are looked at.
const (
	ListHead        ListPass = "head"        // headers or a version that we do not answer for
	ListStale       ListPass = "stale"       // the throttle has not seen Ironic lately
	ListUnknown     ListPass = "unknown"     // Ironic has not let this client in, or writes lists otherwise than we
	ListUnavailable ListPass = "unavailable" // the list of all nodes cannot be had
	ListMarker      ListPass = "marker"      // the node of the marker is not in it
)

// ListPasses lists every cause.
func ListPasses() []ListPass {
	return []ListPass{ListHead, ListStale, ListUnknown, ListUnavailable, ListMarker}
}

// lists answers the capacity check from the list of all nodes (GW-11).
type lists struct {
	nodes   Nodes
	clients clients
	buffers sync.Pool // *[]byte

	hits   atomic.Uint64
	passes map[ListPass]*atomic.Uint64 // made whole by newLists
}

func newLists(nodes Nodes) *lists {
	l := &lists{nodes: nodes, passes: map[ListPass]*atomic.Uint64{}}
	for _, why := range ListPasses() {
		l.passes[why] = &atomic.Uint64{}
	}
	return l
}

// answersList answers a request if it is for the capacity list and can be answered; else
// it is Ironic's.
func (g *Gateway) answersList(w http.ResponseWriter, r *http.Request) bool {
	if g.lists == nil {
		return false
	}
	q, ok := readCapacity(r)
	if !ok {
		return false
	}
	why := g.answerList(w, r, q)
	if why != "" {
		g.lists.passes[why].Add(1)
		return false
	}
	g.lists.hits.Add(1)
	return true
}

// answerList answers, or tells why not.
func (g *Gateway) answerList(w http.ResponseWriter, r *http.Request, q capacityQuery) ListPass {
	minor, ok := versionOf(r.Header)
	if !ok || minor < minorSteady || !plainRead(r, false) {
		return ListHead
	}
	if !g.decider.Fresh(g.now()) {
		return ListStale
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.timeout)
	defer cancel()
	defer context.AfterFunc(g.ended, cancel)()
	f, ok := g.formFor(ctx, r, minor)
	if !ok {
		return ListUnknown
	}
	// Who waits for a list of many nodes longer than for Ironic's own page asks Ironic.
	wait, stop := context.WithTimeout(ctx, listPatience)
	defer stop()
	nodes, err := g.lists.nodes.Get(wait)
	if err != nil {
		return ListUnavailable
	}
	p, ok := q.of(nodes)
	if !ok {
		return ListMarker
	}
	room, _ := g.lists.buffers.Get().(*[]byte)
	if room == nil {
		room = new([]byte)
	}
	defer g.lists.buffers.Put(room)
	body, ok := f.write((*room)[:0], nodes, p)
	*room = body
	if !ok {
		return ListUnknown
	}
	h := w.Header()
	for name, values := range f.header {
		h[name] = values
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Age", ageOf(g.now().Sub(nodes.Listed)))
	h.Set(cacheHeader, "nodes")
	_, _ = w.Write(body)
	return ""
}

// ageOf is an age as the header Age has it.
func ageOf(age time.Duration) string {
	return strconv.Itoa(max(0, int(age/time.Second)))
}
