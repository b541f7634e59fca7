package admission

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/nearest"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Why tells how one host stands. namespace and name are those of its BareMetalHost; without a namespace, name is the
// name or UUID of its node. Why changes nothing.
func (c *Controller) Why(now time.Time, namespace, name string) api.Why {
	w, known := c.why(now, namespace, name)
	if host := nearest.Host(w.Host, known); host != "" {
		w.Steps = append([]string{"Do you mean " + host + "? ironic-throttle why " + host + "."}, w.Steps...)
	}
	return w
}

// why is Why without a suggestion. For an unknown host it returns the names of all known ones.
func (c *Controller) why(now time.Time, namespace, name string) (w api.Why, known []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w = api.Why{Now: now, Host: hostID(namespace, name, "").Shown(), Story: []string{}, Steps: []string{}}
	h, inCluster := c.find(namespace, name)
	t := teller{Why: &w, now: now, h: h, silence: now.Sub(c.lastAsk)}
	if h != nil {
		c.fill(now, &t)
	}
	w.Hold = c.holdOf(now, &w)
	if w.Standing = t.standing(); w.Standing == api.StandingUnknown {
		c.ledger.All(func(h *slots.Host) { known = append(known, h.Shown()) })
	}
	t.tell(inCluster, h != nil && c.plans(h))
	return w, known
}

// find returns the host that the arguments of Why mean, nil if the ledger does not know it, and a sentence on what the
// cluster has; "": the Controller knows no cluster.
func (c *Controller) find(namespace, name string) (h *slots.Host, inCluster string) {
	ids := []slots.ID{hostID(namespace, name, "")}
	uuid := ""
	if namespace == "" {
		uuid = strings.ToLower(name)
		ids = append(ids, slots.ID{UUID: uuid})
	}
	if c.cfg.Hosts != nil {
		inCluster = "The cluster has no such BareMetalHost."
		if b, ok := c.cfg.Hosts.Host(namespace, name, uuid); ok {
			inCluster = "The cluster has a BareMetalHost of that name."
			ids = append(ids, slots.ID{UUID: strings.ToLower(b.NodeUUID)}, hostID(b.Namespace, b.Name, ""))
		}
	}
	for _, id := range ids {
		if h := c.ledger.Find(id); h != nil {
			return h, inCluster
		}
	}
	return nil, inCluster
}

// fill fills in what the Controller knows of t.h: its slot, its place in line, and the answer if it asked now.
func (c *Controller) fill(now time.Time, t *teller) {
	w, h := t.Why, t.h
	if h.Name != "" {
		w.Host = h.Shown()
	}
	w.NodeUUID, w.State, t.lingers = h.UUID, string(h.State()), h.Lingers()
	if slot, live := c.ledger.Occupant(h); live {
		w.Slot, w.Op = &slot, slot.Op
	}
	if !h.HasAsked {
		return
	}
	if w.Slot == nil {
		w.Op = h.Asked.Op
	}
	ask := api.Ask{
		NodeUUID: h.UUID, Name: h.Name, UID: h.Asked.UID, Op: h.Asked.Op, BMHState: h.Asked.State, SpecHash: h.Asked.Spec,
		Planned: h.Asked.Planned, ErrorCount: h.Asked.Errors, Deleting: h.Asked.Deleting, ConductorGroup: h.Asked.Group,
		VirtualMedia: h.Asked.VirtualMedia,
	}
	f, d := c.decide(now, c.identify(ask, h.Asked.Put), true)
	answer := c.answer(d, &f)
	w.Answer = &answer
	if f.open != nil {
		t.scope = f.open.Scope.String()
	}
	if h.Turn.Waits {
		queued := c.showQueued(now, h)
		w.Queued = &queued
	}
}

// holdOf returns the last failure of the host of w, nil if there is none.
func (c *Controller) holdOf(now time.Time, w *api.Why) *api.Hold {
	uuid, _ := c.policy.book.Find(cmp.Or(w.NodeUUID, w.Host))
	e, ok := c.policy.book.Entry(now, uuid)
	if !ok {
		return nil
	}
	hold := showHold(e)
	w.NodeUUID = hold.NodeUUID
	return &hold
}

// teller puts a Why into words.
type teller struct {
	*api.Why
	now     time.Time
	h       *slots.Host   // nil: the ledger does not know it
	lingers bool          // its work is over, and it still holds its slot
	scope   string        // of the breaker that stops it
	silence time.Duration // since the last ask of any host
}

// comesBack is how long a running BMO takes at most to ask again.
const comesBack = 2 * time.Minute

// standing sums up how the host stands.
func (t *teller) standing() api.Standing {
	held := t.Hold != nil && t.Hold.Held
	switch a := t.Answer; {
	case held && t.lingers:
		return api.StandingStopped
	case t.Slot != nil && t.Slot.Busy:
		return api.StandingWorking
	case t.Slot != nil:
		return api.StandingStarting
	case a != nil && (t.Queued != nil && reasons[a.Reason].waits || a.Reason == api.ReasonPlannedYields):
		return api.StandingWaiting
	case a != nil && a.Reason == api.ReasonGranted && !t.h.LastTold.Yes(): // it was told no, and could start now
		return api.StandingWaiting
	case a != nil && !a.Reason.Yes() || held:
		return api.StandingStopped
	case t.h != nil:
		return api.StandingIdle
	}
	return api.StandingUnknown
}

