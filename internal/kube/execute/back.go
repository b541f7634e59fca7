package execute

import (
	"cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
)

// newcomers returns the Machines of the pool that were made since the command began.
func (r *record) newcomers(s *seen) (all []machine) {
	for _, m := range s.members {
		if m.CreationTimestamp.After(r.Newest) && string(m.UID) != r.MachineUID {
			all = append(all, m)
		}
	}
	return all
}

// replacement returns the newcomer that claims the spare or has our mark; else the youngest one.
func (r *record) replacement(s *seen) machine {
	last := machine{Machine: &objects.Machine{}}
	for _, m := range r.newcomers(s) {
		if claims := infrastructure(m.Machine); claims != "" && claims == consumer(s.spare) || r.ours(m) {
			return m
		}
		if !deleted(m) && (!found(last) || m.CreationTimestamp.After(last.CreationTimestamp.Time)) {
			last = m
		}
	}
	return last
}

// taken reports whether another object than the replacement has claimed the spare.
func (r *record) taken(s *seen) bool {
	holder := consumer(s.spare)
	return holder != "" && holder != infrastructure(r.replacement(s).Machine)
}

// deploy waits until the replacement's node is Ready.
func (r record) deploy(s *seen, m moment) move {
	n, taken := r.replacement(s), r.taken(s)
	late := m.now.Sub(r.Since) > deployLimit
	_, _, to := done(s.owner)
	switch {
	case taken && r.ours(s.spare): // its work is no longer planned work
		return do(clean(s.spare))
	case cmp.Or(r.unmarked(s), r.unfit(s)) != "":
		return r.abandon(s, m, "%s", cmp.Or(r.unmarked(s), r.unfit(s)))
	case objects.Replicas(s.owner) < to:
		return r.abandon(s, m, "somebody made %s smaller before the replacement was ready", r.Pool)
	case n.away != nil:
		return r.asks(m, deployLimit, n.away)
	case late && (deleted(n) || !n.ready):
		return r.abandon(s, m, "the replacement was not ready after %s", deployLimit)
	case taken:
		return r.abandon(s, m, "host %s was claimed by %s", r.Spare, consumer(s.spare))
	case !found(n):
		return r.waits(m, otherLimit, "Cluster API makes a Machine for %s", r.Pool)
	case n.host != "" && n.host != r.Spare:
		const why = "the replacement got host %s, and not %s: the pool's hostSelector must leave no other choice"
		return r.stop(s, m, why, n.host, r.Spare)
	case deleted(n):
		return r.waits(m, deployLimit, "replacement %s is being deleted, and another one comes", keyOf(n))
	case !n.ready:
		return r.waits(m, deployLimit, "replacement %s becomes ready", keyOf(n))
	case m.hold != "":
		return move{wait: "the drain does not begin: " + m.hold}
	}
	return r.to(s, m, draining)
}

// takeBack removes the replacement: the owner becomes as small as it was, and that Machine goes. It returns nil if
// there is nothing to remove, somebody else did so, or Cluster API chose another Machine and the pool is stopped.
func (r record) takeBack(s *seen, m moment) *move {
	_, word, to := done(s.owner)
	n, next := r.replacement(s), move{}
	value, marked := n.Annotations[deleteMark]
	another := word == wordBack && !deleted(n) && s.another(string(n.UID))
	switch {
	case !r.ours(s.owner) || word != wordBack && word != wordUp || word == wordUp && objects.Replicas(s.owner) < to:
		return nil
	case word == wordBack && (!r.ours(n) || !deleted(n) && objects.Replicas(s.owner) > to): // gone, or wanted after all
		return nil
	case another && s.owner.Annotations[stoppedMark] != "":
		return nil
	case another:
		next = r.stop(s, m, "Cluster API let another Machine of %s go than %s, which is marked", r.Pool, keyOf(n))
	case r.paused(s) != "":
		next = r.waits(m, otherLimit, "%s", r.paused(s))
	case word == wordBack:
		next = r.waits(m, leaveLimit, "replacement %s goes", keyOf(n))
	case !found(n): // another Machine might go
		next = r.waits(m, otherLimit, "Cluster API makes a Machine for %s, to be taken back", r.Pool)
	case deleted(n): // by somebody else: Cluster API makes another one, which must go then
		next = r.waits(m, otherLimit, "replacement %s is being deleted by somebody else", keyOf(n))
	case r.unsettled(s) != "":
		next = r.waits(m, otherLimit, "%s", r.unsettled(s))
	case r.others(n) || marked && value != mark(r.ID):
		next = r.waits(m, otherLimit, "Machine %s is somebody else's to delete", keyOf(n))
	case !r.ours(n) || !marked:
		next = do(r.markMachine(n.Machine))
	default:
		next = do(r.scale(s.owner, -1, wordBack))
	}
	return &next
}

// unmarks returns the writes that remove our marks from Machines and the spare, and our taint.
func (r *record) unmarks(s *seen) (writes []write) {
	if r.ours(s.machine) {
		writes = append(writes, unmark(s.machine))
	}
	for _, m := range s.members {
		if r.ours(m) && m.UID != s.machine.UID {
			writes = append(writes, unmark(m.Machine))
		}
	}
	if r.ours(s.spare) && s.spare.UID != s.host.UID {
		writes = append(writes, clean(s.spare))
	}
	if found(s.node) && taintOf(s.node.Spec.Taints) == r.ID {
		writes = append(writes, taint(s.node.Node, s.node.cluster, ""))
	}
	return writes
}

// end removes what is left, the record last. If the command is abandoned, it first removes the replacement, and then
// writes to the owner once more: a write of ours that is still on its way then meets another version and fails.
func (r record) end(s *seen, m moment) move {
	if r.Why != "" {
		if r.taken(s) && r.ours(s.spare) && s.spare.UID != s.host.UID { // first: the rest may take long
			return do(clean(s.spare))
		}
		if next := r.takeBack(s, m); next != nil {
			return *next
		}
		_, word, _ := done(s.owner)
		if r.scales() && found(s.owner) && !r.others(s.owner) && !(r.ours(s.owner) && word == wordEnd) {
			return do(r.scale(s.owner, 0, wordEnd))
		}
	}
	if writes := r.unmarks(s); len(writes) > 0 {
		return do(writes...)
	}
	// After otherLimit, the sweep removes the taint when the cluster is back.
	if a := s.node.away; a != nil && m.now.Sub(r.Since) <= otherLimit {
		return r.asks(m, otherLimit, a)
	}
	last := move{done: true}
	if r.ours(s.owner) { // together with the record: without the mark, end would write wordEnd again
		last.writes = append(last.writes, marks("removes its mark", s.owner, nil, nil))
	}
	last.writes = append(last.writes, clean(s.host))
	return last
}
