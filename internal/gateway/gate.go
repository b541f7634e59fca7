package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// gate decides about a PUT states/provision.
func (g *Gateway) gate(w http.ResponseWriter, r *http.Request, to route) {
	due := time.Now().Add(g.patience)
	ctx, cancel := context.WithDeadline(r.Context(), due)
	defer cancel()
	defer context.AfterFunc(g.ended, cancel)()
	// A body that takes room is not read for somebody whom Ironic does not let in.
	small := r.ContentLength >= 0 && r.ContentLength <= spoolTiny
	if !small && !g.admit(ctx, w, r, to.ident) {
		return
	}
	if g.observe && r.ContentLength > g.spool.maxBody {
		g.count.passed.Add(1)
		g.pass(w, r) // nothing is refused for its size either (GW-14)
		return
	}
	body, ok := g.receive(ctx, w, r, due)
	if !ok {
		return
	}
	defer body.close()
	asked, err := readTarget(r, to, body)
	if err != nil {
		g.badBody(w, r, err)
		return
	}
	out := outgoing{w: w, r: r, body: body, arrived: due.Add(-g.patience)}
	switch {
	case asked.free && asked.target != ironic.TargetUnhold:
		g.count.free.Add(1)
		g.forward(out, nil)
		return
	case asked.free: // never refused, so it may take its time
		ctx, cancel = context.WithTimeout(r.Context(), g.patience)
		defer cancel()
		defer context.AfterFunc(g.ended, cancel)()
	case ctx.Err() != nil:
		g.tooLate(w, r)
		return
	}
	if small && !g.admit(ctx, w, r, to.ident) || !g.mayName(ctx, out, to.ident) {
		return
	}
	g.count.gated.Add(1)
	if !g.leading() {
		g.standby(w, r)
		return
	}
	leave, ok := g.decide(ctx, out, to.ident, asked.target)
	if !ok {
		return
	}
	out.r = toNode(r, to.ident, leave.uuid)
	f := &flight{pass: leave.pass, wait: ctx, now: g.now}
	defer g.landed(ctx, f, leave, to.ident, asked.target)
	g.forward(out, f)
}

// landed sees to what a flight leaves behind, also where its answer could not be
// passed on.
func (g *Gateway) landed(ctx context.Context, f *flight, leave leave, ident string, target ironic.Target) {
	f.unsent() // unless anything else became of it
	switch {
	case f.pass != nil && (f.lost || f.status >= 500):
		g.log.Warn("gateway: it is not known what became of a provisioning request, its host keeps its slot until it is",
			"node", ident, "target", target, "status", f.status)
	case leave.unknown && f.status >= 200 && f.status < 300:
		g.surprised(ctx, ident, target)
	}
}

// receive takes the body in, or answers the client why not.
func (g *Gateway) receive(ctx context.Context, w http.ResponseWriter, r *http.Request, due time.Time) (content, bool) {
	wire := http.NewResponseController(w)
	// What is still on its way then comes too late, and after a while it is cut off.
	_ = wire.SetReadDeadline(due.Add(graceTimeout / 2))
	body, err := g.spool.take(ctx, r.Body, r.ContentLength)
	if err != nil {
		g.badBody(w, r, err)
		return content{}, false
	}
	_ = wire.SetReadDeadline(time.Now().Add(g.timeout + maxAge + graceTimeout))
	return body, true
}

// leave is a PUT's permission to go on to Ironic.
type leave struct {
	pass    *admission.Pass
	uuid    string // of the node that the decision was about: it goes to this one
	unknown bool   // which node it is was not seen, and nothing is refused (GW-14); pass is nil
}

// decide gets leave for a PUT, or answers the client why not.
func (g *Gateway) decide(ctx context.Context, out outgoing, ident string, target ironic.Target) (leave, bool) {
	const tries = 3
	unplaced := false
	for try := 0; try < tries; try++ {
		last, cached := g.known(ident)
		who := last.identity
		if cached = cached && !unplaced; !cached {
			var found bool
			var err error
			who, found, err = g.fetch(ctx, ident)
			switch {
			case err != nil && g.decider.HasSlot(g.now(), ident):
				who = identity{uuid: ident} // its slot is its own, whatever can be seen
			case err != nil || !found:
				return leave{unknown: true}, g.without(ctx, out, ident, err)
			}
		}
		answer, pass := g.decider.Forward(g.now(), who.ask(), target)
		switch {
		case pass == nil && cached && answer.Reason == api.ReasonStarting && !within(g.now(), last.at, startingGap):
			unplaced = true // the decision does not know yet where it belongs: the list alone does not count
			continue
		case pass == nil && g.waits(ctx, out, answer, who, target):
			try-- // the time bounds how often
			continue
		case pass == nil:
			g.no(ctx, out, ident, answer, who, cached)
			return leave{}, false
		case !cached:
			return leave{pass: pass, uuid: who.uuid}, true
		}
		// The slot is held; a yes needs a fetch of the node begun after the PUT came in (GW-17).
		again, found, err := g.fetch(ctx, ident)
		switch {
		case err == nil && found && again == who,
			// Its slot is its own, whatever Ironic shows. But whose a name is now, only Ironic knows.
			err != nil && (answer.Reason == api.ReasonHeldSlot || g.observe) && strings.EqualFold(who.uuid, ident):
			return leave{pass: pass, uuid: who.uuid}, true
		}
		pass.Unsent(g.now())
		if err != nil || !found {
			return leave{unknown: true}, g.without(ctx, out, ident, err)
		}
	}
	g.notNow(out.w, out.r, api.ReasonStarting, "the node changes its name faster than it can be looked up")
	return leave{}, false
}

