package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// errRenamed: names changed hands faster than they could be looked up.
var errRenamed = errors.New("the node changes its name too fast")

// gate decides about a PUT states/provision.
func (g *Gateway) gate(w http.ResponseWriter, r *http.Request, to route) {
	due := time.Now().Add(maxAge - dialTimeout)
	ctx, cancel := context.WithDeadline(r.Context(), due)
	defer cancel()
	wire := http.NewResponseController(w)
	_ = wire.SetReadDeadline(due) // a body that comes later is not wanted any more
	body, err := g.spool.take(ctx, r.Body, r.ContentLength)
	if err != nil {
		g.badBody(w, r, err)
		return
	}
	defer body.close()
	_ = wire.SetReadDeadline(time.Now().Add(g.timeout + maxAge + graceTimeout))
	asked, err := readTarget(r, to, body)
	if err != nil {
		g.badBody(w, r, err)
		return
	}
	out := outgoing{w: w, r: r, body: body, due: due}
	if asked.free && asked.target != ironic.TargetUnhold {
		g.count.free.Add(1)
		g.forward(out, nil)
		return
	}
	g.count.gated.Add(1)
	if !g.admit(ctx, w, r, to.ident) {
		return
	}
	pass, known, ok := g.decide(ctx, out, to.ident, asked.target)
	if !ok {
		return
	}
	f := &flight{pass: pass, now: g.now}
	defer f.unsent() // unless anything else became of it
	g.forward(out, f)
	if !known && f.status >= 200 && f.status < 300 {
		g.surprised(ctx, to.ident, asked.target)
	}
}

// decide gets the yes for a PUT. What says no has answered the client then.
// Not known is a node that Ironic does not have: its own 404 is the answer (GW-17).
func (g *Gateway) decide(ctx context.Context, out outgoing, ident string, target ironic.Target) (pass *admission.Pass, known, ok bool) {
	const tries = 3
	for range tries {
		who, cached := g.directory.get(g.now(), ident)
		if !cached {
			var err error
			if who, known, err = g.look(ctx, ident); err != nil || !known {
				return nil, false, g.lookFailed(out, err)
			}
		}
		answer, pass := g.decider.Forward(g.now(), who.ask(), target)
		if !cached {
			if pass == nil {
				g.refuse(out.w, answer)
			}
			return pass, true, pass != nil
		}
		if pass == nil && answer.Reason != api.ReasonStale {
			g.refuse(out.w, answer)
			return nil, true, false
		}
		// A yes needs a look begun after the PUT came in; a stale view may be stale
		// because Ironic is away, and then that is the answer.
		again, found, err := g.look(ctx, ident)
		switch {
		case pass == nil && err == nil:
			g.refuse(out.w, answer)
			return nil, true, false
		case pass == nil:
			return nil, true, g.lookFailed(out, err)
		case err != nil && !g.observe && answer.Reason != api.ReasonHeldSlot:
			pass.Unsent(g.now())
			return nil, true, g.lookFailed(out, err)
		case err == nil && !found:
			pass.Unsent(g.now())
			return nil, false, true
		case err == nil && again != who:
			pass.Unsent(g.now())
			continue
		}
		return pass, true, true
	}
	g.notNow(out.w, api.ReasonStarting, errRenamed.Error())
	return nil, true, false
}

// lookFailed answers for an Ironic that could not be asked for the node. No error
// is a node that is not there, for which the PUT goes on.
func (g *Gateway) lookFailed(out outgoing, err error) (goOn bool) {
	if err == nil || g.observe {
		return true
	}
	g.fail(out.w, out.r, err)
	return false
}

// outgoing is a PUT whose body is here.
type outgoing struct {
	w    http.ResponseWriter
	r    *http.Request
	body content
	due  time.Time // after that it is too old to be sent
}

// forward sends a PUT on. With a flight, what Ironic answers is waited for even
// when the client is gone: better to know how it ended.
func (g *Gateway) forward(out outgoing, f *flight) {
	ctx := out.r.Context()
	if f != nil {
		if ctx.Err() != nil || !time.Now().Before(out.due) {
			f.unsent()
			g.notNow(out.w, api.ReasonStarting, "the request waited here for too long to be sent")
			return
		}
		ctx = context.WithValue(context.WithoutCancel(ctx), flightKey{}, f)
	}
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	defer context.AfterFunc(g.ended, cancel)()

	r := out.r.Clone(ctx)
	r.Header.Del("Expect") // its body is here
	r.Body, r.ContentLength, r.TransferEncoding = http.NoBody, out.body.size(), nil
	r.GetBody = nil
	if out.body.size() > 0 {
		// With GetBody a connection that Ironic closes in the same moment costs
		// nothing: where no byte went out, another one is taken.
		r.GetBody = out.body.open
		r.Body, _ = out.body.open()
	}
	g.proxy.ServeHTTP(out.w, r)
}

// badBody answers for a body that could not be taken in.
func (g *Gateway) badBody(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, errTooLarge):
		writeFault(w, http.StatusRequestEntityTooLarge, client,
			fmt.Sprintf("the body is larger than GATEWAY_MAX_BODY, %d bytes", g.spool.maxBody))
	case errors.Is(err, errNoRoom):
		g.notNow(w, api.ReasonFull, "too many large bodies wait here at once, see GATEWAY_SPOOL_LIMIT")
	case errors.Is(err, errBroken):
		writeFault(w, http.StatusBadRequest, client, err.Error())
	default:
		g.log.Error("gateway: a body cannot be kept", "error", err, "method", r.Method, "path", r.URL.Path)
		writeFault(w, http.StatusInternalServerError, server, "the body cannot be kept: "+err.Error())
	}
}

// surprised counts a node that was not in Ironic a moment ago and whose PUT was
// taken all the same: it has got its name just now. It works, so it takes a slot.
func (g *Gateway) surprised(ctx context.Context, ident string, target ironic.Target) {
	who, found, err := g.look(context.WithoutCancel(ctx), ident)
	if err != nil || !found {
		g.log.Error("gateway: a node took work and cannot be found", "node", ident, "error", err)
		return
	}
	_, pass := g.decider.Forward(g.now(), who.ask(), ironic.TargetUnhold) // never refused
	if pass != nil {
		pass.Sent(g.now())
		pass.Answered(g.now(), http.StatusAccepted)
	}
	g.log.Warn("gateway: a node took work in the moment it got its name; it takes a slot", "node", ident, "target", target)
}
