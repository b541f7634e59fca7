package execute

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Limits of time. A command may make its first change up to beginLimit after its validation. It is abandoned if the
// replacement is not ready after deployLimit, or, without a replacement, the node not empty after drainLimit. The other
// limits only make it stuck.
const (
	beginLimit  = time.Minute
	deployLimit = 3 * time.Hour
	drainLimit  = time.Hour
	leaveLimit  = 6 * time.Hour
	otherLimit  = 10 * time.Minute
)

// moment is what a step depends on besides the objects.
type moment struct {
	now time.Time
	// live: this process has begun the command as the record has it, after it validated the plan. Another process may
	// not make the first change.
	live bool
	hold string // why nothing more may start; "": it may
}

// move is what to do next: writes in their order, or waiting.
type move struct {
	writes []write
	pause  bool   // the next pass finds out what comes after the writes
	wait   string // what the command waits for
	stuck  bool   // it waits for too long
	done   bool   // the writes end the command
	away   *away  // the cluster that does not answer
}

func do(w ...write) move { return move{writes: w} }

// next says what a command does next. It depends only on its arguments and the record.
func (r record) next(s *seen, m moment) move {
	if why := r.paused(s); why != "" && slices.Contains([]step{deploying, draining, going}, r.Step) {
		return r.waits(m, otherLimit, "%s", why)
	}
	switch r.Step {
	case begun:
		return r.begin(s, m)
	case deploying:
		return r.deploy(s, m)
	case draining:
		return r.drain(s, m)
	case going:
		return r.letGo(s, m)
	case leaving:
		return r.leave(s, m)
	default: // ending: read accepts no other
		return r.end(s, m)
	}
}

// waits returns a move that waits. It is stuck if the step has lasted for longer than limit.
func (r *record) waits(m moment, limit time.Duration, format string, args ...any) move {
	return move{wait: ironic.Line(fmt.Sprintf(format, args...), maxText), stuck: m.now.Sub(r.Since) > limit}
}

// asks waits for a cluster that does not answer: silence decides nothing.
func (r *record) asks(m moment, limit time.Duration, a *away) move {
	next := r.waits(m, limit, "cluster %s answers", a.cluster)
	next.away = a
	return next
}

// to writes the next step into the record.
func (r record) to(s *seen, m moment, next step) move {
	was := r.Step
	r.Step, r.Since = next, m.now
	return do(write{
		what: "writes down how far it is", on: s.host, annotations: map[string]any{commandMark: r.text()},
		from: string(was), to: string(next),
	})
}

// abandon ends the command early: step ending then takes back what it has changed.
func (r record) abandon(s *seen, m moment, format string, args ...any) move {
	r.Why = ironic.Line(fmt.Sprintf(format, args...), maxText)
	return r.to(s, m, ending)
}

// scales reports whether the command makes the owner smaller; else it deletes the Machine.
func (r *record) scales() bool { return r.Decision != api.PlanReprovision }

// paused says what somebody has paused; "": nothing.
func (r *record) paused(s *seen) string {
	for _, o := range []client.Object{s.owner, s.machine, s.host} {
		if objects.Paused(o) || o == client.Object(s.owner) && s.owner.Spec.Paused {
			return name(o) + " is paused"
		}
	}
	return ""
}

// unsettled says why another Machine than the marked one might go when the owner becomes smaller; "": none can.
func (r *record) unsettled(s *seen) string {
	alive := s.alive()
	if r.scales() && slices.ContainsFunc(alive, func(m machine) bool { return m.set != alive[0].set }) {
		return fmt.Sprintf("%s is being rolled out: Cluster API chooses which of its MachineSets gets smaller", r.Pool)
	}
	if found(s.owner) && len(alive) != objects.Replicas(s.owner) {
		return fmt.Sprintf("%s has %d Machines and wants %d", r.Pool, len(alive), objects.Replicas(s.owner))
	}
	return ""
}

// alive returns the owner's Machines that are not being deleted.
func (s *seen) alive() (all []machine) {
	for _, m := range s.members {
		if !deleted(m) {
			all = append(all, m)
		}
	}
	return all
}

// has reports whether a Machine is in a list.
func has(all []machine, uid string) bool {
	return slices.ContainsFunc(all, func(m machine) bool { return string(m.UID) == uid })
}

