package disruption

import (
	"cmp"
	"context"
	mathbits "math/bits"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Bounds of a search. They count work and not time, so that the same state gives the same plan.
const (
	maxBatch = 100 // hosts of one consolidation
	// maxWork is how many pods one method may simulate: about a minute on one slow core.
	maxWork  = 50_000
	maxSkips = 200 // hosts that block a prefix
	maxExact = 10  // candidates of which all sets are tried
)

// tooMuch says that a search was cut short.
const tooMuch = "the search has come to its bound"

// solution is a set of hosts that can go together.
type solution struct {
	set     []*host
	at      placement
	spare   *host // nil = their pods fit on nodes that exist
	saving  float64
	payback float64
}

// better is the solution that saves more; the other one where both save the same, or s is none.
func (s *solution) better(other *solution) *solution {
	if s == nil || other != nil && s.saving <= other.saving {
		return other
	}
	return s
}

// simulate asks where the pods of hosts would go while there is work left.
func (p *planner) simulate(ctx context.Context, set []*host, spare *Node) (placement, error) {
	cost := 1
	nodes := make([]*Node, len(set))
	for i, h := range set {
		cost += len(h.movers)
		nodes[i] = h.node
	}
	if p.work < cost {
		p.work = 0
		return placement{blocked: tooMuch}, nil
	}
	p.work -= cost
	if err := ctx.Err(); err != nil {
		return placement{}, err
	}
	return p.sim.without(ctx, nodes, spare)
}

// solve simulates that hosts go together, all at once: first to nodes that exist, then with one more.
// why says why they cannot.
func (p *planner) solve(ctx context.Context, set []*host) (found *solution, why string, err error) {
	if why := p.within(set, underutilized, oneOwner(set)); why != "" {
		return nil, why, nil
	}
	s := &solution{set: set}
	if s.at.blocked = p.within(set, underutilized, false); s.at.blocked == "" {
		if s.at, err = p.simulate(ctx, set, nil); err != nil {
			return nil, "", err
		}
	}
	if why = s.at.blocked; why != "" {
		if !oneOwner(set) || len(p.freeFor(set[0].pool)) == 0 || p.work == 0 {
			return nil, why, nil
		}
		var none string
		if s.spare, s.at, none, err = p.spareFor(ctx, set); err != nil || s.spare == nil {
			return nil, why + "; " + none, err
		}
	}
	p.weigh(s)
	switch {
	case s.saving <= 0:
		return nil, "nothing would be saved", nil
	case !p.paysBack(s.payback):
		return nil, "it would pay back in " + money(s.payback) + " hours only", nil
	}
	return s, "", nil
}

func underutilized(*host) api.PlanReason { return api.PlanUnderutilized }

// oneOwner tells whether all hosts are of one pool that could be made larger for a while.
func oneOwner(set []*host) bool {
	q := set[0].pool
	return set[0].owned() && !slices.ContainsFunc(set, func(h *host) bool { return h.pool != q })
}

// weigh adds up what a solution saves, and after how long that has paid for its work: hosts cost what they cost while
// they hold a slot.
func (p *planner) weigh(s *solution) {
	release, deploy := p.minutes()
	cycle := 0.0
	for _, h := range s.set {
		s.saving += h.verdict.rank.saving.perHour
		cycle += h.rate(h.verdict.rank.saving.perHour) * release / 60
	}
	if s.spare != nil {
		s.saving -= s.spare.price
		cycle += s.spare.price * deploy / 60
	}
	if s.saving < minPrice {
		s.saving = 0
		return
	}
	s.payback = cycle / s.saving
}

// best finds hosts that can go together and save the most: all sets are tried where they are few, else prefixes of all,
// and of each pool, whose hosts one more can replace. Of few, it may be one host alone.
func (p *planner) best(ctx context.Context, all []*host) (*solution, error) {
	if len(all) <= maxExact {
		return p.exact(ctx, all)
	}
	best, err := p.prefix(ctx, all)
	for _, own := range byOwner(all) {
		if err != nil {
			break
		}
		if len(own) < 2 || len(own) == len(all) || len(p.freeFor(own[0].pool)) == 0 {
			continue
		}
		var s *solution
		s, err = p.prefix(ctx, own)
		best = s.better(best)
	}
	return best, err
}

// byOwner are the hosts of each pool; pools and hosts stay in their order.
func byOwner(all []*host) (sets [][]*host) {
	at := map[*pool]int{}
	for _, h := range all {
		i, ok := at[h.pool]
		if !ok {
			i = len(sets)
			at[h.pool], sets = i, append(sets, nil)
		}
		sets[i] = append(sets[i], h)
	}
	return sets
}

// exact tries all sets, those that could save the most first. Of sets that save the same the smaller one disturbs less;
// then the one with earlier hosts goes first.
func (p *planner) exact(ctx context.Context, all []*host) (best *solution, err error) {
	of := func(mask uint) (set []*host, bound float64) {
		for i, h := range all {
			if mask&(1<<i) != 0 {
				set, bound = append(set, h), bound+h.verdict.rank.saving.perHour
			}
		}
		return set, bound
	}
	masks, bounds := make([]uint, 1<<len(all)-1), make([]float64, 1<<len(all))
	for i := range masks {
		masks[i] = uint(i + 1)
		_, bounds[i+1] = of(masks[i])
	}
	slices.SortFunc(masks, func(a, b uint) int {
		return cmp.Or(cmp.Compare(bounds[b], bounds[a]), cmp.Compare(mathbits.OnesCount(a), mathbits.OnesCount(b)), cmp.Compare(mathbits.Reverse(b), mathbits.Reverse(a)))
	})
	for _, mask := range masks {
		if best != nil && bounds[mask] <= best.saving || p.work == 0 {
			break
		}
		set, _ := of(mask)
		s, _, err := p.solve(ctx, set)
		if err != nil {
			return nil, err
		}
		best = s.better(best)
	}
	return best, nil
}

// prefix finds the largest prefix of the candidates that can go together, at most 100. A host that blocks it is
// skipped, within bounds. Each set is simulated as a whole, the last one too; when the bound
// is reached the last one that was feasible holds.
func (p *planner) prefix(ctx context.Context, all []*host) (best *solution, err error) {
	var kept []*host
	step := min(maxBatch, len(all))
	for at, skips := 0, 0; at < len(all) && len(kept) < maxBatch && skips < maxSkips && p.work > 0; {
		step = min(step, len(all)-at, maxBatch-len(kept))
		set, next := p.extend(kept, all, at, step)
		if len(set) == len(kept) {
			break // no budget has room for more
		}
		s, _, err := p.solve(ctx, set)
		switch {
		case err != nil:
			return nil, err
		case s != nil:
			best, kept, at, step = s, set, next, step*2
		case step == 1:
			at, skips = next, skips+1
		default:
			step /= 2
		}
	}
	return best, nil
}

// extend adds the next hosts for whom budgets have room. next is where it stopped.
func (p *planner) extend(kept, all []*host, at, step int) (set []*host, next int) {
	set = slices.Clone(kept)
	l := p.newLedger(oneOwner(all))
	for _, h := range kept {
		l.add(h, api.PlanUnderutilized)
	}
	for next = at; next < len(all) && len(set) < len(kept)+step; next++ {
		if l.add(all[next], api.PlanUnderutilized) == "" {
			set = append(set, all[next])
		}
	}
	return set, next
}
