package admission

import (
	"errors"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// workEnded takes the end of a piece of work: what really happened in Ironic, never that
// an ask was answered (docs/spec/breaker.md).
func (c *core) workEnded(now time.Time, e slots.Ending) {
	s := c.policy
	h := hostOf(e.Host)
	if h != nil {
		c.note(now, h, workEnded, workCode(e))
	}
	if e.Result == slots.Gone {
		s.book.Gone(e.Host.ID().UUID)
		return
	}
	if e.Result != slots.Found {
		s.counts.ended(e)
		s.judge(now, h, e, c.sizer.cutFor(e.Host))
		c.followBreakers(now)
	}
	switch e.Result {
	case slots.Succeeded:
		if kind, ok := holdKinds[e.Work]; ok || e.State == ironic.Active {
			s.book.Mended(now, e.Host.ID().UUID, kind, e.State == ironic.Active)
		}
	case slots.Failed, slots.Found:
		if fresh := c.failed(now, h, e); e.Result == slots.Failed || fresh && s.book.Held(now, e.Host.ID().UUID) {
			s.notices = append(s.notices, s.hostNotice(now, e, fresh))
		}
	}
}

// judge counts the outcome in the breakers. A failure settles the permit of the host's slot, and so
// does success at the work that the permit was given for; success of a step on the way does not.
// Where the limit was cut for its boot, a failure says nothing more about the whole Ironic (SZ-12).
func (s *policy) judge(now time.Time, h *host, e slots.Ending, cutFor bool) {
	if s.set == nil {
		return
	}
	s.last = e.Work
	work := breaker.Work{Host: e.Host.ID().UUID, Kind: string(e.Work)}
	scopes := slices.Clone(s.scopes(e.Host.Facts()))
	settles := h != nil && h.permit != nil && (e.Result != slots.Succeeded || e.Reached)
	if settles {
		of := h.permit.Scopes()
		scopes = slices.DeleteFunc(scopes, func(x breaker.Scope) bool { return slices.Contains(of, x) })
	}
	switch e.Result {
	case slots.Failed:
		var except []breaker.Scope
		if cutFor {
			except = []breaker.Scope{wholeIronic}
		}
		cause := errors.New(causeOf(e))
		if settles {
			_ = h.permit.Fail(now, work, cause, except...)
		}
		scopes = slices.DeleteFunc(scopes, func(x breaker.Scope) bool { return slices.Contains(except, x) })
		s.set.RecordForeign(now, work, cause, scopes...)
	case slots.Succeeded:
		if settles {
			_ = h.permit.Succeed(now, work)
		}
		s.set.RecordSuccess(now, work, scopes...)
	default:
		if settles {
			_ = h.permit.Cancel(now)
		}
	}
	if settles {
		h.permit = nil
	}
}

// holdKinds are the kinds of work that can fail before there is an instance.
var holdKinds = map[ironic.Work]holdoff.Kind{
	ironic.WorkInspect: holdoff.Inspection, ironic.WorkClean: holdoff.Cleaning, ironic.WorkDeploy: holdoff.Deployment,
}

// failed begins an episode, unless the host has an instance (BO-7) or the work is of a kind for
// which no host is held off. fresh tells that it did.
func (c *core) failed(now time.Time, h *host, e slots.Ending) (fresh bool) {
	kind, ok := holdKinds[e.Work]
	if !ok || e.Rework || !slices.Contains(ironic.FailedBefore(), e.State) {
		return false
	}
	f := holdoff.Failure{
		UUID: e.Host.ID().UUID, Name: e.Host.ID().Name, State: string(e.State), Token: e.Token, Kind: kind, Cause: cut(e.Cause),
	}
	if h != nil {
		if h.deployed {
			return false
		}
		f.UID, f.Spec = h.uid, h.spec
	}
	if f.Spec == "" {
		f.Spec = c.specOf(f.UUID)
	}
	_, fresh = c.policy.book.Failed(now, f)
	if fresh && h != nil && h.waits() && c.policy.book.Held(now, f.UUID) {
		h.queue.Suspend(now, &h.place) // it is called, perhaps, and must keep no slot from others
	}
	return fresh
}

// followBreakers takes the changes of the breakers. When a scope opens, its hosts are suspended
// in their queues, so that no slot is reserved for them.
func (c *core) followBreakers(now time.Time) {
	s := c.policy
	if s.set == nil {
		return
	}
	for _, e := range s.set.Events() {
		notice := breakerNotice(e)
		c.nameHosts(notice.Causes)
		if p := s.recovering[e.Scope]; p != nil && p.unused {
			notice.ByHand = false
		}
		s.notices = append(s.notices, notice)
		c.journalFailure(now, notice)
		switch e.To {
		case breaker.Closed:
			delete(s.recovering, e.Scope)
		case breaker.Open:
			s.counts.opened[e.Scope.Kind]++
			p := s.recovering[e.Scope]
			if p == nil {
				p = &recovery{}
				s.recovering[e.Scope] = p
			}
			p.candidates, p.work = nil, s.last
			if e.ByHand {
				p.work = ""
			}
			c.queues.suspend(now, func(f slots.Facts) bool { return slices.Contains(s.scopes(f), e.Scope) })
		}
	}
}