// unfit says why the Machine may not go; "": it may.
func (r *record) unfit(s *seen) string {
	m, o := s.machine, s.owner
	value, marked := m.Annotations[deleteMark]
	switch {
	case !found(m) || string(m.UID) != r.MachineUID || deleted(m):
		return fmt.Sprintf("Machine %s is gone, or being deleted by somebody else", r.Machine)
	case objects.Forbids(m) || objects.Forbids(s.host) || objects.Forbids(s.node):
		return fmt.Sprintf("host %s, its Machine or its node may not be disrupted (annotation do-not-disrupt)", r.Host)
	case marked && value != mark(r.ID) || r.others(m):
		return fmt.Sprintf("Machine %s is marked by somebody else (annotation %s, label %s)",
			r.Machine, deleteMark, commandMark)
	case !found(o) || deleted(o) || r.others(o):
		return fmt.Sprintf("%s is gone, or part of another command", r.Pool)
	case !has(s.members, r.MachineUID):
		return fmt.Sprintf("Machine %s has another owner now", r.Machine)
	case o.Annotations[stoppedMark] != "":
		return fmt.Sprintf("%s is stopped: %s", r.Pool, o.Annotations[stoppedMark])
	case o.Annotations[executeMark] != "true":
		return fmt.Sprintf("%s does not allow it any more (annotation %s)", r.Pool, executeMark)
	}
	return ""
}

// unproven says why the command may not disrupt anything: the node lacks its taint or belongs to another Machine, or
// the owner lacks its label; "": it may.
func (r *record) unproven(s *seen) string {
	switch {
	case r.Decision == api.PlanReplace && r.unmarked(s) != "":
		return r.unmarked(s)
	case s.machine.Status.NodeRef.Name != r.Node:
		return fmt.Sprintf("Machine %s has node %q, and the command is of %q",
			r.Machine, s.machine.Status.NodeRef.Name, r.Node)
	case !found(s.node) || taintOf(s.node.Spec.Taints) != r.ID:
		return fmt.Sprintf("node %s lacks the taint %s=%s", r.Node, taintKey, r.ID)
	}
	return ""
}

// unmarked says that the owner lacks the label of the command; "": it has it, or is gone.
func (r *record) unmarked(s *seen) string {
	if found(s.owner) && !r.ours(s.owner) {
		return fmt.Sprintf("somebody has removed the label %s of %s", commandMark, r.Pool)
	}
	return ""
}

// refused says why the command may not make its first change; "": it may.
func (r *record) refused(s *seen, m moment) string {
	switch {
	case !m.live:
		return "the process that began it has ended, or its record was changed, before anything else had"
	case m.now.Sub(r.Started) > beginLimit:
		return fmt.Sprintf("nothing could be changed for %s, and the plan is too old now", beginLimit)
	}
	if why := cmp.Or(m.hold, r.paused(s), r.unsettled(s), r.unfit(s)); why != "" {
		return why
	}
	claims, has := infrastructure(s.machine), s.machine.Status.NodeRef.Name
	switch {
	case claims == "" || claims != consumer(s.host):
		return fmt.Sprintf("host %s is claimed by %q, and not by Machine %s", r.Host, consumer(s.host), r.Machine)
	case has != r.Node || s.node.away == nil && !found(s.node):
		return fmt.Sprintf("Machine %s has node %q, and the plan has %q, or that is gone", r.Machine, has, r.Node)
	}
	return ""
}

// begin taints the node, and for a replacement makes the owner larger.
func (r record) begin(s *seen, m moment) move {
	if _, word, _ := done(s.owner); r.ours(s.owner) && word == wordUp {
		return r.to(s, m, deploying)
	}
	if why := r.refused(s, m); why != "" {
		return r.abandon(s, m, "%s", why)
	}
	value := taintOf(s.node.Spec.Taints)
	switch {
	case s.node.away != nil:
		return r.asks(m, otherLimit, s.node.away)
	case value == "":
		return do(taint(s.node.Node, s.node.cluster, r.ID))
	case value != r.ID:
		return r.abandon(s, m, "node %s is part of another command", r.Node)
	case r.Decision != api.PlanReplace:
		return r.to(s, m, draining)
	case !free(s.spare):
		return r.abandon(s, m, "host %s is not free any more", r.Spare)
	case r.others(s.spare):
		return r.abandon(s, m, "host %s is part of another command", r.Spare)
	case !r.plans(s.spare):
		return do(r.plan(s.spare))
	}
	return do(r.scale(s.owner, +1, wordUp))
}

// mayGo returns nil if the Machine may go: it is fit, its cluster answers, and our marks prove that we chose it.
func (r record) mayGo(s *seen, m moment, limit time.Duration) *move {
	var next move
	switch {
	case r.unfit(s) != "":
		next = r.abandon(s, m, "%s", r.unfit(s))
	case s.node.away != nil:
		next = r.asks(m, limit, s.node.away)
	case r.unproven(s) != "":
		next = r.abandon(s, m, "%s", r.unproven(s))
	default:
		return nil
	}
	return &next
}

