package admission

import (
	"fmt"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Why tells the story of one host: namespace and name of its BareMetalHost, or with an empty
// namespace its node's name or UUID. It takes, renews and ends nothing.
func (c *Controller) Why(now time.Time, namespace, name string) api.Why {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := api.Why{Now: now, Host: name, Standing: api.StandingUnknown, Story: []string{}, Steps: []string{}, History: []api.HostEvent{}}
	if namespace != "" {
		w.Host = namespace + "/" + name
	}
	ref, known, cluster := c.whose(namespace, name)
	var h *host
	scope := ""
	if known {
		h = hostOf(ref)
		if id := ref.ID(); id.Name != "" {
			w.Host = strings.Replace(id.Name, "~", "/", 1)
		}
		w.NodeUUID, w.State = ref.ID().UUID, string(ref.State())
		if slot, live := c.ledger.Occupant(now, ref); live {
			w.Slot, w.Op = &slot, slot.Op
		}
	}
	w.Hold = c.holdOf(now, &w)
	if h != nil {
		w.History = h.history.shown(c.policy.born, c.mode)
		scope = c.foreseeFor(now, h, &w)
	}
	lingers := known && ref.Lingers()
	w.Standing = standing(&w, lingers)
	if known && w.Standing == api.StandingUnknown {
		w.Standing = api.StandingIdle
	}
	t := storyteller{Why: &w, cluster: cluster, now: now, born: c.policy.born, lingers: lingers, scope: scope, silence: now.Sub(c.lastAsk)}
	if h != nil && w.Queued != nil {
		t.share, t.lighter = shareOf(h.queue.View(now, 0).Tenants, tenant(h.ID()))
	}
	t.tell(h)
	if h != nil && c.plans(h) || h == nil && c.plansHost(called(namespace, name)) {
		t.planned()
	}
	return w
}

// called is the host that somebody means, as the cluster is asked for it.
func called(namespace, name string) api.Ask {
	if namespace == "" {
		return api.Ask{NodeUUID: name}
	}
	return api.Ask{Namespace: namespace, Name: name}
}

// whose finds the host that somebody means, and what the cluster says: a host, none, or nothing.
func (c *core) whose(namespace, name string) (ref slots.Ref, known bool, cluster clusterWord) {
	var ids []slots.ID
	if namespace != "" {
		ids = append(ids, slots.ID{Name: namespace + "~" + name})
	} else {
		ids = append(ids, slots.ID{UUID: strings.ToLower(name)}, slots.ID{Name: name})
	}
	if c.hosts != nil {
		cluster = notInCluster
		uuid := ""
		if namespace == "" {
			uuid = name
		}
		if b, ok := c.hosts.Host(namespace, name, uuid); ok {
			cluster = inCluster
			ids = append(ids, slots.ID{UUID: strings.ToLower(b.NodeUUID)}, slots.ID{Name: b.Namespace + "~" + b.Name})
		}
	}
	for _, id := range ids {
		if ref, known = c.ledger.Find(id); known && (id.UUID != "" || id.Name != "") {
			return ref, true, cluster
		}
	}
	return slots.Ref{}, false, cluster
}

// clusterWord is what the cluster says of a host.
type clusterWord uint8

const (
	clusterSilent clusterWord = iota // BareMetalHosts are not watched
	inCluster
	notInCluster
)

// holdOf returns the last failure of the host of w, nil if there is none.
func (c *core) holdOf(now time.Time, w *api.Why) *api.Hold {
	uuid, ok := w.NodeUUID, w.NodeUUID != ""
	if !ok {
		uuid, ok = c.policy.book.Find(strings.ToLower(w.Host))
	}
	if !ok {
		uuid, _ = c.policy.book.Find(w.Host)
	}
	e, ok := c.policy.book.Entry(now, uuid)
	if !ok {
		return nil
	}
	hold := showHold(e)
	w.NodeUUID = hold.NodeUUID
	return &hold
}

// foreseeFor fills in where h stands in its queue, and what it would be told if it asked again. It
// returns the scope of the breaker that stops it; "": none does.
func (c *core) foreseeFor(now time.Time, h *host, w *api.Why) (scope string) {
	if h.queue != nil && h.place.State() != fairshare.Holding {
		queued := showQueued(h.queue.Show(now, &h.place))
		w.Queued = &queued
	}
	if !h.asked {
		return ""
	}
	id := h.ID()
	ask := api.Ask{
		Name: id.Name, NodeUUID: id.UUID, UID: h.uid, Op: api.Ops()[h.wants], SpecHash: h.spec, Planned: h.planned,
		ErrorCount: int(h.errors), Deleting: h.deleting, DryRun: true,
	}
	if namespace, name, ok := strings.Cut(id.Name, "~"); ok {
		ask.Namespace, ask.Name = namespace, name
	}
	if w.Slot == nil {
		w.Op = ask.Op
	}
	s := c.situationOf(now, ask, h.put)
	d := c.foresee(now, s)
	answer := c.answer(d, s)
	w.Answer = &answer
	if d.stop != nil && d.stop.scope.Kind != "" {
		return d.stop.scope.String()
	}
	return ""
}

// standing sums up how the host of w stands.
func standing(w *api.Why, lingers bool) api.Standing {
	held := w.Hold != nil && w.Hold.Held
	switch {
	case held && lingers:
		return api.StandingStopped
	case w.Slot != nil && w.Slot.Busy:
		return api.StandingWorking
	case w.Slot != nil:
		return api.StandingStarting
	case w.Answer != nil && w.Queued != nil && turnsAlone(w.Answer.Reason):
		return api.StandingWaiting
	case w.Answer != nil && w.Answer.Reason == api.ReasonPlannedYields:
		return api.StandingWaiting
	case w.Answer != nil && !w.Answer.Reason.Yes() || held:
		return api.StandingStopped
	case w.Answer != nil:
		return api.StandingIdle
	}
	return api.StandingUnknown
}

// turnsAlone reports whether nothing but slots and turns keeps a host with that answer waiting.
func turnsAlone(r api.Reason) bool {
	switch r {
	case api.ReasonGranted, api.ReasonObserve, api.ReasonFull, api.ReasonNotCalled, api.ReasonFailingCap, api.ReasonRate, api.ReasonPlannedYields:
		return true
	}
	return false
}

// storyteller puts a Why into words.
type storyteller struct {
	*api.Why
	cluster clusterWord
	now     time.Time
	born    time.Time // what host.askedAt counts from
	lingers bool      // its work is over, and its slot not given back yet

	scope   string        // of the breaker that stops it
	silence time.Duration // since anybody asked
	share   string        // how its namespace stands beside another one; "" if it is alone
	lighter bool          // that other one has more weight
}

func (t *storyteller) sayf(format string, args ...any) {
	t.Story = append(t.Story, fmt.Sprintf(format, args...))
}

func (t *storyteller) tell(h *host) {
	switch t.Standing {
	case api.StandingUnknown:
		t.unknown()
		return
	case api.StandingWorking, api.StandingStarting:
		t.slot()
	case api.StandingWaiting, api.StandingStopped:
		if t.lingers {
			t.slot()
		}
		t.waits(h)
	case api.StandingIdle:
		if t.Answer != nil && t.Answer.Reason == api.ReasonObserve {
			t.sayf("It wants to %s. In mode observe nobody waits.", wish(t.Op))
		} else {
			t.sayf("It wants nothing now.")
		}
	}
	if h != nil && h.deleting {
		t.sayf("BMO is deleting it, so no failure makes it wait.")
	}
	t.failure()
	if t.Answer != nil && (t.Slot == nil || !t.Answer.Ready) {
		t.sayf("If it asked now, it would be told %s (%s): %s.", yesNo(t.Answer.Ready), t.Answer.Reason, t.Answer.Message)
		if must := mustHappen[t.Answer.Reason]; must != "" {
			t.sayf("%s", must)
		}
		t.Steps = t.queueSteps()
		if t.silence < comesBack || t.Answer.Reason != api.ReasonGranted { // that one says to wait for BMO
			t.Steps = append(t.Steps, t.stepsFor(t.Answer.Reason)...)
		}
		return
	}
	if t.Standing == api.StandingStopped { // held, and it has not asked
		t.sayf("It is left alone for another %s, so that somebody can look at it. It has not asked since this throttle started.", about(seconds(t.Hold.RemainingSeconds)))
		t.Steps = t.stepsFor(api.ReasonHold)
		return
	}
	t.Steps = t.slotSteps()
}

// planned tells that nobody asked for its work, and where that is seen.
func (t *storyteller) planned() {
	if t.Answer == nil || t.Answer.Reason != api.ReasonPlannedYields { // else that is told
		t.sayf("Its work is planned: nobody asked for it, and what has not begun starts when nobody else wants the slots.")
	}
	t.Steps = append(t.Steps, "See what is planned, what is being carried out, and what that waits for: ironic-throttle plan, where the planner is on.")
}

func (t *storyteller) unknown() {
	t.sayf("This throttle does not know it: nobody has asked for it since the throttle started, and its node was not seen at work.")
	switch t.cluster {
	case inCluster:
		t.sayf("The cluster has a BareMetalHost of that name.")
	case notInCluster:
		t.sayf("The cluster has no such BareMetalHost.")
	}
	t.Steps = []string{
		"See whether the name is right: kubectl get bmh -A, and ironic-throttle queue for those that wait.",
		"See whether BMO is running and uses this throttle: ironic-throttle status shows when it asked last.",
	}
}

// slot tells of a host that holds a slot or works without one.
func (t *storyteller) slot() {
	s := t.Slot
	since := "got a slot just now"
	if s.SinceSeconds >= 1 {
		since = "has held a slot for " + about(seconds(s.SinceSeconds))
	}
	switch s.Kind {
	case "booting":
		t.sayf("Its node is at work and takes no slot: somebody else started it, and its agent has not called yet.")
	case "exempt":
		t.sayf("Its node is at work and takes no slot, as it boots from virtual media.")
	case "adopted":
		t.sayf("It %s: its node was at work when this throttle started.", since)
	case "foreign":
		t.sayf("It %s: its node was found at work, though nobody had asked for it.", since)
	default:
		t.sayf("It %s, to %s.", since, wish(s.Op))
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
		t.sayf("Its node has not moved for longer than IRONIC_THROTTLE_STUCK_AFTER%s.", map[bool]string{true: "", false: ", so its slot is not counted any more"}[s.Counted])
	}
	if s.Abandoned {
		t.sayf("No conductor works on its node any more: only the start of one takes it out of that state.")
	}
}

// waits tells of a host in a queue, or out of it because something stops it.
func (t *storyteller) waits(h *host) {
	q := t.Queued
	if q == nil {
		if t.Answer != nil && t.Answer.Reason == api.ReasonPlannedYields {
			t.sayf("It wants to %s. That is planned work: it starts when nobody else wants the slots, and stands in no queue. It asked last %s.", wish(t.Op), ago(t.now.Sub(t.born)-h.askedAt))
		}
		return
	}
	t.sayf("It wants to %s. It asked first %s, and last %s.", wish(t.Op), ago(seconds(q.WaitedSeconds)), ago(t.now.Sub(t.born)-h.askedAt))
	if t.silence >= comesBack {
		t.sayf("Nobody has asked for any host for %s: is BMO running?", about(t.silence))
	}
	if t.share != "" {
		t.sayf("%s", t.share)
	}
	if q.Position == 0 && t.Standing == api.StandingWaiting {
		t.sayf("Nobody waits for it, as it was stopped or silent; it keeps its place and goes on when BMO asks again.")
	}
	if q.Lane == fairshare.Failing.String() {
		t.sayf("It queues behind hosts without failures, as it has failed: %d errors.", q.Errors)
	}
}

func (t *storyteller) failure() {
	if t.Hold == nil {
		return
	}
	cause := ""
	if t.Hold.Cause != "" {
		cause = ": " + t.Hold.Cause
	}
	t.sayf("Its %s failed %s%s%s", t.Hold.Kind, ago(t.now.Sub(t.Hold.Since)), inARow(t.Hold.Failures), strings.TrimSuffix(cause, ".")+".")
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// ago says how long ago something was.
func ago(d time.Duration) string {
	if d < time.Second {
		return "just now"
	}
	return about(d) + " ago"
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