func (t *teller) sayf(format string, args ...any) {
	t.Story = append(t.Story, fmt.Sprintf(format, args...))
}

// tell writes the story, how the host stands and why, and the steps.
func (t *teller) tell(inCluster string, planned bool) {
	if t.Standing == api.StandingUnknown {
		t.sayf("The throttle does not know this host: no ask for it has come since the throttle started, " +
			"and its node was not seen at work.")
		if inCluster != "" {
			t.sayf("%s", inCluster)
		}
		t.Steps = unknownSteps
		return
	}
	switch {
	case t.Slot != nil:
		t.slot()
	case t.Standing == api.StandingIdle && (t.Answer == nil || t.Answer.Reason != api.ReasonObserve):
		t.sayf("It wants nothing now.")
	}
	if t.Queued != nil {
		t.waiting()
	}
	if t.Hold != nil {
		t.sayf("Its %s failed %s%s: %s.", t.Hold.Kind, ago(t.now.Sub(t.Hold.Since)), inARow(t.Hold.Failures),
			strings.TrimSuffix(cmp.Or(t.Hold.Cause, "Ironic gave no reason"), "."))
	}
	t.answered()
	if planned {
		t.Steps = append(t.Steps, plannedStep)
	}
}

// answered writes the answer that the host would get now, and the steps that help.
func (t *teller) answered() {
	a := t.Answer
	switch {
	case t.Hold != nil && t.Hold.Held && (a == nil || a.Reason == api.ReasonHold):
		t.sayf("It is held for another %s, until %s, so that somebody can look at it.",
			api.Seconds(t.Hold.RemainingSeconds), api.Instant(t.Hold.Until))
		t.Steps = t.stepsFor(api.ReasonHold)
	case a != nil && (t.Slot == nil || !a.Ready):
		t.told(a)
		if t.silence >= comesBack {
			t.Steps = append(t.Steps, silentStep)
		}
		t.Steps = append(t.Steps, t.stepsFor(a.Reason)...)
	case t.Slot == nil:
		t.Steps = t.stepsFor(api.ReasonDone)
	case t.Slot.Stuck:
		t.Steps = t.stepsFor(stuck)
	default:
		t.Steps = t.stepsFor(api.ReasonHeldSlot)
	}
}

// told writes the answer a.
func (t *teller) told(a *api.Answer) {
	since := t.now.Sub(t.h.ToldAt)
	switch {
	case a.Reason == api.ReasonDone: // it wants nothing
	case a.Reason == api.ReasonObserve:
		t.sayf("%s%s.", strings.ToUpper(a.Message[:1]), a.Message[1:])
	case a.Ready:
		t.sayf("It may start when it asks again (%s): it %s.", a.Reason, a.Message)
	case t.h.LastTold == a.Reason && since >= time.Second:
		t.sayf("Its answer has been no (%s) for %s: %s.", a.Reason, api.Age(since), a.Message)
	default:
		t.sayf("Its answer is no (%s): %s.", a.Reason, a.Message)
	}
}

// slot writes how a host stands that holds a slot, or whose node is at work without one.
func (t *teller) slot() {
	s := t.Slot
	since := "has held a slot for " + api.Seconds(s.SinceSeconds)
	switch s.Kind {
	case "booting":
		t.sayf("Its node is at work and takes no slot: somebody else started it, and its agent has not called yet.")
	case "exempt":
		t.sayf("Its node is at work and takes no slot: it boots from virtual media.")
	case "adopted":
		t.sayf("It %s: its node was at work when this throttle started.", since)
	case "foreign":
		t.sayf("It %s: its node was found at work without an ask.", since)
	default:
		t.sayf("It %s, to %s.", since, s.Op)
	}
	switch {
	case s.Busy:
		t.sayf("Its node is in state %q.", s.State)
	case t.lingers:
		t.sayf("Its work is over, and its slot comes free soon: BMO may still go on with the next step.")
	default:
		t.sayf("Ironic has not shown its work yet; its node was last seen in state %q.", s.State)
	}
	if s.Stuck {
		t.sayf("Its node has not moved for longer than IRONIC_THROTTLE_STUCK_AFTER%s.",
			map[bool]string{false: ", so its slot is not counted any more"}[s.Counted])
	}
}

// waiting writes how a host in line stands.
func (t *teller) waiting() {
	q := t.Queued
	t.sayf("It wants to %s. It asked first %s, and last %s.",
		t.Op, ago(seconds(q.WaitedSeconds)), ago(t.now.Sub(t.h.AskedAt)))
	if t.silence >= comesBack {
		t.sayf("No ask for any host has come for %s: is BMO running?", api.Age(t.silence))
	}
	if q.Position == 0 && t.Standing == api.StandingWaiting {
		t.sayf("It was stopped or silent, so no slot waits for it; it keeps its place and goes on when BMO asks again.")
	}
	if q.Lane == "failing" {
		t.sayf("It queues behind hosts without failures, as it has %d errors.", q.Errors)
	}
}

var unknownSteps = []string{
	"See whether the name is right: kubectl get bmh -A, and ironic-throttle queue for those that wait.",
	"See whether BMO is running and uses this throttle: ironic-throttle status shows when it asked last.",
}

const silentStep = "See whether BMO runs, and reaches the throttle: " +
	"kubectl get pods -A | grep baremetal-operator, and its log."

const plannedStep = "See what is planned, and what that waits for: ironic-throttle plan, where the planner is on."
