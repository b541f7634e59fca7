package admission

import (
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// IsReady answers one ask. The ask must be valid (api.Ask.Validate). It never
// fails, blocks, or causes a request to Ironic.
func (c *Controller) IsReady(now time.Time, asked api.Ask) api.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	ask := c.question(asked, false)
	v := c.check(now, c.slotsAsk(ask, false))
	if ask.DryRun {
		return c.answer(c.foresee(now, v, ask), v)
	}
	d := c.decide(now, &v, ask)
	switch {
	case v.Outcome == slots.Open:
		if d.ready {
			c.ledger.Grant(now, v)
		}
	case d.ready || d.overdue: // any other no renews nothing
		c.ledger.Commit(now, v)
	}
	return c.conclude(now, d, v)
}

// conclude counts the decision, brings the queues up to date with it, and returns the answer, in
// words that show the slots and the queue as they are then.
func (c *core) conclude(now time.Time, d decision, v slots.Verdict) api.Answer {
	c.revision.Add(1)
	if !d.ready && c.mode == Observe {
		c.refusals[d.reason]++
		c.ledger.Observed(now, v)
		c.dequeue(now, v)
	}
	c.sync(now)
	if d.reason == api.ReasonGranted {
		v.Slots = c.ledger.SlotsFor(v)
	}
	answer := c.answer(d, v)
	c.asks[answer.Reason]++
	return answer
}

// decide records what an ask says, evaluates the situation, and applies the decision to the
// queue, the breakers and the holds. It does not take the slot: the caller does.
func (c *core) decide(now time.Time, v *slots.Verdict, ask question) decision {
	s := c.fresh()
	if !s.leading {
		return evaluate(s) // it records nothing
	}
	h := c.record(now, v, ask)
	c.survey(now, s, *v, ask, h)
	d := evaluate(s)
	if d.undecided {
		c.askQueue(now, s, h)
		d = evaluate(s)
	}
	c.apply(now, s, h, &d)
	return d
}

// foresee is decide for a dry run: nothing is recorded and nothing follows.
func (c *core) foresee(now time.Time, v slots.Verdict, ask question) decision {
	s := c.fresh()
	h := hostIn(v)
	c.survey(now, s, v, ask, h)
	d := evaluate(s)
	if d.undecided {
		c.peekQueue(now, s, h, ask)
		d = evaluate(s)
	}
	return d
}

// fresh returns an empty situation. There is one at a time: the next call reuses it.
func (c *core) fresh() *situation {
	c.situation = situation{leading: c.leading()}
	return &c.situation
}

// record notes what an ask says, whatever its answer will be. It assigns a host that needs a slot
// to its queue and returns its record, and returns nil for any other host.
func (c *core) record(now time.Time, v *slots.Verdict, ask question) (h *host) {
	switch v.Outcome {
	case slots.Exempt, slots.Done:
		c.dequeue(now, *v)
	case slots.Held, slots.Overdue:
		c.recordHolder(now, *v, ask)
	case slots.Stale, slots.Starting, slots.Open:
		h = c.enqueue(now, v, ask)
	}
	if v.Outcome == slots.Open || reusesSlot(*v) {
		c.policy.book.Ask(now, c.holdAsk(*v, ask))
	}
	return h
}

// reusesSlot reports whether the host could bypass a hold or a breaker with a slot that it still
// has. There are two cases: the slot lingers after its work has failed (BO-2), or it was given for
// a deprovision and the host wants to begin what follows (BO-6). A PUT counts in the second case
// alone: otherwise a PUT of a host with a slot is not refused (GW-3).
func reusesSlot(v slots.Verdict) bool {
	ref, known := v.Ref()
	return known && v.Outcome == slots.Held && (beginsAnew(ref, v.Op()) || !v.Put() && ref.Lingers())
}

// beginsAnew reports whether the host holds its slot for a deprovision and wants to
// begin what follows.
func beginsAnew(ref slots.Ref, op api.Op) bool {
	return ref.Op() == api.OpDeprovision && (op == api.OpInspect || op == api.OpPrepare || op == api.OpProvision)
}

// askQueue enqueues a host that no other rule has stopped, and gets the queue's answer.
func (c *core) askQueue(now time.Time, s *situation, h *host) {
	c.enterProbes(s, h)
	c.queues.parkSilent(h.queue)
	free := c.queues.share(now, h.queue, &h.place, s.ledger.Free, s.rate.left)
	s.answer, s.enqueued = h.queue.Enqueue(now, free, &h.place, c.policy.errors(h)), true
}

// peekQueue is askQueue for a dry run.
func (c *core) peekQueue(now time.Time, s *situation, h *host, ask question) {
	l := c.queues.of(s.ledger)
	var place *fairshare.Host
	if h != nil && h.queue == l {
		place = &h.place
	} else {
		place = fairshare.NewHost("", tenant(s.ledger.ID()))
	}
	s.answer, s.enqueued = l.Peek(now, c.queues.share(now, l, place, s.ledger.Free, s.rate.left), place, s.errors(ask)), true
}

