package execute

import (
	"slices"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
)

// newcomers are Machines of the pool that were made since the command began.
func (r *record) newcomers(s *seen) (all []machine) {
	for _, m := range s.members {
		isTarget := slices.ContainsFunc(r.Targets, func(t target) bool { return t.MachineUID == string(m.UID) })
		if m.CreationTimestamp.After(r.Newest) && !isTarget {
			all = append(all, m)
		}
	}
	return all
}

// replacement is the newcomer on the host that the plan has chosen; else the last one.
func (r *record) replacement(s *seen) machine {
	last := machine{Machine: &objects.Machine{}}
	for _, m := range r.newcomers(s) {
		if claims := m.infrastructure(); claims != "" && claims == consumer(s.spare) || r.ours(m) {
			return m
		}
		if !deleted(m) && (!found(last) || m.CreationTimestamp.After(last.CreationTimestamp.Time)) {
			last = m
		}
	}
	return last
}

// deploy waits until the replacement's node is Ready.
func (r record) deploy(s *seen, m moment) move {
	n, holder := r.replacement(s), consumer(s.spare)
	taken := holder != "" && holder != n.infrastructure()
	late := m.now.Sub(r.Since) > deployLimit
	_, _, to := done(s.owner)
	switch {
	case taken && r.ours(s.spare): // its work is nobody's plan any more
		return do(clean(s.spare, slices.Contains(r.Kept, r.Spare)))
	case !found(s.owner):
		return r.abandon(s, m, "%s is gone", r.Pool)
	case r.unmarked(s) != "":
		return r.abandon(s, m, "%s", r.unmarked(s))
	case replicas(s.owner) < to:
		return r.abandon(s, m, "somebody made %s smaller before the replacement was ready", r.Pool)
	case r.unfit(s) != "":
		return r.abandon(s, m, "%s", r.unfit(s))
	case n.away != nil:
		return r.asks(m, deployLimit, n.away)
	case late && (deleted(n) || !n.ready):
		return r.abandon(s, m, "the replacement was not ready after %s", deployLimit)
	case taken:
		return r.abandon(s, m, "host %s was claimed by %s", r.Spare, holder)
	case !found(n):
		return r.waits(m, otherLimit, "Cluster API makes a Machine for %s", r.Pool)
	case n.host != "" && n.host != r.Spare:
		return r.stop(s, m, "the replacement got host %s, and not %s: the pool's hostSelector must leave no other choice", n.host, r.Spare)
	case deleted(n):
		return r.waits(m, deployLimit, "replacement %s is being deleted, and another one comes", keyOf(n))
	case !n.ready:
		return r.waits(m, deployLimit, "replacement %s becomes ready", keyOf(n))
	case m.hold != "":
		return move{wait: "the drain does not begin: " + m.hold}
	}
	return r.to(s, m, draining)
}

// takeBack takes the replacement back: the owner gets as small as it was, by that Machine.
func (r record) takeBack(s *seen, m moment) move {
	_, word, to := done(s.owner)
	n := r.replacement(s)
	switch {
	case !found(s.owner) || !r.ours(s.owner) || word != wordBack && word != wordUp || word == wordUp && replicas(s.owner) < to:
		return r.to(s, m, undoing) // nothing is to be taken back, or somebody else has
	case word == wordBack && (!r.ours(n) || !deleted(n) && replicas(s.owner) > to): // gone, or somebody wants it after all
		return r.to(s, m, undoing)
	case word == wordBack && !deleted(n) && s.another(string(n.UID)):
		return r.stop(s, m, "Cluster API let another Machine of %s go than %s, which is marked", r.Pool, keyOf(n))
	case word == wordBack:
		return r.waits(m, leaveLimit, "replacement %s goes", keyOf(n))
	case !found(n): // without it another Machine might go
		return r.waits(m, otherLimit, "Cluster API makes a Machine for %s, to be taken back", r.Pool)
	case deleted(n): // by somebody else: Cluster API makes another one, which is to go
		return r.waits(m, otherLimit, "replacement %s is being deleted by somebody else", keyOf(n))
	case r.unsettled(s) != "":
		return r.waits(m, otherLimit, "%s", r.unsettled(s))
	}
	value, marked := n.Annotations[deleteMark]
	switch {
	case r.others(n) || marked && value != mark(r.ID):
		return r.waits(m, otherLimit, "Machine %s is somebody else's to delete", keyOf(n))
	case !r.ours(n) || !marked:
		return do(r.markMachine(n.Machine))
	}
	return do(r.scale(s.owner, -1, wordBack))
}

// undo makes sure that nothing that is still on its way can change the owner, and then removes the marks of the Machines
// and the taints.
func (r record) undo(s *seen, m moment) move {
	_, word, _ := done(s.owner)
	if r.scales() && found(s.owner) && !r.others(s.owner) && !(r.ours(s.owner) && word == wordEnd) {
		return do(r.scale(s.owner, 0, wordEnd))
	}
	if w := r.unmarks(s); len(w) > 0 {
		return do(w...)
	}
	if w := r.untaints(s); len(w) > 0 {
		return do(w...)
	}
	for _, n := range s.nodes {
		if n.away != nil {
			return r.asks(m, otherLimit, n.away)
		}
	}
	return r.to(s, m, ending)
}

func (r *record) unmarks(s *seen) (writes []write) {
	seen := map[string]bool{}
	for _, m := range slices.Concat(s.machines, s.members) {
		if r.ours(m) && !seen[string(m.UID)] {
			seen[string(m.UID)] = true
			writes = append(writes, unmark(m.Machine))
		}
	}
	return writes
}

func (r *record) untaints(s *seen) (writes []write) {
	for _, n := range s.nodes {
		if found(n) && taintOf(n.Spec.Taints) == r.ID {
			writes = append(writes, taint(n.Node, n.cluster, ""))
		}
	}
	return writes
}

// end removes what is left, the record last.
func (r record) end(s *seen) move {
	if r.ours(s.owner) {
		return do(write{what: "removes its mark", on: s.owner, labels: map[string]any{commandMark: nil}})
	}
	writes := slices.Concat(r.unmarks(s), r.untaints(s))
	for _, h := range append([]*objects.Host{s.spare}, s.hosts[1:]...) {
		if r.ours(h) && h.UID != s.hosts[0].UID {
			writes = append(writes, clean(h, slices.Contains(r.Kept, keyOf(h))))
		}
	}
	if len(writes) > 0 {
		return do(writes...)
	}
	last := do(clean(s.hosts[0], slices.Contains(r.Kept, r.Targets[0].Host)))
	last.done = true
	return last
}
