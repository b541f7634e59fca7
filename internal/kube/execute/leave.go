package execute

import (
	"fmt"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// letGo marks the Machine and makes its owner smaller, or deletes it.
func (r record) letGo(s *seen, m moment) move {
	machine, n, host := s.machines[r.At], s.nodes[r.At], s.hosts[r.At]
	same := string(machine.UID) == r.Targets[r.At].MachineUID
	_, word, _ := done(s.owner)
	switch {
	case r.scales() && r.ours(s.owner) && word == r.lowered():
		return r.to(s, m, leaving)
	case !r.scales() && (!same || deleted(machine) && r.ours(machine)):
		return r.to(s, m, leaving)
	}
	if why := r.unfit(s); why != "" {
		return r.abandon(s, m, "%s", why)
	}
	if n.away != nil {
		return r.asks(m, otherLimit, n.away)
	}
	if why := r.unproven(s); why != "" {
		return r.abandon(s, m, "%s", why)
	}
	if why := r.unsettled(s); why != "" {
		return r.waits(m, otherLimit, "%s", why)
	}
	switch {
	case !r.plans(host) && !r.others(host) && string(host.UID) == r.Targets[r.At].HostUID:
		return do(r.plan(host))
	case !r.ours(machine) || r.scales() && machine.Annotations[deleteMark] == "":
		return do(r.markMachine(machine.Machine))
	case !r.scales():
		return do(write{what: "deletes the Machine", on: machine.Machine, remove: true})
	}
	return do(r.scale(s.owner, -1, r.lowered()))
}

// markMachine says which Machine goes first.
func (r *record) markMachine(m *objects.Machine) write {
	w := write{what: "marks the Machine", on: m, labels: map[string]any{commandMark: r.ID}}
	if r.scales() {
		w.annotations = map[string]any{deleteMark: mark(r.ID)}
	}
	return w
}

// leave waits until the Machine is gone and its host is free.
func (r record) leave(s *seen, m moment) move {
	t, machine, host := &r.Targets[r.At], s.machines[r.At], s.hosts[r.At]
	there, same := string(machine.UID) == t.MachineUID, string(host.UID) == t.HostUID
	holder := consumer(host)
	switch {
	case there && !deleted(machine):
		return r.chosen(s, m)
	case there:
		return r.waits(m, leaveLimit, "Machine %s is being deleted", t.Machine)
	case same && !free(host) && (holder == t.Consumer || holder == ""):
		return r.waits(m, leaveLimit, "host %s is %s", t.Host, host.Status.Provisioning.State)
	case same && free(host) && t.PowerOff && host.Spec.Online:
		return do(write{what: "powers the host off", on: host, spec: map[string]any{"online": false}, from: "online", to: "offline"})
	case r.Decision == api.PlanReprovision:
		return r.renewed(s, m)
	case r.At+1 == len(r.Targets):
		return r.to(s, m, ending)
	case m.hold != "":
		return move{wait: "the next drain does not begin: " + m.hold}
	}
	r.At++
	return r.to(s, m, draining)
}

// chosen is for a Machine that is still there: another one may go instead.
func (r record) chosen(s *seen, m moment) move {
	t := &r.Targets[r.At]
	if !r.scales() || !found(s.owner) {
		return r.waits(m, otherLimit, "Machine %s is to be deleted", t.Machine)
	}
	_, _, to := done(s.owner)
	switch {
	case r.unmarked(s) != "":
		return r.abandon(s, m, "%s", r.unmarked(s))
	case replicas(s.owner) > to:
		return r.abandon(s, m, "somebody made %s larger again before Cluster API deleted a Machine", r.Pool)
	case !s.another(t.MachineUID):
		return r.waits(m, otherLimit, "Cluster API deletes a Machine of %s", r.Pool)
	}
	return r.stop(s, m, "Cluster API let another Machine of %s go than %s, which is marked", r.Pool, t.Machine)
}

// another reports whether the owner has no more Machines than it wants, with one among them that should have gone: then
// another one has. All is of one list: what was read before or after it may be of another time.
func (s *seen) another(uid string) bool {
	alive := s.alive()
	return len(alive) <= replicas(s.owner) && slices.ContainsFunc(alive, func(m machine) bool { return string(m.UID) == uid })
}

// stop ends the execution for the pool, and then the command.
func (r record) stop(s *seen, m moment, format string, args ...any) move {
	why := fmt.Sprintf(format, args...)
	if s.owner.Annotations[stoppedMark] == "" {
		return do(write{what: "stops execution for the owner", on: s.owner, annotations: map[string]any{stoppedMark: why}, to: why})
	}
	return r.abandon(s, m, "%s", why)
}

// renewed waits until the pool has another Machine for the one that is gone, or wants none.
func (r record) renewed(s *seen, m moment) move {
	newcomers := r.newcomers(s)
	ready := slices.ContainsFunc(newcomers, func(n machine) bool { return n.ready && !deleted(n) })
	if !found(s.owner) || ready || len(newcomers) == 0 && len(s.alive()) >= replicas(s.owner) {
		return r.to(s, m, ending)
	}
	return r.waits(m, leaveLimit, "%s gets a Machine that is ready", r.Pool)
}