// errors returns what policy.errors will return once the ask is recorded.
func (s *situation) errors(ask question) int {
	if ask.Deleting {
		return 0
	}
	errors := max(ask.ErrorCount, ask.ProvisioningFailCount, s.failures)
	if ref, known := s.ledger.Ref(); known {
		errors = max(errors, ref.Failures())
	}
	return errors
}

// apply carries out what a decision means for the queue, the breakers and the holds.
func (c *core) apply(now time.Time, s *situation, h *host, d *decision) {
	v := &s.ledger
	switch {
	case v.Outcome == slots.Stale || v.Outcome == slots.Starting:
		if h != nil {
			d.position = h.queue.Refused(now, &h.place, c.policy.errors(h))
		}
		return
	case v.Outcome == slots.Held && !d.ready: // it asks, and renews nothing
		c.ledger.Record(now, v)
	}
	if s.guarded && !s.hold.Held {
		c.noteAsk(now, s)
	}
	switch {
	case v.Outcome != slots.Open:
	case d.reason == api.ReasonHold:
		h.queue.Suspend(now, &h.place) // it keeps its old place, but does not take one (BO-9)
	case d.stop != nil && d.reason != api.ReasonRate:
		h.queue.Refused(now, &h.place, c.policy.errors(h))
		h.queue.Suspend(now, &h.place)
	case d.ready:
		h.queue.Take(&h.place)
		c.queues.missed(now, h.queue, s.rate.left)
		h.permit = c.policy.permit(now, h.Facts(), s.deletion)
	}
}

// enqueue assigns a host that wants a slot to the queue of its pool. It returns nil while the
// pool is not known: in a wrong queue the host would be called for nothing.
func (c *core) enqueue(now time.Time, v *slots.Verdict, ask question) *host {
	ref := c.ledger.Record(now, v)
	c.sync(now) // it may have learned its name or UUID
	if _, known := v.Pool(); !known {
		c.dequeue(now, *v)
		return nil
	}
	h := c.host(ref)
	c.queues.join(now, h, c.queues.of(*v))
	h.record(now, ask, v.Put())
	return h
}

// recordHolder notes the errors of a host that holds a slot.
func (c *core) recordHolder(now time.Time, v slots.Verdict, ask question) {
	ref, known := v.Ref()
	if !known {
		return
	}
	h := c.host(ref)
	h.record(now, ask, v.Put())
	if h.queue != nil {
		h.queue.RecordErrors(&h.place, c.policy.errors(h))
	}
}

// dequeue takes a host that needs no slot out of its queue. If it holds one, it stays: the
// ledger ends slots.
func (c *core) dequeue(now time.Time, v slots.Verdict) {
	if h := hostIn(v); h != nil && h.place.State() != fairshare.Holding {
		c.queues.leave(now, h)
	}
}

// Vacancy answers the bare check of the original proposal: is there a free slot? No host
// asks, so it fills a situation by itself instead of calling survey. It changes nothing.
func (c *Controller) Vacancy(now time.Time) api.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := slots.Verdict{Slots: c.ledger.Slots(now)}
	v.Outcome, v.Wait = c.ledger.Ready(now)
	v.Free = v.Slots.Free
	s := c.fresh()
	s.ledger = v
	if c.policy.watch[ScopeIronic] {
		s.open = c.breakerOpen(now, wholeIronic)
	}
	s.rate = c.policy.startsLeft(now, false)
	total := c.queues.by[slots.Pool{}]
	s.answer, s.enqueued = total.Vacancy(c.queues.share(now, total, nil, v.Free, s.rate.left)), true
	return c.answer(evaluate(s), v)
}

// slotsAsk translates the wire's question. A host that is being deleted while
// provisioning will be deprovisioned, whatever it says it wants (LH-26); a PUT does what
// it says.
func (c *core) slotsAsk(ask question, put bool) slots.Ask {
	op := ask.Op
	if ask.Deleting && op == api.OpProvision && !put {
		op = api.OpDeprovision
	}
	return slots.Ask{
		ID: c.hostID(ask), Op: op, BMHState: ask.BMHState, Deleting: ask.Deleting,
		Group: ask.ConductorGroup, VirtualMedia: ask.VirtualMedia, Put: put, Exists: ask.exists,
	}
}

// hostID is namespace~name, as BMO names nodes, and the node's UUID as Ironic
// spells it. To save an allocation it reuses the name that the ledger has.
func (c *core) hostID(ask question) slots.ID {
	id := slots.ID{UUID: strings.ToLower(ask.NodeUUID), Name: ask.Name}
	if ask.Namespace == "" || ask.Name == "" {
		return id
	}
	known := c.ledger.Name(id.UUID)
	if n := len(ask.Namespace); len(known) == n+1+len(ask.Name) && known[n] == '~' &&
		known[:n] == ask.Namespace && known[n+1:] == ask.Name {
		id.Name = known
	} else {
		id.Name = ask.Namespace + "~" + ask.Name
	}
	return id
}
