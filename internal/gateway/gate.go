package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/classify"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// gate decides about a request that may start work.
func (g *Gateway) gate(w http.ResponseWriter, r *http.Request, to classify.Route) {
	patience := maxAge
	if g.o.Observe() {
		patience = g.o.Timeout // nothing is refused for being late
	}
	due := time.Now().Add(patience)
	ctx, cancel := g.bound(r.Context(), patience)
	defer cancel()
	// A body that takes room is not read for somebody whom Ironic does not let in.
	if small := r.ContentLength >= 0 && r.ContentLength <= smallBody; !small && !g.admit(ctx, w, r, to.Ident, false) {
		return
	}
	body, ok := g.take(ctx, w, r, due)
	if !ok {
		return
	}
	defer body.close()
	asked, err := classify.Target(r, to, body.reader())
	switch {
	case err != nil:
		g.badBody(w, r, err)
		return
	case asked.Free && asked.Target != ironic.TargetUnhold:
		g.count.free.Add(1)
		g.send(w, r, body, nil)
		return
	case asked.Free || g.o.Observe(): // never refused, so it may take its time
		ctx, cancel = g.bound(r.Context(), patience)
		defer cancel()
	case ctx.Err() != nil:
		g.tooLate(w, r)
		return
	}
	const names = 10 // from this version on Ironic takes an operator's word for a node as the throttle does
	if !g.admit(ctx, w, r, to.Ident, minorOf(r.Header) < names && !uuidForm.MatchString(to.Ident)) {
		return
	}
	g.count.gated.Add(1)
	if !g.o.Leading() {
		g.standby(w, r)
		return
	}
	f := g.decide(ctx, w, r, to.Ident, asked.Target)
	if f == nil {
		return
	}
	defer g.landed(f, to.Ident, asked.Target)
	g.send(w, classify.ToNode(r, to.Ident, f.uuid), body, f)
}

// take takes the body of a PUT in. Else its client has its answer, or it passes unread.
func (g *Gateway) take(ctx context.Context, w http.ResponseWriter, r *http.Request, due time.Time) (body, bool) {
	// What is still on its way when it is due comes too late, and after a while it is cut off.
	b, err := g.receive(ctx, w, r, due.Add(grace/2))
	switch {
	case err == nil:
		return b, true
	case g.o.Observe() && r.ContentLength > 0 && (errors.Is(err, errTooLarge) || errors.Is(err, errNoRoom)):
		// Nothing of it is read yet.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		g.count.passed.Add(1)
		g.pass(w, r)
	default:
		g.badBody(w, r, err)
	}
	return body{}, false
}

// admit reports whether Ironic lets the client of r in, and, if that is wanted, shows it the node. Who was not let in
// gets neither a slot nor a place in the queue, but Ironic's own answer, here already.
func (g *Gateway) admit(ctx context.Context, w http.ResponseWriter, r *http.Request, ident string, shown bool) bool {
	who := credentialsOf(r.Header)
	if _, ok := g.access.get(time.Now(), who); ok && !shown {
		return true
	}
	answer, err := g.ask(ctx, r, "/v1/nodes/"+ident, "")
	switch {
	case err != nil:
		g.failed(ctx, w, r, err)
		return false
	case answer.status == http.StatusOK, answer.status == http.StatusNotFound && !shown:
		g.access.put(time.Now(), who, struct{}{})
		return true
	}
	g.relay(w, r, answer)
	return false
}

// decide asks for a slot, and returns a PUT's flight to Ironic. Without one its client has its answer.
//
// A no may go by what was fetched of the node lately. A yes takes the slot first, and then needs a fetch that was begun
// after the PUT came in: if that shows another host, the slot goes back, and the decision is made about that one.
func (g *Gateway) decide(
	ctx context.Context, w http.ResponseWriter, r *http.Request, ident string, target ironic.Target,
) *flight {
	f := &flight{wait: ctx}
	held := g.o.Decider.HasSlot(g.o.Now(), ident) // by its UUID: whose a name is now, only Ironic knows
	who, known := g.directory.get(g.o.Now(), ident)
	if known {
		var answer api.Answer
		answer, f.pass = g.o.Decider.Forward(g.o.Now(), who.ask(), target)
		if f.pass == nil && answer.Reason != api.ReasonStale { // if that is for want of an Ironic, it is to be told
			g.refuse(w, r, answer)
			return nil
		}
	}
	fresh, found, err := g.fetch(ctx, ident)
	if err != nil && held { // its slot is its own, whatever can be seen
		if !known {
			who.uuid = ident
		}
		fresh, found, err = who, true, nil
	}
	if f.pass != nil && (err != nil || !found || fresh != who) {
		f.pass.Unsent(g.o.Now())
		f.pass = nil
	}
	switch {
	case g.o.Observe() && (err != nil || !found):
		return f // Ironic might have the node by the time it gets there
	case err != nil:
		g.failed(ctx, w, r, err)
		return nil
	case !found:
		// An Ironic that does not have the node answers the client itself, to a read that can start nothing.
		if g.admit(ctx, w, r, ident, true) {
			g.notNow(w, r, api.ReasonStarting,
				"the throttle did not find this node in Ironic, and its client does: it is new, or its name is")
		}
		return nil
	case f.pass == nil:
		var answer api.Answer
		if answer, f.pass = g.o.Decider.Forward(g.o.Now(), fresh.ask(), target); f.pass == nil {
			g.refuse(w, r, answer)
			return nil
		}
	}
	f.uuid = fresh.uuid
	return f
}

// landed sees to what a flight leaves behind, also where its answer could not be passed on.
func (g *Gateway) landed(f *flight, ident string, target ironic.Target) {
	switch {
	case f.pass == nil:
	case f.lost || f.status >= 500:
		g.o.Log.Warn(
			"gateway: it is not known what became of a provisioning request, its host keeps its slot until it is",
			"node", ident, "target", target, "status", f.status)
	case f.status == 0:
		f.pass.Unsent(g.o.Now())
	}
}
