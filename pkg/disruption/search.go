package disruption

import (
	"cmp"
	"context"
	mathbits "math/bits"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Bounds of a search. They count work and not time, so that the same state gives the same plan (DC-28).
const (
	maxBatch = 100 // hosts of one consolidation (DC-14)
	// maxWork is how many pods one method may simulate: about a minute on one slow core.
	maxWork  = 50_000
	maxSkips = 200 // hosts that block a prefix (DC-15)
	maxExact = 10  // candidates of which all sets are tried
)

// solution is a set of hosts that can go together.
type solution struct {
	set     []*host
	at      placement
	spare   *host // nil = their pods fit on nodes that exist
	saving  float64
	payback float64
}

// solve simulates that hosts go together, all at once (DC-10, DC-11): first to nodes that exist, then with one more.
// why says why they cannot.
func (p *planner) solve(ctx context.Context, set []*host) (found *solution, why string, err error) {
	if why := p.within(set, underutilized, oneOwner(set)); why != "" {
		return nil, why, nil
	}
	s := &solution{set: set}
	if s.at.blocked = p.within(set, underutilized, false); s.at.blocked == "" {
		var simulated bool
		s.at, simulated, err = p.simulate(ctx, set, nil)
		if err != nil || !simulated {
			return nil, tooMuch, err
		}
	}
	if why = s.at.blocked; why != "" {
		if !oneOwner(set) || len(p.freeFor(set[0].pool)) == 0 {
			return nil, why, nil
		}
		var none string
		s.spare, s.at, none, err = p.spareFor(ctx, set)
		if err != nil || s.spare == nil {
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
	return q.name != "" && set[0].Machine.Pool != (Key{}) && !slices.ContainsFunc(set, func(h *host) bool { return h.pool != q })
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

// best finds hosts that can go together and save the most: all sets are tried where they are few, else prefixes. Of few,
// it may be one host alone.
func (p *planner) best(ctx context.Context, all []*host) (*solution, error) {
	if len(all) <= maxExact {
		return p.exact(ctx, all)
	}
	best, err := p.prefix(ctx, all)
	if err != nil {
		return nil, err
	}
	for _, own := range byOwner(all) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		q := own[0].pool
		if len(own) < 2 || len(own) == len(all) || len(p.freeFor(q)) == 0 {
			continue
		}
		s, err := p.prefix(ctx, own)
		if err != nil {
			return nil, err
		}
		if s != nil && (best == nil || s.saving > best.saving) {
			best = s
		}
	}
	return best, nil
}

// byOwner are the hosts of each pool; pools and hosts stay in their order.
func byOwner(all []*host) [][]*host {
	var sets [][]*host
	at := map[*pool]int{}
	for _, h := range all {
		i, ok := at[h.pool]
		if !ok {
			i = len(sets)
			at[h.pool] = i
			sets = append(sets, nil)
		}
		sets[i] = append(sets[i], h)
	}
	return sets
}

// exact tries all sets, those that could save the most first.
func (p *planner) exact(ctx context.Context, all []*host) (*solution, error) {
	type choice struct {
		mask  uint
		bound float64
	}
	var choices []choice
	for mask := uint(1); mask < 1<<len(all); mask++ {
		c := choice{mask: mask}
		for i, h := range all {
			if mask&(1<<i) != 0 {
				c.bound += h.verdict.rank.saving.perHour
			}
		}
		choices = append(choices, c)
	}
	// Of sets that save the same the smaller one disturbs less; then the one with earlier hosts goes first.
	slices.SortFunc(choices, func(a, b choice) int {
		return cmp.Or(cmp.Compare(b.bound, a.bound), cmp.Compare(mathbits.OnesCount(a.mask), mathbits.OnesCount(b.mask)), cmp.Compare(mathbits.Reverse(b.mask), mathbits.Reverse(a.mask)))
	})
	var best *solution
	for _, c := range choices {
		if best != nil && c.bound <= best.saving || p.work == 0 {
			break
		}
		var set []*host
		for i, h := range all {
			if c.mask&(1<<i) != 0 {
				set = append(set, h)
			}
		}
		s, _, err := p.solve(ctx, set)
		if err != nil {
			return nil, err
		}
		if s != nil && (best == nil || s.saving > best.saving) {
			best = s
		}
	}
	return best, nil
}

// prefix finds the largest prefix of the candidates that can go together, at most 100 (DC-14). A host that blocks it is
// skipped, within bounds (DC-15). Each set is simulated as a whole, the last one too; when the bound
// is reached the last one that was feasible holds.
func (p *planner) prefix(ctx context.Context, all []*host) (*solution, error) {
	var best *solution
	var kept []*host
	step := min(maxBatch, len(all))
	for at, skips := 0, 0; at < len(all) && len(kept) < maxBatch && skips < maxSkips && p.work > 0; {
		step = min(step, len(all)-at, maxBatch-len(kept))
		set, next := p.extend(kept, all, at, step)
		if len(set) == len(kept) {
			break // no budget has room for more
		}
		p.tell(at)
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
