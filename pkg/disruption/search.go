package disruption

import (
	"cmp"
	mathbits "math/bits"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Bounds of a search. They count work, not time, so that the same state gives the same plan.
const (
	maxBatch = 100    // hosts of one consolidation
	maxWork  = 50_000 // pods that one method may simulate: about a minute on one slow core
	maxSkips = 200    // hosts that block a prefix
	maxExact = 10     // candidates of which all sets are tried
)

// solution is a set of hosts that can go together.
type solution struct {
	set    []*host
	at     placement
	spare  *host // nil: their pods fit on nodes that exist
	saving float64
}

// better returns the solution that saves more; other if both save the same, or s is nil.
func (s *solution) better(other *solution) *solution {
	if s == nil || other != nil && s.saving <= other.saving {
		return other
	}
	return s
}

// simulate returns where the pods of hosts would run, unless the work is used up or the context has ended.
func (p *planner) simulate(set []*host, spare *Node) placement {
	cost := 1
	nodes := make([]*fitNode, len(set))
	for i, h := range set {
		cost += len(h.movers())
		nodes[i] = h.node
	}
	if p.work < cost || p.ends() != nil {
		p.work = 0
		return placement{blocked: "the search has come to its bound"}
	}
	p.work -= cost
	return without(nodes, spare)
}

// solve simulates that hosts go, all at once: first to nodes that exist, then with a free host as replacement. It
// returns why they cannot go.
func (p *planner) solve(set []*host) (found *solution, why string) {
	if why := p.within(set, api.PlanUnderutilized, onePool(set)); why != "" {
		return nil, why
	}
	s := &solution{set: set}
	if s.at.blocked = p.within(set, api.PlanUnderutilized, false); s.at.blocked == "" {
		s.at = p.simulate(set, nil)
	}
	if why = s.at.blocked; why != "" {
		if !onePool(set) || len(set[0].pool.free) == 0 || p.work == 0 {
			return nil, why
		}
		if s.spare, s.at = p.spareFor(set); s.spare == nil {
			return nil, why + "; no free host of " + set[0].pool.name + " is cheaper and takes them"
		}
	}
	saving, payback := p.weigh(set, s.spare)
	switch s.saving = saving; {
	case saving == 0:
		return nil, "nothing would be saved"
	case payback > maxPayback:
		return nil, "it would pay back in " + money(payback) + " hours only"
	}
	return s, ""
}

// onePool reports whether all hosts are of one pool, so that one replacement can make up for them.
func onePool(set []*host) bool {
	return !slices.ContainsFunc(set, func(h *host) bool { return h.pool != set[0].pool })
}

// best returns the hosts that can go together and save the most. It tries all sets of up to maxExact candidates, one
// host alone too; of more candidates, prefixes of all, and of each pool with a free host.
func (p *planner) best(all []*host) *solution {
	if len(all) <= maxExact {
		return p.exact(all)
	}
	best := p.prefix(all)
	for _, own := range byPool(all) {
		if len(own) > 1 && len(own) < len(all) && len(own[0].pool.free) > 0 {
			best = p.prefix(own).better(best)
		}
	}
	return best
}

// byPool returns the hosts of each pool; pools and hosts keep their order.
func byPool(all []*host) (sets [][]*host) {
	for _, h := range all {
		i := slices.IndexFunc(sets, func(set []*host) bool { return set[0].pool == h.pool })
		if i < 0 {
			i, sets = len(sets), append(sets, nil)
		}
		sets[i] = append(sets[i], h)
	}
	return sets
}

// exact tries all sets, those that could save the most first, then the smaller ones, as they disrupt less, then those
// with earlier hosts.
func (p *planner) exact(all []*host) (best *solution) {
	type some struct {
		mask  uint
		set   []*host
		bound float64
	}
	var sets []some
	for mask := uint(1); mask < 1<<len(all); mask++ {
		s := some{mask: mask}
		for i, h := range all {
			if mask&(1<<i) != 0 {
				s.set, s.bound = append(s.set, h), s.bound+h.saving
			}
		}
		sets = append(sets, s)
	}
	slices.SortFunc(sets, func(a, b some) int {
		earlier := cmp.Compare(mathbits.Reverse(b.mask), mathbits.Reverse(a.mask))
		return cmp.Or(cmp.Compare(b.bound, a.bound), cmp.Compare(len(a.set), len(b.set)), earlier)
	})
	for _, s := range sets {
		if best != nil && s.bound <= best.saving || p.work == 0 {
			break
		}
		found, _ := p.solve(s.set)
		best = found.better(best)
	}
	return best
}

// prefix returns the largest prefix of the candidates that can go together, up to maxBatch. It skips a host that blocks
// the prefix, up to maxSkips. It simulates each set as a whole; at the bound, it returns the last feasible set.
func (p *planner) prefix(all []*host) (best *solution) {
	var kept []*host
	step := min(maxBatch, len(all))
	for at, skips := 0, 0; at < len(all) && len(kept) < maxBatch && skips < maxSkips && p.work > 0; {
		step = min(step, len(all)-at, maxBatch-len(kept))
		set, next := p.extend(kept, all, at, step)
		if len(set) == len(kept) {
			break // no budget has room for more
		}
		s, _ := p.solve(set)
		switch {
		case s != nil:
			best, kept, at, step = s, set, next, step*2
		case step == 1:
			at, skips = next, skips+1
		default:
			step /= 2
		}
	}
	return best
}

// extend adds up to step hosts for which budgets have room. next is the index at which it stopped.
func (p *planner) extend(kept, all []*host, at, step int) (set []*host, next int) {
	set = slices.Clone(kept)
	for next = at; next < len(all) && len(set) < len(kept)+step; next++ {
		if set = append(set, all[next]); p.within(set, api.PlanUnderutilized, onePool(all)) != "" {
			set = set[:len(set)-1]
		}
	}
	return set, next
}