// waits keeps a PUT that was answered with a no, if its host is among the next, and reports
// whether the decision is to be asked again (GW-19). One with a large body takes too much
// space for that.
func (g *Gateway) waits(ctx context.Context, out outgoing, a api.Answer, who identity, target ironic.Target) bool {
	return out.body.file == nil &&
		g.queue.wait(ctx, out.arrived, a, func() api.Answer { return g.decider.Foresee(g.now(), who.ask(), target) })
}

// no passes a refusal on. A view may be stale because Ironic is away, and then its
// absence is the answer (GW-9, GW-10).
func (g *Gateway) no(ctx context.Context, out outgoing, ident string, answer api.Answer, who identity, cached bool) {
	if cached && answer.Reason == api.ReasonStale {
		if _, _, err := g.fetch(ctx, ident); err != nil {
			g.gateFailed(ctx, out.w, out.r, err)
			return
		}
	}
	if g.reads != nil {
		g.reads.noteRefusal(g.now(), who.uuid)
	}
	g.refuse(out.w, out.r, answer)
}

// without reports whether a PUT is forwarded although nothing is known of its node. It is only
// where nothing may be refused: Ironic might have the node by the time it gets there. Else an
// Ironic that does not have the node answers the client itself, to a read that can start
// nothing (GW-17).
func (g *Gateway) without(ctx context.Context, out outgoing, ident string, err error) bool {
	switch {
	case g.observe:
		return true
	case err != nil:
		g.gateFailed(ctx, out.w, out.r, err)
	case g.shows(ctx, out, ident):
		g.notNow(out.w, out.r, api.ReasonStarting, "the throttle did not find this node in Ironic, and its client does: it is new, or has got its name only now")
	}
	return false
}

// gateFailed answers for an Ironic that could not be asked about a PUT, or not in the
// time that the PUT has.
func (g *Gateway) gateFailed(ctx context.Context, w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && !g.observe {
		g.tooLate(w, r)
		return
	}
	g.fail(w, r, err)
}

// outgoing is a PUT whose body is here.
type outgoing struct {
	w       http.ResponseWriter
	r       *http.Request
	body    content
	arrived time.Time
}

// forward sends a PUT on. With a flight, what Ironic answers is waited for even
// when the client is gone: better to know how it ended.
func (g *Gateway) forward(out outgoing, f *flight) {
	ctx := out.r.Context()
	if f != nil {
		ctx = context.WithValue(context.WithoutCancel(ctx), flightKey{}, f)
	}
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	defer context.AfterFunc(g.ended, cancel)()
	wait := ctx
	if f != nil {
		wait = f.wait
	}
	vacate, err := enter(wait, g.room.whole)
	if err == nil && g.ended.Err() != nil { // the place is of one that was cut at our end
		vacate()
		err = g.ended.Err()
	}
	if err != nil {
		g.gateFailed(wait, out.w, out.r, err)
		return
	}
	defer vacate()

	r := out.r.Clone(ctx)
	r.Header.Del("Expect") // its body is here
	r.Body, r.ContentLength, r.TransferEncoding = http.NoBody, out.body.size(), nil
	r.GetBody = nil
	if out.body.size() > 0 {
		// With GetBody a connection that Ironic closes in the same moment costs
		// nothing: where no byte went out, another one is taken.
		r.GetBody = out.body.open
		if f != nil {
			r.GetBody = fence(g.leading, out.body.open)
		}
		r.Body, _ = r.GetBody()
	}
	g.proxy.ServeHTTP(plainly(out.w), r)
}

// surprised counts a node that was not seen before its PUT was taken, in mode observe.
// It works, so it takes a slot.
func (g *Gateway) surprised(ctx context.Context, ident string, target ironic.Target) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(g.ended, cancel)()
	who, found, err := g.fetch(ctx, ident)
	if err != nil || !found {
		g.log.Error("gateway: a node took work and cannot be found", "node", ident, "error", brief(err))
		return
	}
	_, pass := g.decider.Forward(g.now(), who.ask(), ironic.TargetUnhold) // never refused
	if pass != nil {
		pass.Sent(g.now())
		pass.Answered(g.now(), http.StatusAccepted)
	}
	g.log.Warn("gateway: a node took work that could not be read before; it takes a slot", "node", ident, "target", target)
}
