package disrupt

import (
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// settled is how old the youngest Machine of a pool must be for another one to come:
// Machines are told apart by when they were made.
const settled = time.Minute

// commandOf is what an action asks for; it does not look at the cluster.
func commandOf(a api.PlanAction, id string, now time.Time) (Command, error) {
	c := Command{
		ID: id, Action: a.ID, Decision: a.Decision, Reason: a.Reason, Saving: a.SavingPerHour,
		Started: now, Stage: stageBegun, StageAt: now,
	}
	if len(a.Evidence) > 0 {
		c.Evidence = cut(a.Evidence[0])
	}
	var err error
	if c.Pool, err = parsePool(a.Pool); err != nil {
		return c, err
	}
	hosts := a.Hosts
	switch {
	case len(hosts) == 0:
		return c, fmt.Errorf("action %s has no host", a.ID)
	case a.Decision == api.PlanReplace && (a.Replacement == nil || c.Pool == Pool{}):
		return c, fmt.Errorf("action %s replaces, and has no replacement or no pool", a.ID)
	case a.Decision == api.PlanReplace:
		if c.Replacement, err = parseKey(a.Replacement.Name); err != nil {
			return c, err
		}
	case a.Decision == api.PlanRelease || a.Decision == api.PlanReprovision:
		hosts = hosts[:1] // an hour later the next plan knows better
	default:
		return c, fmt.Errorf("decision %q is none that is carried out", a.Decision)
	}
	for _, h := range hosts {
		t := Target{Node: h.Node, PowerOff: h.PowerOff && a.Decision != api.PlanReprovision}
		if h.Machine == "" {
			return c, fmt.Errorf("host %s has no Machine: an operator runs the commands of the plan", h.Name)
		}
		if t.Host, err = parseKey(h.Name); err != nil {
			return c, err
		}
		if t.Machine, err = parseKey(h.Machine); err != nil {
			return c, err
		}
		c.Targets = append(c.Targets, t)
	}
	return c, nil
}

// complete enters what the cluster says, and fails where that is not what the action was
// made for.
func (c *Command) complete(s *Seen, now time.Time) error {
	for i := range c.Targets {
		t, host, machine := &c.Targets[i], s.Hosts[i], s.Machines[i]
		switch {
		case !host.Found() || host.Deleting:
			return fmt.Errorf("host %s is gone", t.Host)
		case host.Label != "" || host.Record != "":
			return fmt.Errorf("host %s is part of another command", t.Host)
		case machine.Infrastructure == "" || host.Consumer != machine.Infrastructure:
			return fmt.Errorf("host %s is claimed by %q, and not by Machine %s", t.Host, host.Consumer, t.Machine)
		case c.Pool == Pool{} && !machine.Execute:
			return fmt.Errorf("Machine %s has no owner, and does not allow it itself (annotation %s)", t.Machine, AnnotationExecute)
		case machine.Marked:
			return fmt.Errorf("Machine %s has the annotation %s already", t.Machine, AnnotationDelete)
		case c.Decision == api.PlanReplace && t.Node == "":
			return fmt.Errorf("Machine %s has no node to drain", t.Machine)
		case machine.Node != t.Node:
			return fmt.Errorf("Machine %s has node %q, and the plan has %q", t.Machine, machine.Node, t.Node)
		}
		t.HostUID, t.MachineUID, t.Consumer = host.UID, machine.UID, host.Consumer
		at := *c
		at.At = i
		if why := at.unfit(s, moment{now: now, live: true}); why != "" {
			return fmt.Errorf("%s", why)
		}
	}
	for _, h := range []Host{s.Spare, s.Hosts[0]} {
		if h.Found() && h.Planned {
			c.Kept = append(c.Kept, h.Key)
		}
	}
	for _, m := range s.Members {
		if m.Created.After(c.Newest) {
			c.Newest = m.Created
		}
	}
	if c.Decision != api.PlanRelease && now.Sub(c.Newest) < settled {
		return fmt.Errorf("%s has a Machine that is younger than %s", c.Pool, settled)
	}
	_, err := ReadCommand(c.text()) // else it would be begun and taken for none, again and again
	return err
}

// first is the write that begins the command: from now on another process finds it.
func (c *Command) first(s *Seen) Write {
	return Write{
		What: "begins planned work", Object: s.Hosts[0].Object, Label: &c.ID,
		Annotations: map[string]string{AnnotationCommand: c.text(), AnnotationPlanned: "true"}, To: string(c.Stage),
	}
}
