package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/classify"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// gate answers a PUT that may start work, or sends it on.
func (g *Gateway) gate(w http.ResponseWriter, r *http.Request, to classify.Route) {
	observe, patience := g.o.Observe(), maxAge
	if observe {
		patience = g.o.Timeout // nothing is refused for being late
	}
	due := time.Now().Add(patience)
	ctx, cancel := context.WithDeadlineCause(r.Context(), due, errTooLate)
	defer cancel()
	// The gateway reads no large body for a client that Ironic does not let in.
	if small := r.ContentLength >= 0 && r.ContentLength <= smallBody; !small && !g.admit(ctx, w, r, to.Ident, false) {
		return
	}
	// A body that is still coming when the PUT is due is too late; a little later the gateway cuts it off.
	b, err := g.receive(ctx, w, r, due.Add(grace/2))
	switch {
	case observe && r.ContentLength > 0 && (errors.Is(err, errTooLarge) || errors.Is(err, errNoRoom)):
		g.count.passed.Add(1) // no byte of the body is read yet
		g.pass(w, r)
		return
	case err != nil:
		g.badBody(w, r, err)
		return
	}
	defer b.close()
	asked, err := classify.Target(r, to, b.reader())
	switch {
	case err != nil:
		g.badBody(w, r, err)
		return
	case asked.Free && asked.Target != ironic.TargetUnhold:
		g.count.free.Add(1)
		g.pass(w, withBody(r, b))
		return
	case asked.Free || observe: // never refused, so the time that its body took does not count
		ctx, cancel = context.WithTimeoutCause(r.Context(), patience, errTooLate)
		defer cancel()
	case ctx.Err() != nil:
		g.tooLate(w, r)
		return
	}
	if !g.admit(ctx, w, r, to.Ident, false) {
		return
	}
	g.count.gated.Add(1)
	if !observe && !g.o.Leading() {
		g.standby(w, r)
		return
	}
	f := &flight{wait: ctx, observe: observe, target: asked.Target}
	if !g.decide(w, r, to.Ident, f) {
		return
	}
	if f.uuid != "" && !strings.EqualFold(f.uuid, to.Ident) {
		r = classify.ToNode(r, to, f.uuid)
	}
	g.send(w, r, b, f)
}

// admit reports whether Ironic lets the client of r in and, with shown, shows it the node. If not, admit answers with
// Ironic's own answer: such a client gets neither a slot nor a place in the queue.
func (g *Gateway) admit(ctx context.Context, w http.ResponseWriter, r *http.Request, ident string, shown bool) bool {
	who := credentialsOf(r.Header)
	if _, ok := g.access.get(time.Now(), who); ok && !shown {
		return true
	}
	own, err := g.ask(ctx, r, "/v1/nodes/"+ident, "")
	switch {
	case err != nil:
		g.fail(w, r, errors.Join(err, context.Cause(ctx)))
		return false
	case own.status == http.StatusOK, own.status == http.StatusNotFound && !shown:
		g.access.put(time.Now(), who, struct{}{})
		return true
	}
	relay(w, r, own)
	return false
}

// decide asks for a slot, and reports whether f may go to Ironic. If not, it has answered the client.
//
// A no may rest on an earlier fetch of the node. A yes takes the slot first, and then needs a fetch that began after
// the PUT came in: if that shows another host, the slot goes back, and decide asks again, for that host.
func (g *Gateway) decide(w http.ResponseWriter, r *http.Request, ident string, f *flight) bool {
	var answer api.Answer
	who, known := g.directory.get(g.o.Now(), ident)
	if known {
		answer, f.pass = g.o.Decider.Forward(g.o.Now(), who, f.target)
		if f.pass == nil && answer.Reason != api.ReasonStale { // after a STALE, the fetch says what is wrong with Ironic
			g.refuse(w, r, answer)
			return false
		}
	}
	fresh, found, err := g.fetch(f.wait, ident)
	if f.pass != nil && (err != nil || !found || fresh != who) {
		f.pass.Unsent(g.o.Now())
		f.pass = nil
	}
	// Without a fetch, only a PUT by UUID goes on with its slot: another node may have the name by now.
	if err != nil && g.o.Decider.HasSlot(g.o.Now(), ident) {
		if fresh, found, err = who, true, nil; !known {
			fresh = api.Ask{NodeUUID: ident}
		}
	}
	switch {
	case f.observe && (err != nil || !found):
		return true // Ironic may have the node by the time the PUT gets there
	case err != nil:
		g.fail(w, r, errors.Join(err, context.Cause(f.wait)))
		return false
	case !found:
		// If Ironic does not show the client the node either, its answer to a GET goes to the client.
		switch {
		case !g.admit(f.wait, w, r, ident, true):
		case strings.HasSuffix(ident, ".json"):
			fault(w, http.StatusBadRequest, client, fmt.Sprintf("node %q: Ironic cuts .json off in some paths only; "+
				"write the node's name without it, or its UUID", ident))
		default:
			g.notNow(w, r, api.ReasonStarting,
				"Ironic shows this node to its client, but did not show it to the throttle: it is new, or its name is")
		}
		return false
	case f.pass == nil:
		if answer, f.pass = g.o.Decider.Forward(g.o.Now(), fresh, f.target); f.pass == nil {
			g.refuse(w, r, answer)
			return false
		}
	}
	f.uuid = fresh.NodeUUID
	return true
}
