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
	return c.settle(now, d, v)
}

// settle counts the decision, brings the queues up to date, and puts it into words
// that match what is now in force.
func (c *Controller) settle(now time.Time, d decision, v slots.Verdict) api.Answer {
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

// decide records what an ask tells, evaluates how things stand then, and carries out what
// follows for the queue, the breakers and the holds. The slot is the caller's to take.
func (c *Controller) decide(now time.Time, v *slots.Verdict, ask question) decision {
	s := c.fresh()
	if !s.leading {
		return evaluate(s) // it records nothing
	}
	t := c.record(now, v, ask)
	c.survey(now, s, *v, ask, t)
	d := evaluate(s)
	if d.undecided {
		c.askQueue(now, s, t)
		d = evaluate(s)
	}
	c.apply(now, s, t, &d)
	return d
}

// foresee is decide for a dry run: nothing is recorded and nothing follows.
func (c *Controller) foresee(now time.Time, v slots.Verdict, ask question) decision {
	s := c.fresh()
	var t *entry
	if ref, known := v.Ref(); known {
		t, _ = ref.Owner().(*entry)
	}
	c.survey(now, s, v, ask, t)
	d := evaluate(s)
	if d.undecided {
		c.peekQueue(now, s, t, ask)
		d = evaluate(s)
	}
	return d
}

// fresh is a situation of which nothing is known yet. There is one at a time.
func (c *Controller) fresh() *situation {
	c.situation = situation{leading: c.leading()}
	return &c.situation
}

// record takes what an ask tells, whatever its answer will be. It returns the queue entry of a host
// that needs a slot, in its queue.
func (c *Controller) record(now time.Time, v *slots.Verdict, ask question) (t *entry) {
	switch v.Outcome {
	case slots.Exempt, slots.Done:
		c.dequeue(now, *v)
	case slots.Held, slots.Overdue:
		c.recordHolder(now, *v, ask)
	case slots.Stale, slots.Starting, slots.Open:
		t = c.enqueue(now, v, ask)
	}
	if v.Outcome == slots.Open || loophole(*v) {
		c.recordFailures(now, *v, ask)
	}
	return t
}

// loophole reports whether the slot of a host would be a way round what failures stop: it
// only lingers after its work has failed (BO-2), or it was for the deprovision before what
// the host wants to begin now (BO-6). A PUT of a host with a slot is never refused (GW-3), but
// for the latter: nothing of it is under way.
func loophole(v slots.Verdict) bool {
	ref, known := v.Ref()
	return known && v.Outcome == slots.Held && (beginsAnew(ref, v.Op()) || !v.Put() && ref.Lingers())
}

// beginsAnew reports whether the host holds its slot for a deprovision and wants to
// begin what follows.
func beginsAnew(ref slots.Ref, op api.Op) bool {
	return ref.Op() == api.OpDeprovision && (op == api.OpInspect || op == api.OpPrepare || op == api.OpProvision)
}

// askQueue enters a host that nothing but its turn keeps from starting into the queue.
func (c *Controller) askQueue(now time.Time, s *situation, t *entry) {
	c.probes(now, s, t)
	c.parkSilent(t.queue)
	free := c.share(now, t.queue, t.host, s.ledger.Free, s.rate.left)
	s.answer, s.heard = t.queue.Enqueue(now, free, t.host, c.policy.errors(t)), true
}

// peekQueue is askQueue for a dry run.
func (c *Controller) peekQueue(now time.Time, s *situation, t *entry, ask question) {
	l := c.queue(s.ledger)
	host, errors := fairshare.NewHost("", tenant(s.ledger.ID())), s.errors(ask)
	if t != nil && t.queue == l {
		host = t.host
	}
	s.answer, s.heard = l.Peek(now, c.share(now, l, host, s.ledger.Free, s.rate.left), host, errors), true
}

// errors weighs the host of an ask as policy.errors does once the ask is recorded.
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
func (c *Controller) apply(now time.Time, s *situation, t *entry, d *decision) {
	v := &s.ledger
	switch {
	case v.Outcome == slots.Stale || v.Outcome == slots.Starting:
		if t != nil {
			d.position = t.queue.Refused(now, t.host, c.policy.errors(t))
		}
		return
	case v.Outcome == slots.Held && !d.ready:
		c.ledger.Record(now, v)
	}
	if s.watched && !s.held.Held {
		c.noteAsk(now, s)
	}
	switch {
	case v.Outcome != slots.Open:
	case d.reason == api.ReasonHold:
		t.queue.Suspend(now, t.host) // it keeps its old place, but does not take one (BO-9)
	case d.stop != nil && d.reason != api.ReasonRate:
		t.queue.Refused(now, t.host, c.policy.errors(t))
		t.queue.Suspend(now, t.host)
	case d.ready:
		t.queue.Take(t.host)
		c.noteMissed(now, t.queue, s.rate.left)
		t.permit = c.policy.permit(now, t.ref.Facts(), s.goes)
	}
}

// enqueue enters a host that wants a slot. It returns nil for one whose pool is not
// known yet: nobody knows in which queue it belongs, and in a wrong one it would be
// called for nothing.
func (c *Controller) enqueue(now time.Time, v *slots.Verdict, ask question) *entry {
	ref := c.ledger.Record(now, v)
	c.sync(now) // it may have learned its name or UUID
	if _, known := v.Pool(); !known {
		c.dequeue(now, *v)
		return nil
	}
	t := c.entryOf(now, ref, c.queue(*v))
	t.record(now, ask, v.Put())
	return t
}

// queue is where the host of v queues.
func (c *Controller) queue(v slots.Verdict) *queue {
	pool, _ := v.Pool()
	return c.queues[pool]
}

// recordHolder notes the errors of a host that holds a slot.
func (c *Controller) recordHolder(now time.Time, v slots.Verdict, ask question) {
	ref, known := v.Ref()
	if !known {
		return
	}
	t := c.entry(ref)
	t.record(now, ask, v.Put())
	if t.queue != nil {
		t.queue.RecordErrors(t.host, c.policy.errors(t))
	}
}

// dequeue takes a host out of its queue that needs no slot any more; one that it
// holds is the ledger's to end.
func (c *Controller) dequeue(now time.Time, v slots.Verdict) {
	ref, known := v.Ref()
	if !known {
		return
	}
	if t, ok := ref.Owner().(*entry); ok && t.host.State() != fairshare.Holding {
		c.leave(now, t)
	}
}

// Vacancy answers the bare check of the original proposal: is there a free slot?
// It changes nothing.
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
	s.rate = c.policy.room(now, false)
	total := c.queues[slots.Pool{}]
	s.answer, s.heard = total.Vacancy(c.share(now, total, nil, v.Free, s.rate.left)), true
	return c.answer(evaluate(s), v)
}

// slotsAsk translates the wire's question. A host that is being deleted while
// provisioning will be deprovisioned, whatever it says it wants (LH-26); a PUT does what
// it says.
func (c *Controller) slotsAsk(ask question, put bool) slots.Ask {
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
// spells it. A name that the ledger has already is not built again.
func (c *Controller) hostID(ask question) slots.ID {
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
