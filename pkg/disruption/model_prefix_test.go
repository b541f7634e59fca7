package disruption_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// fewCandidates is of how many the planner tries all sets; of more it takes a prefix.
const fewCandidates = 10

// wider is a calm cluster of so many hosts.
func wider(seed uint64, hosts int) *lab {
	m := &maker{chooser: rand.New(rand.NewPCG(seed, 22)), l: newLab(0), calm: true}
	return m.fill(hosts)
}

// perCost is the saving of a host per cost of its disruption, as Karpenter weighs pods.
func (w *world) perCost(h *disruption.Host) float64 {
	cost := w.s.Throttle.ReleaseMinutes
	for _, p := range w.movers(home(h)) {
		pod := 1 + float64(p.Priority)/(1<<25)
		if p.DeletionCost != nil {
			pod += float64(*p.DeletionCost) / (1 << 27)
		}
		cost += min(10, max(-10, pod))
	}
	return w.worth(h) / max(1, cost)
}

// prefix is what the largest prefix of the candidates saves, with what blocks it skipped, beside the hosts that are empty:
// each is added that can go with those before it.
func (b *brute) prefix(anyway []*disruption.Host, saved float64) float64 {
	order := slices.Clone(b.candidates)
	slices.SortFunc(order, func(g, h *disruption.Host) int {
		return cmp.Or(cmp.Compare(b.perCost(h), b.perCost(g)), cmp.Compare(g.String(), h.String()))
	})
	set := slices.Clone(anyway)
	for _, h := range order {
		if b.undecided {
			break
		}
		if _, ok := b.feasible(append(slices.Clone(set), h), nil); ok {
			set = append(set, h)
			saved += b.worth(h)
		}
	}
	return saved
}

// TestPlansSaveWhatTheLargestPrefixDoes is for clusters with more candidates than all sets are tried of.
func TestPlansSaveWhatTheLargestPrefixDoes(t *testing.T) {
	var all tally
	undecided := 0
	for seed := *planSeed; seed < *planSeed+cases()/5; seed++ {
		l := wider(seed, fewCandidates+2+int(seed%10))
		b := newBrute(l, freedom{})
		if len(b.candidates) <= fewCandidates {
			continue
		}
		best := b.prefix(b.hosts, b.best)
		if b.undecided {
			undecided++
			continue
		}
		saved, ok := carriedOut(t, seed, l)
		if !ok {
			return
		}
		if best > 0 && all.add(saved, best) {
			t.Errorf("seed %d: plans save %.3f, and the largest prefix %.3f", seed, saved, best)
		}
	}
	t.Logf("%s; %d were given up", all.String(), undecided)
	if all.cases == 0 {
		t.Errorf("%d clusters were compared", all.cases)
	}
}

// TestWhatAPrefixCosts compares the same with the best set: in all together, for a prefix need not have it.
func TestWhatAPrefixCosts(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long: make test plays it without the race detector")
	}
	var all tally
	undecided := 0
	for seed := *planSeed; seed < *planSeed+cases() && all.cases < 40; seed++ {
		l := wider(seed, fewCandidates+2)
		b := newBrute(l, freedom{})
		if len(b.candidates) <= fewCandidates {
			continue
		}
		b.search(b.hosts, b.best)
		if b.undecided {
			undecided++
			continue
		}
		saved, ok := carriedOut(t, seed, l)
		if !ok {
			return
		}
		all.add(saved, b.best)
	}
	t.Logf("%s; %d were given up", all.String(), undecided)
	if all.cases == 0 || all.saved < share*all.best {
		t.Errorf("in %d clusters plans save %.2f of %.2f", all.cases, all.saved, all.best)
	}
}

// TestWhatIsNotSimulatedMakesNoCandidate is about those hosts that brute force leaves out because a pod requires more: the plan never has
// them either.
func TestWhatIsNotSimulatedMakesNoCandidate(t *testing.T) {
	left := 0
	for seed := *planSeed; seed < *planSeed+cases(); seed++ {
		l := seeded(seed, true)
		b := newBrute(l, freedom{})
		for i := range l.s.Hosts {
			h := &l.s.Hosts[i]
			if !b.needsMore(h) {
				continue
			}
			left++
			e, err := disruption.Explain(t.Context(), &l.s, l.c, l.now, h.Key)
			if err != nil || e.Candidate {
				t.Errorf("seed %d: %s is a candidate, and a pod of it requires what is not simulated: %+v %v", seed, h, e, err)
			}
		}
	}
	t.Logf("%d hosts", left)
	if left == 0 {
		t.Error("no pod requires more than is simulated")
	}
}
