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
	s := c.situationOf(now, asked, false)
	if asked.DryRun {
		return c.answer(c.foresee(now, s), s)
	}
	d := c.decide(now, s)
	switch {
	case s.ledger.Outcome == slots.Open:
		if d.ready {
			c.ledger.Grant(now, s.ledger)
		}
	case d.ready || d.overdue: // any other no renews nothing
		c.ledger.Commit(now, s.ledger)
	}
	return c.conclude(now, d, s)
}

// situationOf returns the situation of an ask as far as the cluster and the ledger know it. There is
// one at a time: the next call reuses it.
func (c *core) situationOf(now time.Time, asked api.Ask, put bool) *situation {
	s := c.fresh()
	s.ask = c.question(asked, put)
	s.ledger = c.check(now, c.slotsAsk(&s.ask, put))
	return s
}

// fresh returns an empty situation.
func (c *core) fresh() *situation {
	c.situation = situation{leading: c.leading()}
	return &c.situation
}

// conclude counts the decision, brings the queues up to date with it, and returns the answer, in
// words that show the slots and the queue as they are then.
func (c *core) conclude(now time.Time, d decision, s *situation) api.Answer {
	c.revision.Add(1)
	c.lastAsk = now
	if !d.ready && c.mode == Observe {
		c.refusals[d.reason]++
		c.ledger.Observed(now, s.ledger)
		c.dequeue(now, &s.ledger)
	}
	c.sync(now)
	if h := hostIn(&s.ledger); h != nil && s.leading {
		c.noteAnswer(now, h, s.ask.Op, d.reason)
	}
	if d.reason == api.ReasonGranted {
		s.ledger.Slots = c.ledger.SlotsFor(s.ledger)
	}
	answer := c.answer(d, s)
	c.asks[answer.Reason]++
	return answer
}

// decide records what an ask says, evaluates the situation, and applies the decision to the
// queue, the breakers and the holds. It does not take the slot: the caller does.
func (c *core) decide(now time.Time, s *situation) decision {
	if !s.leading {
		return evaluate(s) // it records nothing
	}
	c.record(now, s)
	c.survey(now, s)
	d := evaluate(s)
	if d.undecided {
		c.askQueue(now, s)
		d = evaluate(s)
	}
	c.apply(now, s, &d)
	return d
}

// foresee is decide for a dry run: nothing is recorded and nothing follows.
func (c *core) foresee(now time.Time, s *situation) decision {
	s.host = hostIn(&s.ledger)
	c.survey(now, s)
	d := evaluate(s)
	if d.undecided {
		c.peekQueue(now, s)
		d = evaluate(s)
	}
	return d
}

// record notes what an ask says, whatever its answer will be. It assigns a host that needs a slot
// to its queue; s.host is its record, and stays nil for any other host.
func (c *core) record(now time.Time, s *situation) {
	switch s.ledger.Outcome {
	case slots.Exempt, slots.Done:
		c.dequeue(now, &s.ledger)
	case slots.Held, slots.Overdue:
		c.recordHolder(now, s)
	case slots.Stale, slots.Starting, slots.Open:
		c.enqueue(now, s)
	}
	if !c.policy.book.Idle() && (s.ledger.Outcome == slots.Open || reusesSlot(&s.ledger)) {
		c.policy.book.Ask(now, c.holdAsk(s))
	}
}

// reusesSlot reports whether the host could bypass a hold or a breaker with a slot that it still
// has. There are two cases: the slot lingers after its work has failed (BO-2), or it was given for
// a deprovision and the host wants to begin what follows (BO-6). A PUT counts in the second case
// alone: otherwise a PUT of a host with a slot is not refused (GW-3).
func reusesSlot(v *slots.Verdict) bool {
	ref, known := v.Ref()
	return known && v.Outcome == slots.Held && (beginsAnew(ref, v.Op()) || !v.Put() && ref.Lingers())
}

// beginsAnew reports whether the host holds its slot for a deprovision and wants to
// begin what follows.
func beginsAnew(ref slots.Ref, op api.Op) bool {
	return ref.Op() == api.OpDeprovision && (op == api.OpInspect || op == api.OpPrepare || op == api.OpProvision)
}

// askQueue enqueues a host that no other rule has stopped, and gets the queue's answer.
func (c *core) askQueue(now time.Time, s *situation) {
	h := s.host
	c.enterProbes(s)
	c.queues.parkSilent(h.queue)
	free := c.queues.share(now, h.queue, &h.place, s.ledger.Free, s.rate.left)
	s.answer, s.enqueued = h.queue.Enqueue(now, free, &h.place, c.policy.errors(h)), true
}

