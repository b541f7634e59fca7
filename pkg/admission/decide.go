package admission

import (
	"cmp"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

const (
	// retryFull is the advice to a host that met a full house: BMO itself comes
	// back after 60 to 120 s.
	retryFull = time.Minute
	// retryLook is the advice to a host whose answer hangs on the next look.
	retryLook = 5 * time.Second
)

// decision is an answer before it has words.
type decision struct {
	ready  bool
	reason api.Reason
	wait   time.Duration
}

// IsReady answers one ask. The ask must be valid (api.Ask.Validate). It never
// fails, blocks, or causes a request to Ironic.
func (c *Controller) IsReady(now time.Time, ask api.Ask) api.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.ledger.Check(now, slotsAsk(ask, false))
	d := c.judge(v)
	if ask.DryRun {
		return c.answer(now, d, v)
	}
	if d.reason == api.ReasonGranted {
		c.ledger.Grant(now, v)
	} else {
		c.ledger.Commit(now, v)
	}
	return c.settle(now, d, v)
}

// settle counts the decision, keeps the waiting room, and puts it into words
// that match what is now in force.
func (c *Controller) settle(now time.Time, d decision, v slots.Verdict) api.Answer {
	if !d.ready && c.mode == Observe {
		c.refusals[d.reason]++
		c.ledger.Observed(now, v)
	}
	key := cmp.Or(v.ID().UUID, v.ID().Name)
	if d.ready || c.mode == Observe {
		c.waiting.leave(key)
	} else {
		c.waiting.enter(key, now)
	}
	if d.reason == api.ReasonGranted {
		v.Slots = c.ledger.SlotsFor(v)
	}
	answer := c.answer(now, d, v)
	c.asks[answer.Reason]++
	return answer
}

// judge is the one decision; see the package comment for its order.
func (c *Controller) judge(v slots.Verdict) decision {
	switch v.Outcome {
	case slots.Exempt:
		return decision{ready: true, reason: api.ReasonExempt}
	case slots.Done:
		return decision{ready: true, reason: api.ReasonDone}
	case slots.Held:
		return decision{ready: true, reason: api.ReasonHeldSlot}
	case slots.Overdue:
		return decision{reason: api.ReasonNotCalled, wait: v.Wait}
	case slots.Starting:
		return decision{reason: api.ReasonStarting, wait: max(v.Wait, retryLook)}
	case slots.Stale:
		return decision{reason: api.ReasonStale, wait: retryLook}
	}
	if v.Free <= 0 {
		return decision{reason: api.ReasonFull, wait: retryFull}
	}
	return decision{ready: true, reason: api.ReasonGranted}
}

// Vacancy answers the bare check of the original proposal: is there a free slot?
// It changes nothing.
func (c *Controller) Vacancy(now time.Time) api.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := slots.Verdict{Slots: c.ledger.Slots(now)}
	v.Outcome, v.Wait = c.ledger.Ready(now)
	v.Free = v.Slots.Free
	return c.answer(now, c.judge(v), v)
}

// slotsAsk translates the wire's question. A host that is being deleted while
// provisioning will be deprovisioned, whatever it says it wants (LH-26).
func slotsAsk(ask api.Ask, put bool) slots.Ask {
	op := ask.Op
	if ask.Deleting && op == api.OpProvision {
		op = api.OpDeprovision
	}
	return slots.Ask{
		ID: hostID(ask), Op: op, BMHState: ask.BMHState, Deleting: ask.Deleting,
		Group: ask.ConductorGroup, VirtualMedia: ask.VirtualMedia, Put: put,
	}
}

// hostID is namespace~name, as BMO names nodes, and the node's UUID as Ironic
// spells it.
func hostID(ask api.Ask) slots.ID {
	id := slots.ID{UUID: strings.ToLower(ask.NodeUUID), Name: ask.Name}
	if ask.Namespace != "" && ask.Name != "" {
		id.Name = ask.Namespace + "~" + ask.Name
	}
	return id
}