// drain evicts the pods of a node. Once begun, it goes on even if hosts wait for slots.
func (r record) drain(s *seen, m moment) move {
	if not := r.mayGo(s, m, drainLimit); not != nil {
		return *not
	}
	n, pods, late := s.node, s.pods, m.now.Sub(r.Since) > drainLimit
	switch {
	case len(pods) == 0:
		return r.to(s, m, going)
	case r.Reason == api.PlanEmpty:
		return r.abandon(s, m, "node %s is not empty any more: it has pod %s", n.Name, keyOf(pods[0]))
	case late && r.Decision != api.PlanReplace:
		return r.abandon(s, m, "%d pods have not left node %s in %s, such as %s",
			len(pods), n.Name, drainLimit, keyOf(pods[0]))
	}
	next := move{wait: fmt.Sprintf("%d pods leave node %s", len(pods), n.Name), stuck: late, pause: true}
	for _, pod := range pods {
		if objects.Forbids(pod) {
			next.wait = fmt.Sprintf("pod %s may not be disrupted; %s", keyOf(pod), next.wait)
		} else if !deleted(pod) {
			w := write{what: "evicts a pod", on: pod, cluster: n.cluster, evict: true, from: n.Name}
			next.writes = append(next.writes, w)
		}
	}
	return next
}

// letGo marks the Machine and makes its owner smaller, or deletes it.
func (r record) letGo(s *seen, m moment) move {
	_, word, _ := done(s.owner)
	switch {
	case r.scales() && r.ours(s.owner) && word == wordDown:
		return r.to(s, m, leaving)
	case !r.scales() && (string(s.machine.UID) != r.MachineUID || deleted(s.machine) && r.ours(s.machine)):
		return r.to(s, m, leaving)
	}
	if not := r.mayGo(s, m, otherLimit); not != nil {
		return *not
	}
	switch {
	case r.unsettled(s) != "":
		return r.waits(m, otherLimit, "%s", r.unsettled(s))
	case !r.plans(s.host):
		return do(r.plan(s.host))
	case !r.ours(s.machine) || r.scales() && s.machine.Annotations[deleteMark] == "":
		return do(r.markMachine(s.machine))
	case !r.scales():
		return do(write{what: "deletes the Machine", on: s.machine, remove: true})
	}
	return do(r.scale(s.owner, -1, wordDown))
}

// leave waits until the Machine is gone and its host is free. To reprovision, it also waits for the next Machine.
func (r record) leave(s *seen, m moment) move {
	holder := consumer(s.host)
	newcomers := r.newcomers(s)
	ready := slices.ContainsFunc(newcomers, func(n machine) bool { return n.ready && !deleted(n) })
	comes := len(newcomers) > 0 || len(s.alive()) < objects.Replicas(s.owner)
	switch {
	case string(s.machine.UID) == r.MachineUID && !deleted(s.machine):
		return r.chosen(s, m)
	case string(s.machine.UID) == r.MachineUID:
		return r.waits(m, leaveLimit, "Machine %s is being deleted", r.Machine)
	case !free(s.host) && (holder == r.Consumer || holder == ""):
		return r.waits(m, leaveLimit, "host %s is %s", r.Host, s.host.Status.Provisioning.State)
	case free(s.host) && r.PowerOff && s.host.Spec.Online:
		off := map[string]any{"online": false}
		return do(write{what: "powers the host off", on: s.host, spec: off, from: "online", to: "offline"})
	case r.Decision == api.PlanReprovision && found(s.owner) && !ready && comes:
		return r.waits(m, leaveLimit, "%s gets a Machine that is ready", r.Pool)
	}
	return r.to(s, m, ending)
}

// chosen handles a Machine that is not being deleted: Cluster API may have deleted another one instead.
func (r record) chosen(s *seen, m moment) move {
	if !r.scales() || !found(s.owner) {
		return r.waits(m, otherLimit, "Machine %s is to be deleted", r.Machine)
	}
	_, _, to := done(s.owner)
	switch {
	case r.unmarked(s) != "":
		return r.abandon(s, m, "%s", r.unmarked(s))
	case objects.Replicas(s.owner) > to:
		return r.abandon(s, m, "somebody made %s larger again before Cluster API deleted a Machine", r.Pool)
	case !s.another(r.MachineUID):
		return r.waits(m, otherLimit, "Cluster API deletes a Machine of %s", r.Pool)
	}
	return r.stop(s, m, "Cluster API let another Machine of %s go than %s, which is marked", r.Pool, r.Machine)
}

// another reports whether another Machine went than the one with that UID: the owner has no more Machines than it
// wants, and that one is among them. All Machines come from one list, so that they are of one time.
func (s *seen) another(uid string) bool {
	alive := s.alive()
	return len(alive) <= objects.Replicas(s.owner) && has(alive, uid)
}

// stop marks the pool, so that nothing more is carried out there, and then abandons the command.
func (r record) stop(s *seen, m moment, format string, args ...any) move {
	why := fmt.Sprintf(format, args...)
	if s.owner.Annotations[stoppedMark] == "" {
		note := map[string]any{stoppedMark: why}
		return do(write{what: "stops execution for the owner", on: s.owner, annotations: note, to: why})
	}
	return r.abandon(s, m, "%s", why)
}
