package admission

import (
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// retryLook is the advice to a host whose answer hangs on the next look.
const retryLook = 5 * time.Second

// decision is an answer before it has words.
type decision struct {
	ready    bool
	reason   api.Reason
	wait     time.Duration
	expect   time.Duration // until there may be a slot; below 0: not known yet
	position int
	overdue  bool  // holds a slot and has not used it
	stop     *stop // what keeps it from starting besides slots and turns
}

// IsReady answers one ask. The ask must be valid (api.Ask.Validate). It never
// fails, blocks, or causes a request to Ironic.
func (c *Controller) IsReady(now time.Time, asked api.Ask) api.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	ask := c.question(asked, false)
	v := c.check(now, c.slotsAsk(ask, false))
	if ask.DryRun {
		d := standby()
		if c.leading() {
			d = c.peek(now, v, ask)
		}
		return c.answer(d, v)
	}
	d := c.judge(now, &v, ask)
	switch {
	case v.Outcome == slots.Open:
		if d.ready {
			c.ledger.Grant(now, v)
		}
	case v.Outcome == slots.Stale || v.Outcome == slots.Starting || d.stop != nil: // a no renews nothing
	default:
		c.ledger.Commit(now, v)
	}
	return c.settle(now, d, v)
}

// settle counts the decision, brings the lines up to date, and puts it into words
// that match what is now in force.
func (c *Controller) settle(now time.Time, d decision, v slots.Verdict) api.Answer {
	c.revision.Add(1)
	if !d.ready && c.mode == Observe {
		c.refusals[d.reason]++
		c.ledger.Observed(now, v)
		c.depart(now, v)
	}
	c.sync(now)
	if d.reason == api.ReasonGranted {
		v.Slots = c.ledger.SlotsFor(v)
	}
	answer := c.answer(d, v)
	c.asks[answer.Reason]++
	return answer
}

// judge is the one decision, of a process that leads; see the package comment for its order. It enters the
// host into the ledger and, where it needs a slot, into its line.
func (c *Controller) judge(now time.Time, v *slots.Verdict, ask question) decision {
	if !c.leading() {
		return standby()
	}
	d, settled := verdict(*v)
	switch v.Outcome {
	case slots.Exempt, slots.Done:
		c.depart(now, *v)
	case slots.Held, slots.Overdue:
		c.tell(now, *v, ask)
		if d, stopped := c.lingering(now, *v, ask); stopped {
			c.ledger.Hear(now, v)
			return d
		}
	case slots.Stale, slots.Starting:
		if t := c.arrive(now, v, ask); t != nil {
			d.position = t.line.Refused(now, t.host, c.storm.errors(t))
		}
	}
	if settled {
		return d
	}
	t := c.arrive(now, v, ask)
	if d, stopped := c.guard(now, t, *v, ask); stopped {
		return d
	}
	room := c.storm.room(now, goes(v.Op(), ask))
	c.listen(t.line)
	d = room.rated(turned(v.Free, t.line.Ask(now, c.share(now, t.line, t.host, v.Free, room.left), t.host, c.storm.errors(t))))
	if d.ready {
		c.miss(now, t.line, room.left)
	}
	switch {
	case d.ready && goes(v.Op(), ask): // it was let through, and proves nothing
		t.permit = c.storm.take(now, t.ref.Facts())
	case d.ready:
		t.permit = c.storm.permit(now, t.ref.Facts())
	}
	return d
}

// standby is the no of a process that does not lead.
func standby() decision {
	return decision{reason: api.ReasonStarting, wait: retryLook, stop: &stop{standby: true}}
}

// lingering is the no to a host whose slot must be no way round what failures stop: one
// that only lingers after its work has failed (BO-2), or that was for the deprovision
// before what the host wants to begin now (BO-6). The slot ends with its next sight. A PUT
// of a host with a slot is never refused (GW-3), but for the latter: nothing of it is
// under way.
func (c *Controller) lingering(now time.Time, v slots.Verdict, ask question) (decision, bool) {
	ref, known := v.Ref()
	if !known || v.Outcome != slots.Held {
		return decision{}, false
	}
	anew := beginsAnew(ref, v.Op())
	if !anew && (v.Put() || !ref.Lingers()) {
		return decision{}, false
	}
	if d, held := c.held(now, v, ask); held {
		return d, true
	}
	if !anew {
		return decision{}, false
	}
	return c.forbids(now, ref, v.Op(), ask)
}

// beginsAnew reports whether the host holds its slot for a deprovision and wants to
// begin what follows.
func beginsAnew(ref slots.Ref, op api.Op) bool {
	return ref.Op() == api.OpDeprovision && (op == api.OpInspect || op == api.OpPrepare || op == api.OpProvision)
}

