package disruption_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// The search makes random clusters and has the plan of each judged. make search looks at more of them.
var (
	planCases = flag.Int("plan.cases", 300, "how many random clusters to plan")
	planSeed  = flag.Uint64("plan.seed", 1, "the first seed")
)

// cases is how many random clusters to look at: few with -short.
func cases() uint64 {
	if testing.Short() {
		return uint64(min(*planCases, 100))
	}
	return uint64(*planCases)
}

func show(t *testing.T, seed uint64, l *lab, p api.Plan, broken []string) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Errorf("seed %d: the plan breaks\n%s\n%s", seed, strings.Join(broken, "\n"), text)
	if testing.Verbose() {
		if text, err = json.Marshal(l.document()); err == nil {
			t.Logf("%s", text)
		}
	}
}

// TestNoPlanOfARandomClusterBreaksALaw has the plans of states with all features judged.
func TestNoPlanOfARandomClusterBreaksALaw(t *testing.T) {
	made, failed, replaced := map[api.PlanMethod]int{}, 0, 0
	for seed := *planSeed; seed < *planSeed+cases() && failed < 5; seed++ {
		l := mixed(seed, false)
		p := planned(t, &l.s, l.c, l.now)
		made[p.Method]++
		for _, a := range p.Actions {
			if a.Replacement != nil {
				replaced++
			}
		}
		broken := judge(&l.s, l.c, l.now, p)
		earlier := p // as if it had been made 15 s before
		earlier.MadeAt, earlier.ExecuteAfter = l.now.Add(-disruption.ValidateAfter), l.now
		if err := disruption.Validate(t.Context(), earlier, &l.s, l.c, l.now); err != nil && p.Blocked == "" {
			broken = append(broken, "it does not hold though nothing has changed (law age): "+err.Error())
		}
		if len(broken) > 0 {
			show(t, seed, l, p, broken)
			failed++
		}
	}
	t.Logf("plans by method: %v, of them %d with a replacement", made, replaced)
	if cases() < 1000 {
		return
	}
	if replaced == 0 {
		t.Error("no plan replaces a host")
	}
	for m := range reasons {
		if made[m] == 0 {
			t.Errorf("no plan has the method %s", m)
		}
	}
}

// share is the part of what brute force saves by the rows that plans save, in every single cluster.
const share = 0.95

// tally compares what plans save with what brute force would.
type tally struct {
	cases, short, under int // under: less than brute force at all
	saved, best         float64
}

func (s *tally) add(saved, best float64) (short bool) {
	s.cases++
	s.saved += min(saved, best)
	s.best += best
	if saved < best-1e-9 {
		s.under++
	}
	if short = saved < share*best-1e-9; short {
		s.short++
	}
	return short
}

func (s *tally) String() string {
	return fmt.Sprintf("%d clusters, %.2f %% of the best saving, %d below it, %d below %.0f %%", s.cases, 100*s.saved/s.best, s.under, s.short, 100*share)
}

// carriedOut plans and carries out until nothing is left, and returns what that saves. ok is false if a plan breaks a law.
func carriedOut(t *testing.T, seed uint64, l *lab) (saved float64, ok bool) {
	t.Helper()
	for range 20 {
		p := planned(t, &l.s, l.c, l.now)
		if broken := judge(&l.s, l.c, l.now, p); len(broken) > 0 {
			show(t, seed, l, p, broken)
			return 0, false
		}
		if len(p.Actions) == 0 {
			return saved, true
		}
		saved += l.carryOut(p)
	}
	t.Errorf("seed %d: there is no end of plans", seed)
	return 0, false
}

