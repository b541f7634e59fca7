package gate

import (
	"context"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// leave is a PUT's permission to go on to Ironic.
type leave struct {
	pass    *admission.Pass
	uuid    string // of the node that the decision was about: it goes to this one
	unknown bool   // which node it is was not seen, and nothing is refused (GW-14); pass is nil
}

// decide gets leave for a PUT, or answers the client why not.
func (g *Gate) decide(ctx context.Context, out outgoing, ident string, target ironic.Target) (leave, bool) {
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
			case err != nil && g.o.Decider.HasSlot(g.o.Now(), ident):
				who = identity{uuid: ident} // its slot is its own, whatever can be seen
			case err != nil || !found:
				return leave{unknown: true}, g.without(ctx, out, ident, err)
			}
		}
		answer, pass := g.o.Decider.Forward(g.o.Now(), who.ask(), target)
		switch {
		case pass == nil && cached && answer.Reason == api.ReasonStarting && !within(g.o.Now(), last.at, startingGap):
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
			err != nil && (answer.Reason == api.ReasonHeldSlot || g.o.Observe()) && strings.EqualFold(who.uuid, ident):
			return leave{pass: pass, uuid: who.uuid}, true
		}
		pass.Unsent(g.o.Now())
		if err != nil || !found {
			return leave{unknown: true}, g.without(ctx, out, ident, err)
		}
	}
	if g.o.Observe() { // what works now is looked for when it does (GW-14)
		return leave{unknown: true}, true
	}
	g.notNow(out.w, out.r, api.ReasonStarting, "the node changes its name faster than it can be looked up")
	return leave{}, false
}

// waits keeps a PUT that was answered with a no, if its host is among the next, and reports
// whether the decision is to be asked again (GW-19). One with a large body takes too much
// space for that.
func (g *Gate) waits(ctx context.Context, out outgoing, a api.Answer, who identity, target ironic.Target) bool {
	return !out.body.OnDisk() &&
		g.queue.wait(ctx, out.arrived, a, func() api.Answer { return g.o.Decider.Foresee(g.o.Now(), who.ask(), target) })
}

// no passes a refusal on. A view may be stale because Ironic is away, and then its
// absence is the answer (GW-9, GW-10).
func (g *Gate) no(ctx context.Context, out outgoing, ident string, answer api.Answer, who identity, cached bool) {
	if cached && answer.Reason == api.ReasonStale {
		if _, _, err := g.fetch(ctx, ident); err != nil {
			g.failed(ctx, out.w, out.r, err)
			return
		}
	}
	g.o.Refused(g.o.Now(), who.uuid)
	g.refuse(out.w, out.r, answer)
}

// without reports whether a PUT is forwarded although nothing is known of its node. It is only
// where nothing may be refused: Ironic might have the node by the time it gets there. Else an
// Ironic that does not have the node answers the client itself, to a read that can start
// nothing (GW-17).
func (g *Gate) without(ctx context.Context, out outgoing, ident string, err error) bool {
	switch {
	case g.o.Observe():
		return true
	case err != nil:
		g.failed(ctx, out.w, out.r, err)
	case g.shows(ctx, out, ident):
		g.notNow(out.w, out.r, api.ReasonStarting, "the throttle did not find this node in Ironic, and its client does: it is new, or has got its name only now")
	}
	return false
}
