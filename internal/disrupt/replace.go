package disrupt

import (
	"cmp"
	"fmt"
	"slices"
)

// prepare taints the nodes and makes the owner larger.
func (c Command) prepare(s *Seen, m moment) step {
	if _, word, _ := doneTo(s.Owner.Label); s.Owner.ours(&c) && word == didRaise {
		return c.to(s, m, stageDeploying)
	}
	if why := c.unfit(s, m); why != "" {
		return c.abandon(s, m, stageUndoing, "%s", why)
	}
	on := true
	switch {
	case !s.Spare.Found() || !s.Spare.free():
		return c.abandon(s, m, stageUndoing, "host %s is not free any more", c.Replacement)
	case s.Spare.Label != "" && !s.Spare.ours(&c):
		return c.abandon(s, m, stageUndoing, "host %s is part of another command", c.Replacement)
	case !s.Spare.ours(&c) || !s.Spare.Planned:
		return do(Write{
			What: "marks the replacement's host as planned work", Object: s.Spare.Object, Label: &c.ID,
			Annotations: map[string]string{AnnotationPlanned: "true"},
		})
	}
	var taints []Write
	for i, node := range s.Nodes {
		switch {
		case !node.Found():
			return c.abandon(s, m, stageUndoing, "node %s is gone", c.Targets[i].Node)
		case node.Label != "" && !node.ours(&c):
			return c.abandon(s, m, stageUndoing, "node %s is part of another command", c.Targets[i].Node)
		case !node.Tainted || !node.ours(&c):
			taints = append(taints, Write{What: "taints the node", Object: node.Object, Label: &c.ID, Taint: &on, Taints: node.Taints})
		}
	}
	if len(taints) > 0 {
		return do(taints...)
	}
	return do(c.scale(s.Owner, s.Owner.Replicas+1, didRaise))
}

// newcomers are Machines of the pool that were made since the command began.
func (c *Command) newcomers(s *Seen) []Machine {
	var found []Machine
	for _, member := range s.Members {
		if member.Created.After(c.Newest) && !c.isTarget(member) {
			found = append(found, member)
		}
	}
	return found
}

func (c *Command) isTarget(m Machine) bool {
	for _, t := range c.Targets {
		if t.MachineUID == m.UID {
			return true
		}
	}
	return false
}

// replacement is the newcomer on the host that the plan has chosen; else the last one.
func (c *Command) replacement(s *Seen) (last Machine) {
	for _, n := range c.newcomers(s) {
		if n.Infrastructure != "" && n.Infrastructure == s.Spare.Consumer || n.ours(c) {
			return n
		}
		if !n.Deleting && (!last.Found() || n.Created.After(last.Created)) {
			last = n
		}
	}
	return last
}

// deploy waits until the replacement's node is Ready.
func (c Command) deploy(s *Seen, m moment) step {
	n := c.replacement(s)
	_, _, to := doneTo(s.Owner.Label)
	taken := s.Spare.Consumer != "" && s.Spare.Consumer != n.Infrastructure
	switch {
	case taken && s.Spare.ours(&c): // its work is nobody's plan any more
		return do(c.clean(s.Spare))
	case !s.Owner.Found() || s.Owner.Replicas < to:
		return c.abandon(s, m, stageUndoing, "somebody made %s smaller before the replacement was ready", c.Pool)
	case c.unmarked(s) != "":
		return c.abandon(s, m, stageUndoing, "%s", c.unmarked(s))
	case c.unfitMachine(s, s.Machines[c.At]) != "":
		return c.abandon(s, m, stageWithdrawing, "%s", c.unfitMachine(s, s.Machines[c.At]))
	case m.now.Sub(c.StageAt) > deployLimit && (n.Deleting || !n.Ready):
		return c.abandon(s, m, stageWithdrawing, "the replacement was not ready after %s", deployLimit)
	case taken:
		return c.abandon(s, m, stageWithdrawing, "host %s was claimed by %s", c.Replacement, s.Spare.Consumer)
	case !n.Found():
		return c.waiting(m, otherLimit, "Cluster API makes a Machine for %s", c.Pool)
	case n.Host != "" && n.Host != c.Replacement.String():
		return c.stop(s, m, stageWithdrawing, fmt.Sprintf("the replacement got host %s, and the plan counts with %s: the pool's hostSelector must leave no other choice", n.Host, c.Replacement))
	case n.Deleting:
		return c.waiting(m, deployLimit, "replacement %s is being deleted, and another one comes", n.Key)
	case !n.Ready:
		return c.waiting(m, deployLimit, "replacement %s becomes ready", n.Key)
	case m.hold != "":
		return step{wait: "the drain does not begin: " + m.hold}
	}
	return c.to(s, m, stageDraining)
}

