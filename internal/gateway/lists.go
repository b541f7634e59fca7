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
// are (docs/dev/reference/ironic.md).
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
	ListUnknown     ListPass = "unknown"     // Ironic has not let this client in, or writes lists otherwise than we
	ListUnavailable ListPass = "unavailable" // the list of all nodes cannot be had
	ListMarker      ListPass = "marker"      // the node of the marker is not in it

	listOff ListPass = "off" // there is no cache, and nobody counts
)

// ListPasses lists every cause.
func ListPasses() []ListPass {
	return []ListPass{ListHead, ListUnknown, ListUnavailable, ListMarker}
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

// serveList serves the capacity check: from the list of all nodes, or as Ironic answers it.
// Few at once are passed on. The slower Ironic is, the more hosts ask while there is no
// list, and the others wait for a turn, or for the list. Who waits too long is told so and
// costs Ironic nothing.
func (g *Gateway) serveList(w http.ResponseWriter, r *http.Request, q capacityQuery) {
	ctx, cancel := context.WithTimeout(r.Context(), g.timeout)
	defer cancel()
	defer context.AfterFunc(g.ended, cancel)()
	asked := r.WithContext(ctx)
	why := g.answerList(w, asked, q, listPatience)
	if why == "" {
		return
	}
	wait, stop := context.WithTimeout(ctx, g.timeout/2)
	defer stop()
	vacate, err := enter(wait, g.room.lists)
	switch {
	case err == nil:
		defer vacate()
	case r.Context().Err() != nil: // the client has gone
		g.fail(w, r, err)
		return
	default:
		writeFault(w, http.StatusServiceUnavailable, server, "as many lists of all nodes as may be at once are asked of Ironic, or the throttle ends: ask again later")
		return
	}
	if why == ListUnavailable {
		if why = g.answerList(w, asked, q, turnPatience); why == "" {
			return
		}
	}
	if g.lists != nil {
		g.lists.passes[why].Add(1)
	}
	g.count.passed.Add(1)
	g.pass(w, r)
}

// answerList answers, or tells why not. Where there is no list it waits for one as long as
// patience says.
func (g *Gateway) answerList(w http.ResponseWriter, r *http.Request, q capacityQuery, patience time.Duration) ListPass {
	if g.lists == nil {
		return listOff
	}
	minor, ok := versionOf(r.Header)
	if !ok || minor < minorSteady || !plainRead(r, false) {
		return ListHead
	}
	f, ok := g.formFor(r.Context(), r, minor)
	if !ok {
		return ListUnknown
	}
	// Who waits for a list of many nodes longer than for Ironic's own page asks Ironic.
	wait, stop := context.WithTimeout(r.Context(), patience)
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
	_, _ = w.Write(body) //nolint:gosec // it is JSON, as Ironic writes it
	g.lists.hits.Add(1)
	return ""
}

// ageOf is an age as the header Age has it.
func ageOf(age time.Duration) string {
	return strconv.Itoa(max(0, int(age/time.Second)))
}