// TestPlansSaveWhatBruteForceDoes carries out plan after plan of a cluster where nothing but its pods limits them, and
// compares what that saves with the best set of hosts that the rows allow, cluster by cluster. What
// rows cost against a planner that is free of them is told.
func TestPlansSaveWhatBruteForceDoes(t *testing.T) {
	var all tally
	free := []struct {
		freedom
		words string
		tally
	}{
		{freedom{order: true}, "if empty hosts could stay and take pods (law method)", tally{}},
		{freedom{wide: true}, "if anti-affinity by any topology were simulated (law place)", tally{}},
		{freedom{sick: true}, "if pods that are not ready took nothing from their budget (law place)", tally{}},
		{freedom{order: true, wide: true, sick: true}, "if all of that were so", tally{}},
	}
	failed, nothing, undecided := 0, 0, 0
	for seed := *planSeed; seed < *planSeed+cases() && failed < 5; seed++ {
		l := mixed(seed, true)
		b := bruteForce(l, freedom{})
		if b.undecided {
			undecided++
			continue
		}
		bests := make([]float64, len(free)) // before plans change the lab
		for i := range free {
			bests[i] = bruteForce(l, free[i].freedom).best
		}
		saved, ok := carriedOut(t, seed, l)
		if !ok {
			failed++
			continue
		}
		for i := range free {
			free[i].add(saved, bests[i])
		}
		if b.best == 0 {
			nothing++
		} else if all.add(saved, b.best) && len(b.candidates) <= fewCandidates { // of more a prefix is taken
			failed++
			t.Errorf("seed %d: plans save %.3f, and the rows allow %.3f", seed, saved, b.best)
		}
	}
	t.Logf("%s; %d more have nothing to save, %d were given up", all.String(), nothing, undecided)
	for i := range free {
		t.Logf("%s: %s", free[i].words, free[i].String())
	}
	if all.saved < share*all.best {
		t.Errorf("plans save %.2f of %.2f", all.saved, all.best)
	}
	if n := int(cases()); all.cases+failed < n/2 || undecided > n/100 {
		t.Errorf("%d clusters were compared, %d have nothing to save, and %d were given up", all.cases, nothing, undecided)
	}
}

// TestPlacementsHoldAndNoneIsMissed lets one host go, and compares what becomes of its pods with all that could: they go to
// other nodes, or to a new one where those are not enough, or brute force finds no place for them either. A pod with
// affinity or spread may be missed at times.
func TestPlacementsHoldAndNoneIsMissed(t *testing.T) {
	const stays, release, replace = "", api.PlanRelease, api.PlanReplace
	count, missed := map[api.PlanDecision]int{}, 0
	for seed := *planSeed; seed < *planSeed+5*cases() && !t.Failed(); seed++ {
		l := dense(seed)
		b := newBrute(l, freedom{})
		if len(b.candidates) == 0 {
			continue
		}
		want, spare := api.PlanDecision(stays), l.s.Hosts[len(l.s.Hosts)-1]
		if _, ok := b.feasible(b.candidates, nil); ok {
			want = release
		} else if spare.Node == "" {
			if _, ok := b.feasible(b.candidates, &spare); ok {
				want = replace
			}
		}
		p := planned(t, &l.s, l.c, l.now)
		got := api.PlanDecision(stays)
		if len(p.Actions) > 0 {
			got = p.Actions[0].Decision
		}
		broken := judge(&l.s, l.c, l.now, p)
		if free := !slices.ContainsFunc(l.s.Pods, func(p disruption.Pod) bool { return len(p.Affinity)+len(p.Spread) > 0 }); got != want && !b.undecided {
			if missed++; free || want == stays || got == release {
				broken = append(broken, fmt.Sprintf("the decision is %q, and brute force finds %q", got, want))
			}
		}
		if count[got]++; len(broken) > 0 {
			show(t, seed, l, p, broken)
		}
	}
	t.Logf("%v, %d missed", count, missed)
	if count[release] == 0 || count[replace] == 0 || count[stays] == 0 || missed > (count[release]+count[replace])/20 {
		t.Errorf("%v, %d missed", count, missed)
	}
}