// peek is judge for a dry run: what it would say, as far as that can be told.
func (c *Controller) peek(now time.Time, v slots.Verdict, ask question) decision {
	d, settled := verdict(v)
	ref, known := v.Ref()
	anew := known && v.Outcome == slots.Held && beginsAnew(ref, v.Op())
	if !settled || anew || known && !v.Put() && ref.Lingers() {
		if h := c.storm.book.Peek(now, c.holdAsk(v, ask)); h.Held {
			return heldBack(h)
		}
	}
	if !settled || anew {
		if d, stopped := c.wouldStop(now, v, ask); stopped {
			return d
		}
	}
	if settled {
		return d
	}
	l := c.line(v)
	host, errors := fairshare.NewHost("", tenant(v.ID())), max(ask.ErrorCount, ask.ProvisioningFailCount)
	if known {
		errors = max(errors, ref.Failures(), c.storm.book.Failures(ref.ID().UUID))
		if t, ok := ref.Owner().(*turn); ok && t.line == l {
			host = t.host
		}
	}
	if ask.Deleting {
		errors = 0
	}
	room := c.storm.room(now, goes(v.Op(), ask))
	return room.rated(turned(v.Free, l.Peek(now, c.share(now, l, host, v.Free, room.left), host, errors)))
}

// verdict is the part of the decision that the ledger makes alone; false when the
// host needs its turn.
func verdict(v slots.Verdict) (decision, bool) {
	switch v.Outcome {
	case slots.Exempt:
		return decision{ready: true, reason: api.ReasonExempt}, true
	case slots.Done:
		return decision{ready: true, reason: api.ReasonDone}, true
	case slots.Held:
		return decision{ready: true, reason: api.ReasonHeldSlot}, true
	case slots.Overdue:
		return decision{reason: api.ReasonNotCalled, wait: v.Wait, overdue: true}, true
	case slots.Starting:
		return decision{reason: api.ReasonStarting, wait: max(v.Wait, retryLook)}, true
	case slots.Stale:
		return decision{reason: api.ReasonStale, wait: retryLook}, true
	case slots.Unknown:
		return decision{reason: api.ReasonStarting, wait: retryUnknown, stop: &stop{unknown: true}}, true
	}
	return decision{}, false
}

// turned is the part of the decision that the fair turn makes.
func turned(free int, a fairshare.Answer) decision {
	d := decision{position: a.Position, expect: a.Expect, wait: a.Wait}
	switch {
	case a.Yes:
		d.ready, d.reason = true, api.ReasonGranted
	case free <= 0:
		d.reason = api.ReasonFull
	case a.Capped:
		d.reason = api.ReasonFailingCap
	default:
		d.reason = api.ReasonNotCalled
	}
	return d
}

// arrive enters a host that wants a slot. It returns nil for one whose pool is not
// known yet: nobody knows in which line it belongs, and in a wrong one it would be
// called for nothing.
func (c *Controller) arrive(now time.Time, v *slots.Verdict, ask question) *turn {
	ref := c.ledger.Hear(now, v)
	c.sync(now) // it may have learned its name or UUID
	if _, known := v.Pool(); !known {
		c.depart(now, *v)
		return nil
	}
	t := c.turnOf(now, ref, c.line(*v))
	t.hear(now, ask, v.Put())
	return t
}

// line is where the host of v queues.
func (c *Controller) line(v slots.Verdict) *line {
	pool, _ := v.Pool()
	return c.lines[pool]
}

// tell notes the errors of a host that holds a slot.
func (c *Controller) tell(now time.Time, v slots.Verdict, ask question) {
	ref, known := v.Ref()
	if !known {
		return
	}
	t := c.turn(ref)
	t.hear(now, ask, v.Put())
	if t.line != nil {
		t.line.Told(t.host, c.storm.errors(t))
	}
}

// depart takes a host out of its line that needs no slot any more; one that it
// holds is the ledger's to end.
func (c *Controller) depart(now time.Time, v slots.Verdict) {
	ref, known := v.Ref()
	if !known {
		return
	}
	if t, ok := ref.Owner().(*turn); ok && t.host.State() != fairshare.Holding {
		c.leave(now, t)
	}
}

// Vacancy answers the bare check of the original proposal: is there a free slot?
// It changes nothing.
func (c *Controller) Vacancy(now time.Time) api.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := slots.Verdict{Slots: c.ledger.Slots(now)}
	if !c.leading() {
		return c.answer(standby(), v)
	}
	v.Outcome, v.Wait = c.ledger.Ready(now)
	d, settled := verdict(v)
	if !settled {
		d, settled = c.shutForAll(now)
	}
	if !settled {
		total, room := c.lines[slots.Pool{}], c.storm.room(now, false)
		d = room.rated(turned(v.Slots.Free, total.Vacancy(c.share(now, total, nil, v.Slots.Free, room.left))))
	}
	return c.answer(d, v)
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
