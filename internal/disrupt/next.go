package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// Limits of time. beginLimit is how long after its validation a command may still change
// something for the first time; after deployLimit the replacement is taken back; the others
// only make a command reported as stuck.
const (
	beginLimit  = time.Minute
	deployLimit = 3 * time.Hour
	drainLimit  = time.Hour
	leaveLimit  = 6 * time.Hour
	otherLimit  = 10 * time.Minute
)

// evictions is how many pods are evicted in one pass.
const evictions = 10

// moment is what a step depends on besides what was seen.
type moment struct {
	now time.Time
	// live: the command was begun by this process, which validated its plan. Another one may
	// not begin what is not begun (DC-29).
	live bool
	// hold says why nothing further may start; "" = it may (DC-24, DC-26).
	hold string
}

// step is what is to be done next: writes in their order, or waiting.
type step struct {
	writes []Write
	// pause: what comes next is looked for in the next pass.
	pause bool
	wait  string // what is waited for
	stuck bool   // … for too long
	done  bool   // the writes end the command
}

// next says what a command does next. It depends on nothing else than what is given.
func next(c Command, s *Seen, m moment) step {
	if slices.Contains([]Stage{stageDeploying, stageDraining, stageReleasing, stageWithdrawing}, c.Stage) {
		if why := c.paused(s); why != "" {
			return c.waiting(m, otherLimit, "%s", why)
		}
	}
	switch c.Stage {
	case stageBegun:
		if c.Decision == api.PlanReplace {
			return c.prepare(s, m)
		}
		return c.release(s, m)
	case stageDeploying:
		return c.deploy(s, m)
	case stageDraining:
		return c.drain(s, m)
	case stageReleasing:
		return c.release(s, m)
	case stageLeaving:
		return c.leave(s, m)
	case stageWithdrawing:
		return c.withdraw(s, m)
	case stageUndoing:
		return c.undo(s, m)
	case stageEnding:
		return c.end(s)
	}
	return step{wait: fmt.Sprintf("stage %q is none", c.Stage), stuck: true}
}

func do(w ...Write) step { return step{writes: w} }

// waiting is stuck when a stage lasts longer than limit.
func (c *Command) waiting(m moment, limit time.Duration, format string, args ...any) step {
	return step{wait: fmt.Sprintf(format, args...), stuck: m.now.Sub(c.StageAt) > limit}
}

// to writes down that the command is at another stage.
func (c Command) to(s *Seen, m moment, stage Stage) step {
	was := c.Stage
	c.Stage, c.StageAt = stage, m.now
	return do(Write{
		What: "writes down how far it is", Object: s.Hosts[0].Object, Annotations: map[string]string{AnnotationCommand: c.text()},
		From: string(was), To: string(stage),
	})
}

// abandon takes the command back.
func (c Command) abandon(s *Seen, m moment, stage Stage, format string, args ...any) step {
	c.Abandoned = cut(fmt.Sprintf(format, args...)) // it may have somebody's annotation in it
	return c.to(s, m, stage)
}

// unfit says why what has not begun to change may not; "" = it may.
func (c *Command) unfit(s *Seen, m moment) string {
	switch machine := s.Machines[c.At]; {
	case !m.live:
		return "the process that began it has ended before anything had changed"
	case m.now.Sub(c.Started) > beginLimit:
		return fmt.Sprintf("nothing could be changed for %s, and the plan is too old now", beginLimit)
	case m.hold != "":
		return m.hold
	case c.paused(s) != "":
		return c.paused(s)
	default:
		return cmp.Or(c.unsettled(s), c.unfitMachine(s, machine))
	}
}

// paused says what of the target somebody has paused; "" = nothing.
func (c *Command) paused(s *Seen) string {
	for _, o := range []Object{s.Owner.Object, s.Machines[c.At].Object, s.Hosts[c.At].Object} {
		if o.Paused {
			return fmt.Sprintf("%s %s is paused", o.Kind, o.Key)
		}
	}
	return ""
}