// TestTheJudgeAndBruteForceAgree has plans judged that brute force makes, and the same with one move spoilt.
func TestTheJudgeAndBruteForceAgree(t *testing.T) {
	plans, moves, spoilt := 0, 0, 0
	for seed := *planSeed; seed < *planSeed+cases(); seed++ {
		l := seeded(seed, true)
		b := bruteForce(l, freedom{order: true, wide: true, sick: true})
		if b.best == 0 {
			continue
		}
		p := b.plan()
		plans++
		if broken := judge(&l.s, l.c, l.now, p); len(broken) > 0 {
			show(t, seed, l, p, broken)
			return
		}
		for i := range p.Actions[0].Moves {
			moves++
			if !spoilMove(t, l, p, i, rand.New(rand.NewPCG(seed, 1))) {
				continue
			}
			spoilt++
			if broken := judge(&l.s, l.c, l.now, p); len(broken) == 0 {
				t.Fatalf("seed %d: the judge accepts a plan that has move %d spoilt: %+v", seed, i, p.Actions[0].Moves)
			}
			break
		}
	}
	t.Logf("%d plans with %d moves, %d of them spoilt", plans, moves, spoilt)
	if plans == 0 || spoilt == 0 {
		t.Errorf("%d plans, %d spoilt", plans, spoilt)
	}
}

// spoilMove sends a pod where it may not go even if it were alone there; false: there is no such place.
func spoilMove(t *testing.T, l *lab, p api.Plan, i int, r *rand.Rand) bool {
	t.Helper()
	w := newWorld(&l.s, l.c, l.now)
	gone := map[string]bool{}
	for _, h := range p.Actions[0].Hosts {
		gone[h.Node] = true
	}
	b := w.board(gone)
	moving := w.pods[p.Actions[0].Moves[i].Pod]
	for _, n := range r.Perm(len(l.s.Nodes)) {
		to := l.s.Nodes[n].Name
		if gone[to] || b.refuses(moving, b.seats[to]) != "" {
			p.Actions[0].Moves[i].To = to
			return true
		}
	}
	return false
}

// drawn lets rapid choose.
type drawn struct{ t *rapid.T }

func (d drawn) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "choice") }

// TestThePlanOfARandomState is the same with its lists in another order, and Plan does not change them; Explain calls those
// hosts candidates that have an action, and no host that a law excludes.
func TestThePlanOfARandomState(t *testing.T) {
	planned(t, &newLab(1).s, disruption.Default(), noon) // skips while there is none
	rapid.Check(t, func(rt *rapid.T) {
		l := randomLab(drawn{rt}, false)
		before := mustJSON(rt, l.s)
		first, err := disruption.Plan(context.Background(), &l.s, l.c, l.now)
		if err != nil {
			rt.Fatal(err)
		}
		if !bytes.Equal(before, mustJSON(rt, l.s)) {
			rt.Fatal("Plan changed the state")
		}
		explained(rt, l, first)
		r := rand.New(rand.NewPCG(1, 2))
		shuffle(r, l.s.Hosts)
		shuffle(r, l.s.Nodes)
		shuffle(r, l.s.Pods)
		shuffle(r, l.s.Pools)
		shuffle(r, l.s.Budgets)
		second, err := disruption.Plan(context.Background(), &l.s, l.c, l.now)
		if err != nil {
			rt.Fatal(err)
		}
		if a, b := mustJSON(rt, first), mustJSON(rt, second); !bytes.Equal(a, b) {
			rt.Fatalf("another order of lists makes another plan (law any order):\n%s\n%s", a, b)
		}
		for _, law := range judge(&l.s, l.c, l.now, first) {
			rt.Errorf("the plan breaks a law: %s", law)
		}
	})
}

func explained(t *rapid.T, l *lab, p api.Plan) {
	w := newWorld(&l.s, l.c, l.now)
	acted := map[string]api.PlanReason{}
	for _, a := range p.Actions {
		for _, h := range a.Hosts {
			acted[h.Name] = a.Reason
		}
	}
	for name, h := range w.hosts {
		e, err := disruption.Explain(context.Background(), &l.s, l.c, l.now, h.Key)
		if err != nil {
			t.Fatalf("Explain of %s: %v", name, err)
		}
		if reason := acted[name]; reason != "" && (!e.Candidate || e.Reason != reason) {
			t.Errorf("host %s has an action for %s, and Explain says %+v", name, reason, e)
		}
		if why := w.outOfBounds(h); why != "" && e.Candidate {
			t.Errorf("Explain calls %s a candidate: %s", name, why)
		}
	}
}

func shuffle[T any](r *rand.Rand, all []T) {
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
}

func mustJSON(t interface{ Fatal(...any) }, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