// peekQueue is askQueue for a dry run.
func (c *core) peekQueue(now time.Time, s *situation) {
	q := c.queues.of(&s.ledger)
	var place *fairshare.Host
	if s.host != nil && s.host.queue == q {
		place = &s.host.place
	} else {
		place = fairshare.NewHost("", tenant(s.ledger.ID()))
	}
	s.answer, s.enqueued = q.Peek(now, c.queues.share(now, q, place, s.ledger.Free, s.rate.left), place, s.errors()), true
}

// errors returns what policy.errors will return once the ask is recorded.
func (s *situation) errors() int {
	if s.ask.Deleting {
		return 0
	}
	errors := max(s.ask.ErrorCount, s.ask.ProvisioningFailCount, s.failures)
	if ref, known := s.ledger.Ref(); known {
		errors = max(errors, ref.Failures())
	}
	return errors
}

// apply carries out what a decision means for the queue, the breakers and the holds.
func (c *core) apply(now time.Time, s *situation, d *decision) {
	v, h := &s.ledger, s.host
	switch {
	case v.Outcome == slots.Stale || v.Outcome == slots.Starting:
		if h != nil && !s.ask.Planned {
			d.position = h.queue.Refused(now, &h.place, c.policy.errors(h))
		}
		return
	case v.Outcome == slots.Held && !d.ready: // it asks, and renews nothing
		c.ledger.Record(now, v)
	}
	if s.guarded && !s.hold.Held && (!s.ask.Planned || s.unplaced) {
		c.noteAsk(now, s)
	}
	switch {
	case v.Outcome != slots.Open:
	case s.ask.Planned:
		if d.ready {
			c.takePlanned(now, s)
		}
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

// enqueue assigns a host that wants a slot to the queue of its pool; not while the pool is not
// known, for in a wrong queue the host would be called for nothing.
func (c *core) enqueue(now time.Time, s *situation) {
	ref := c.ledger.Record(now, &s.ledger)
	c.sync(now)                                                             // it may have learned its name or UUID
	if h := hostOf(ref); h != nil && h.place.State() == fairshare.Holding { // and with that a slot
		s.ledger = c.check(now, c.slotsAsk(&s.ask, s.ledger.Put()))
		c.recordHolder(now, s)
		return
	}
	if s.ask.Planned {
		c.standAside(now, s, ref)
		return
	}
	c.alone = alone{}
	if _, known := s.ledger.Pool(); !known {
		c.dequeue(now, &s.ledger)
		return
	}
	s.host = c.host(ref)
	c.queues.join(now, s.host, c.queues.of(&s.ledger))
	s.host.record(now.Sub(c.policy.born), &s.ask, s.ledger.Put())
	s.host.queue.Wants(&s.host.place, fairshare.Kind(s.host.wants))
}

// recordHolder notes the errors of a host that holds a slot.
func (c *core) recordHolder(now time.Time, s *situation) {
	ref, known := s.ledger.Ref()
	if !known {
		return
	}
	h := c.host(ref)
	h.record(now.Sub(c.policy.born), &s.ask, s.ledger.Put())
	if h.queue != nil {
		h.queue.RecordErrors(&h.place, c.policy.errors(h))
		if s.ask.Planned {
			h.queue.RecordPlanned(&h.place)
		}
	}
}

// dequeue takes a host that needs no slot out of its queue. If it holds one, it stays: the
// ledger ends slots.
func (c *core) dequeue(now time.Time, v *slots.Verdict) {
	if h := hostIn(v); h != nil && h.place.State() != fairshare.Holding {
		c.queues.leave(now, h)
	}
}

// Vacancy answers the bare check of the original proposal: is there a free slot? No host
// asks, so it fills a situation by itself instead of calling survey. It changes nothing.
func (c *Controller) Vacancy(now time.Time) api.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.fresh()
	v := &s.ledger
	v.Slots = c.ledger.Slots(now)
	v.Outcome, v.Wait = c.ledger.Ready(now)
	v.Free = v.Slots.Free
	if c.policy.watch[ScopeIronic] {
		s.open = c.breakerOpen(now, wholeIronic)
	}
	s.rate = c.policy.startsLeft(now, false)
	total := c.queues.by[slots.Pool{}]
	s.answer, s.enqueued = total.Vacancy(c.queues.share(now, total, nil, v.Free, s.rate.left)), true
	return c.answer(evaluate(s), s)
}

// slotsAsk translates the wire's question. A host that is being deleted while
// provisioning will be deprovisioned, whatever it says it wants (LH-26); a PUT does what
// it says.
func (c *core) slotsAsk(ask *question, put bool) slots.Ask {
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
func (c *core) hostID(ask *question) slots.ID {
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