// unsettled says why it might not be the marked Machine that goes when the owner gets smaller; "" = it is.
func (c *Command) unsettled(s *Seen) string {
	if c.scales() && s.rolledOut() {
		return fmt.Sprintf("%s is being rolled out: Cluster API chooses which of its MachineSets gets smaller", c.Pool)
	}
	if n := len(s.alive()); c.Pool != (Pool{}) && s.Owner.Found() && n != s.Owner.Replicas {
		return fmt.Sprintf("%s has %d Machines and wants %d", c.Pool, n, s.Owner.Replicas)
	}
	return ""
}

// rolledOut reports whether the owner has Machines of several MachineSets.
func (s *Seen) rolledOut() bool {
	alive := s.alive()
	return slices.ContainsFunc(alive, func(m Machine) bool { return m.Set != alive[0].Set })
}

func (c *Command) unfitMachine(s *Seen, machine Machine) string {
	t := c.target()
	switch {
	case !machine.Found() || machine.UID != t.MachineUID:
		return fmt.Sprintf("Machine %s is gone", t.Machine)
	case machine.Deleting:
		return fmt.Sprintf("Machine %s is being deleted by somebody else", t.Machine)
	case machine.DoNotDisrupt || s.Hosts[c.At].DoNotDisrupt || s.Nodes[c.At].DoNotDisrupt:
		return fmt.Sprintf("host %s, its Machine or its node may not be disrupted (annotation do-not-disrupt)", t.Host)
	case machine.Owner != c.Pool || machine.Other != "":
		return fmt.Sprintf("Machine %s has another owner now", t.Machine)
	case machine.Marked && machine.Mark != c.mark():
		return fmt.Sprintf("Machine %s has somebody else's annotation %s", t.Machine, AnnotationDelete)
	case machine.Label != "" && !machine.ours(c):
		return fmt.Sprintf("Machine %s is part of another command", t.Machine)
	case c.Pool == (Pool{}):
		return ""
	case !s.Owner.Found() || s.Owner.Deleting:
		return fmt.Sprintf("%s is gone", c.Pool)
	case s.Owner.Label != "" && !s.Owner.ours(c):
		return fmt.Sprintf("%s is part of another command", c.Pool)
	case s.Owner.Stopped != "":
		return fmt.Sprintf("%s is stopped: %s", c.Pool, s.Owner.Stopped)
	case !s.Owner.Execute:
		return fmt.Sprintf("%s does not allow it any more (annotation %s)", c.Pool, AnnotationExecute)
	}
	return ""
}

// release marks the Machine and makes its owner smaller, or deletes it.
func (c Command) release(s *Seen, m moment) step {
	machine, t := s.Machines[c.At], c.target()
	_, word, _ := doneTo(s.Owner.Label)
	switch {
	case c.scales() && s.Owner.ours(&c) && word == c.lowered():
		return c.to(s, m, stageLeaving)
	case !c.scales() && machine.UID != t.MachineUID || !c.scales() && machine.Deleting && machine.ours(&c):
		return c.to(s, m, stageLeaving)
	}
	if c.Stage == stageBegun {
		if why := c.unfit(s, m); why != "" {
			return c.abandon(s, m, stageUndoing, "%s", why)
		}
	} else if why := cmp.Or(c.unfitMachine(s, machine), c.unproven(s)); why != "" { // it has been drained: that goes on
		return c.abandon(s, m, stageWithdrawing, "%s", why)
	} else if why := c.unsettled(s); why != "" {
		return c.waiting(m, otherLimit, "%s", why)
	}
	if !machine.ours(&c) || c.scales() && !machine.Marked {
		return do(c.markMachine(machine))
	}
	if !c.scales() {
		return do(Write{What: "deletes the Machine", Object: machine.Object, Delete: true})
	}
	return do(c.scale(s.Owner, s.Owner.Replicas-1, c.lowered()))
}

// markMachine says which Machine goes first.
func (c *Command) markMachine(m Machine) Write {
	w := Write{What: "marks the Machine", Object: m.Object, Label: &c.ID}
	if c.scales() {
		w.Annotations = map[string]string{AnnotationDelete: c.mark()}
	}
	return w
}