// drain evicts the pods of a node. It has begun, and goes on whoever waits (DC-25).
func (c Command) drain(s *Seen, m moment) step {
	if why := cmp.Or(c.unfitMachine(s, s.Machines[c.At]), c.unproven(s)); why != "" {
		return c.abandon(s, m, stageWithdrawing, "%s", why)
	}
	if s.PodsOf != c.target().Node {
		return c.waiting(m, otherLimit, "pods of node %s are read", c.target().Node)
	}
	if len(s.Pods) == 0 {
		return c.to(s, m, stageReleasing)
	}
	st := c.waiting(m, drainLimit, "%d pods leave node %s", len(s.Pods), c.target().Node)
	st.pause = true
	// Each pass begins where the last one ended: pods that cannot go yet do not keep the others.
	from := int(max(0, m.now.Sub(c.StageAt))/every) * evictions % len(s.Pods)
	for _, pod := range slices.Concat(s.Pods[from:], s.Pods[:from]) {
		switch {
		case pod.DoNotDisrupt:
			st.wait = fmt.Sprintf("pod %s may not be disrupted; %s", pod.Key, st.wait)
		case !pod.Deleting && len(st.writes) < evictions:
			st.writes = append(st.writes, Write{What: "evicts a pod", Object: pod.Object, Evict: true, From: c.target().Node})
		}
	}
	return st
}

// withdraw takes the replacement back: the owner gets as small as it was, by that Machine.
func (c Command) withdraw(s *Seen, m moment) step {
	_, word, to := doneTo(s.Owner.Label)
	n := c.replacement(s)
	switch {
	case !s.Owner.Found() || !s.Owner.ours(&c) || word == didEnd:
		return c.to(s, m, stageUndoing)
	case word == didBack:
		if n.ours(&c) && !n.Deleting && s.Owner.Replicas > to {
			return c.to(s, m, stageUndoing) // somebody wants it after all
		}
		if n.ours(&c) && !n.Deleting && s.another(n.UID) {
			return c.stop(s, m, stageUndoing, c.wrong(n.Key))
		}
		if n.ours(&c) {
			return c.waiting(m, leaveLimit, "replacement %s goes", n.Key)
		}
		return c.to(s, m, stageUndoing)
	case word == didRaise && s.Owner.Replicas < to:
		return c.to(s, m, stageUndoing) // somebody else has
	case word != didRaise:
		return c.to(s, m, stageUndoing)
	case !n.Found(): // without it another Machine might go
		return c.waiting(m, otherLimit, "Cluster API makes a Machine for %s, to be taken back", c.Pool)
	case n.Deleting: // by somebody else: Cluster API makes another one, which is to go
		return c.waiting(m, otherLimit, "replacement %s is being deleted by somebody else", n.Key)
	case c.unsettled(s) != "":
		return c.waiting(m, otherLimit, "%s", c.unsettled(s))
	case n.Label != "" && !n.ours(&c) || n.Marked && n.Mark != c.mark():
		return c.waiting(m, otherLimit, "Machine %s is somebody else's to delete", n.Key)
	case !n.ours(&c) || !n.Marked:
		return do(c.markMachine(n))
	}
	return do(c.scale(s.Owner, s.Owner.Replicas-1, didBack))
}

// undo makes sure that nothing that is still on its way can change the owner, and then
// removes the marks of the Machines.
func (c Command) undo(s *Seen, m moment) step {
	if _, word, _ := doneTo(s.Owner.Label); c.scales() && s.Owner.Found() && (s.Owner.ours(&c) && word != didEnd || s.Owner.Label == "") {
		label := c.did(didEnd, s.Owner.Replicas)
		return do(Write{What: "lets no earlier write pass", Object: s.Owner.Object, Label: &label})
	}
	if w := c.unmark(s); len(w) > 0 {
		return do(w...)
	}
	return c.to(s, m, stageEnding)
}

// unmark removes our marks from Machines.
func (c *Command) unmark(s *Seen) (writes []Write) {
	seen := map[string]bool{}
	for _, list := range [][]Machine{s.Machines, s.Members} {
		for _, machine := range list {
			if machine.ours(c) && !seen[machine.UID] {
				seen[machine.UID] = true
				writes = append(writes, unmarkMachine(machine, c.mark()))
			}
		}
	}
	return writes
}

// unmarkMachine removes AnnotationDelete if it is as we have set it.
func unmarkMachine(m Machine, mark string) Write {
	none := ""
	w := Write{What: "removes its mark", Object: m.Object, Label: &none}
	if m.Marked && m.Mark == mark {
		w.Annotations = map[string]string{AnnotationDelete: ""}
	}
	return w
}

// end removes what is left, the record last.
func (c Command) end(s *Seen) step {
	none := ""
	if s.Owner.ours(&c) {
		return do(Write{What: "removes its mark", Object: s.Owner.Object, Label: &none})
	}
	writes := c.unmark(s)
	for _, node := range s.Nodes {
		if node.ours(&c) {
			writes = append(writes, untaint(node))
		}
	}
	for _, host := range append([]Host{s.Spare}, s.Hosts[1:]...) {
		if host.ours(&c) && host.UID != s.Hosts[0].UID {
			writes = append(writes, c.clean(host))
		}
	}
	if len(writes) > 0 {
		return do(writes...)
	}
	st := do(c.clean(s.Hosts[0]))
	st.done = true
	return st
}

func untaint(n Node) Write {
	none, off := "", false
	return Write{What: "removes its taint", Object: n.Object, Label: &none, Taint: &off, Taints: n.Taints}
}

// clean removes what the command has put on a host.
func (c *Command) clean(h Host) Write {
	w := clean(h)
	if slices.Contains(c.Kept, h.Key) {
		delete(w.Annotations, AnnotationPlanned)
	}
	return w
}

// clean removes all that is ours from a host.
func clean(h Host) Write {
	none := ""
	return Write{
		What: "removes its marks", Object: h.Object, Label: &none,
		Annotations: map[string]string{AnnotationCommand: "", AnnotationPlanned: ""},
	}
}
