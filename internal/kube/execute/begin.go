package execute

import (
	"errors"
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// settled is how old the youngest Machine of a pool must be for another one to come: Machines are told apart by when they
// were made.
const settled = time.Minute

// recordOf is what an action asks for. It does not look at the cluster.
func recordOf(a api.PlanAction, id string, now time.Time) record {
	r := record{ID: id, Action: a.ID, Decision: a.Decision, Reason: a.Reason, Pool: a.Pool, Started: now, Step: begun, Since: now}
	hosts := a.Hosts
	if a.Decision != api.PlanReplace {
		hosts = hosts[:1] // an hour later the next plan knows better
	}
	for _, h := range hosts {
		off := h.PowerOff && a.Decision != api.PlanReprovision
		r.Targets = append(r.Targets, target{Host: h.Name, Machine: h.Machine, Node: h.Node, PowerOff: off})
	}
	if a.Replacement != nil {
		r.Spare = a.Replacement.Name
	}
	return r
}

// complete enters what the cluster says, and fails where that is not what the action was made for.
func (r *record) complete(s *seen, now time.Time) error {
	for i := range r.Targets {
		t, host, machine := &r.Targets[i], s.hosts[i], s.machines[i]
		_, marked := machine.Annotations[deleteMark]
		switch claims := machine.infrastructure(); {
		case !found(host) || deleted(host):
			return fmt.Errorf("host %s is gone", t.Host)
		case host.Labels[commandMark] != "" || host.Annotations[commandMark] != "":
			return fmt.Errorf("host %s is part of another command", t.Host)
		case claims == "" || consumer(host) != claims:
			return fmt.Errorf("host %s is claimed by %q, and not by Machine %s", t.Host, consumer(host), t.Machine)
		case r.Pool == "" && machine.Annotations[executeMark] != "true":
			return fmt.Errorf("its Machine %s has no owner, and does not allow it itself (annotation %s)", t.Machine, executeMark)
		case marked:
			return fmt.Errorf("its Machine %s has the annotation %s already", t.Machine, deleteMark)
		case s.nodes[i].away != nil:
			return s.nodes[i].away
		case machine.Status.NodeRef.Name != t.Node || !found(s.nodes[i]):
			return fmt.Errorf("its Machine %s has node %q, and the plan has %q", t.Machine, machine.Status.NodeRef.Name, t.Node)
		}
		t.HostUID, t.MachineUID, t.Consumer = string(host.UID), string(machine.UID), consumer(host)
		one := *r
		one.At = i
		if why := one.refused(s, moment{now: now, live: true}); why != "" {
			return errors.New(why)
		}
	}
	for _, h := range append([]*objects.Host{s.spare}, s.hosts...) {
		if h.Annotations[plannedMark] == "true" {
			r.Kept = append(r.Kept, keyOf(h))
		}
	}
	for _, m := range s.members {
		if m.CreationTimestamp.After(r.Newest) {
			r.Newest = m.CreationTimestamp.Time
		}
	}
	if r.Decision != api.PlanRelease && now.Sub(r.Newest) < settled {
		return fmt.Errorf("%s has a Machine that is younger than %s", r.Pool, settled)
	}
	_, err := read(r.text()) // else it would be begun and taken for none, again and again
	return err
}

// first is the write that begins the command: from now on another process finds it.
func (r *record) first(s *seen) write {
	w := r.plan(s.hosts[0])
	w.what, w.to = "begins planned work", string(r.Step)
	w.annotations[commandMark] = r.text()
	return w
}