// scale changes the replicas, and says so, in one write.
func (c *Command) scale(o Owner, to int, word string) Write {
	to = max(0, to)
	label := c.did(word, to)
	what := "makes the owner smaller"
	if to > o.Replicas {
		what = "makes the owner larger"
	}
	return Write{What: what, Object: o.Object, Label: &label, Replicas: &to, From: fmt.Sprint(o.Replicas), To: fmt.Sprint(to)}
}

// leave waits until the Machine is gone and its host is free.
func (c Command) leave(s *Seen, m moment) step {
	machine, host, t := s.Machines[c.At], s.Hosts[c.At], c.target()
	switch {
	case machine.Found() && machine.UID == t.MachineUID && !machine.Deleting:
		return c.chosen(s, m)
	case machine.Found() && machine.UID == t.MachineUID:
		return c.waiting(m, leaveLimit, "Machine %s is being deleted", t.Machine)
	case host.Found() && host.UID == t.HostUID && (host.Consumer == t.Consumer || host.Consumer == "") && !host.free():
		return c.waiting(m, leaveLimit, "host %s is %s", t.Host, host.State)
	case host.free() && host.UID == t.HostUID && t.PowerOff && host.Online:
		off := false
		return do(Write{What: "powers the host off", Object: host.Object, Online: &off, From: "online", To: "offline"})
	case c.Decision == api.PlanReprovision:
		return c.renewed(s, m)
	case c.At+1 < len(c.Targets) && m.hold != "":
		return step{wait: "the next drain does not begin: " + m.hold}
	case c.At+1 < len(c.Targets):
		c.At++
		return c.to(s, m, stageDraining)
	}
	return c.to(s, m, stageEnding)
}

// chosen is for a Machine that is still there: another one may go instead.
func (c Command) chosen(s *Seen, m moment) step {
	t := c.target()
	if !c.scales() || !s.Owner.Found() {
		return c.waiting(m, otherLimit, "Machine %s is to be deleted", t.Machine)
	}
	if why := c.unmarked(s); why != "" {
		return c.abandon(s, m, stageUndoing, "%s", why)
	}
	_, _, to := doneTo(s.Owner.Label)
	if s.Owner.Replicas > to {
		return c.abandon(s, m, stageUndoing, "somebody made %s larger again before Cluster API deleted a Machine", c.Pool)
	}
	if !s.another(t.MachineUID) {
		return c.waiting(m, otherLimit, "Cluster API deletes a Machine of %s", c.Pool)
	}
	return c.stop(s, m, stageUndoing, c.wrong(t.Machine))
}

// another reports whether the owner has no more Machines than it wants, with one among them that should have
// gone: then another one has. All is of one list: what was read before or after it may be of another time.
func (s *Seen) another(uid string) bool {
	alive := s.alive()
	return len(alive) <= s.Owner.Replicas && slices.ContainsFunc(alive, func(m Machine) bool { return m.UID == uid })
}

// alive are the owner's Machines that stay.
func (s *Seen) alive() (all []Machine) {
	for _, member := range s.Members {
		if !member.Deleting {
			all = append(all, member)
		}
	}
	return all
}

func (c *Command) wrong(marked disruption.Key) string {
	return fmt.Sprintf("Cluster API let another Machine of %s go than %s, which is marked", c.Pool, marked)
}

// stop ends the execution for the pool, and then the command.
func (c Command) stop(s *Seen, m moment, then Stage, why string) step {
	if s.Owner.Found() && s.Owner.Stopped == "" {
		return do(Write{What: "stops execution for the owner", Object: s.Owner.Object, Annotations: map[string]string{AnnotationStopped: why}, To: why})
	}
	return c.abandon(s, m, then, "%s", why)
}

// renewed waits until the pool has another Machine for the one that is gone, or wants none.
func (c Command) renewed(s *Seen, m moment) step {
	newcomers := c.newcomers(s)
	switch {
	case !s.Owner.Found(), len(newcomers) == 0 && len(s.alive()) >= s.Owner.Replicas:
		return c.to(s, m, stageEnding)
	case slices.ContainsFunc(newcomers, func(n Machine) bool { return n.Ready && !n.Deleting }):
		return c.to(s, m, stageEnding)
	}
	return c.waiting(m, leaveLimit, "%s gets a Machine that is ready", c.Pool)
}
