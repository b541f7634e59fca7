package disruption_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

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
	t.Errorf("seed %d: the plan breaks\n%s\n%s", seed, strings.Join(broken, "\n"), mustJSON(t, p))
	if testing.Verbose() {
		t.Logf("%s", mustJSON(t, l.s))
	}
}

// TestNoPlanOfARandomClusterBreaksALaw has the plans of states with all features judged. They hold 15 s later, are the same
// byte for byte whatever the order of lists, and Explain knows of them.
func TestNoPlanOfARandomClusterBreaksALaw(t *testing.T) {
	made, failed, replaced := map[api.PlanMethod]int{}, 0, 0
	for seed := *planSeed; seed < *planSeed+cases() && failed < 5; seed++ {
		l := mixed(seed, false)
		p := planned(t, &l.s, l.c, l.now)
		made[p.Method]++
		if slices.ContainsFunc(p.Actions, func(a api.PlanAction) bool { return a.Replacement != nil }) {
			replaced++
		}
		broken := judge(&l.s, l.c, l.now, p)
		earlier := p // as if it had been made 15 s before
		earlier.MadeAt, earlier.ExecuteAfter = l.now.Add(-disruption.ValidateAfter), l.now
		if err := disruption.Validate(t.Context(), earlier, &l.s, l.c, l.now); err != nil && p.Blocked == "" {
			broken = append(broken, "it does not hold though nothing has changed (law age): "+err.Error())
		}
		if seed%4 == 0 {
			broken = append(broken, l.explained(t, p)...)
		}
		r := rand.New(rand.NewPCG(seed, 2))
		shuffle(r, l.s.Hosts)
		shuffle(r, l.s.Nodes)
		shuffle(r, l.s.Pods)
		shuffle(r, l.s.Pools)
		shuffle(r, l.s.Budgets)
		before := mustJSON(t, l.s)
		if again := planned(t, &l.s, l.c, l.now); !bytes.Equal(mustJSON(t, p), mustJSON(t, again)) || !bytes.Equal(before, mustJSON(t, l.s)) {
			broken = append(broken, "another order of lists makes another plan, or Plan changed the state (law any order)")
		}
		if len(broken) > 0 {
			show(t, seed, l, p, broken)
			failed++
		}
	}
	t.Logf("plans by method: %v, of them %d with a replacement", made, replaced)
	if cases() >= 1000 && (replaced == 0 || len(made) <= len(reasons)) {
		t.Errorf("plans by method: %v, of them %d with a replacement", made, replaced)
	}
}

// explained says where Explain calls a host with an action no candidate, or one that no law lets go.
func (l *lab) explained(t *testing.T, p api.Plan) (broken []string) {
	t.Helper()
	acts := released(p)
	for name, h := range newWorld(&l.s, l.c, l.now).hosts {
		e := l.explain(t, h.Name)
		if !e.Candidate && slices.Contains(acts, name) || e.Candidate && newWorld(&l.s, l.c, l.now).outOfBounds(h) != "" {
			broken = append(broken, fmt.Sprintf("of host %s, which is in %q, Explain says %+v", name, acts, e))
		}
	}
	return broken
}

// share is the part of what brute force saves by the laws that plans save.
const share = 0.95

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
// compares what that saves with the best set of hosts that the laws allow. Where candidates are few that holds of each
// cluster, where they are more of all together.
func TestPlansSaveWhatBruteForceDoes(t *testing.T) {
	for name, row := range map[string]struct {
		cases uint64
		lab   func(seed uint64) *lab
		few   bool
	}{
		"few":  {cases(), func(seed uint64) *lab { return mixed(seed, true) }, true},
		"many": {max(cases()/6, 40), func(seed uint64) *lab { return wider(seed, fewCandidates+2) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			compared, undecided, all, best := 0, 0, 0.0, 0.0
			for seed := *planSeed; seed < *planSeed+row.cases && !t.Failed(); seed++ {
				l := row.lab(seed)
				b := newBrute(l)
				if row.few != (len(b.candidates) <= fewCandidates) {
					continue
				}
				if b.search(); b.undecided {
					undecided++
					continue
				}
				saved, ok := carriedOut(t, seed, l)
				if !ok {
					return
				}
				compared, all, best = compared+1, all+min(saved, b.best), best+b.best
				if row.few && saved < share*b.best-1e-9 {
					t.Errorf("seed %d: plans save %.3f, and %.3f can be saved", seed, saved, b.best)
				}
			}
			t.Logf("%d clusters, %.2f %% of the best saving; %d were given up", compared, 100*all/best, undecided)
			if compared == 0 || all < share*best {
				t.Errorf("in %d clusters plans save %.2f of %.2f", compared, all, best)
			}
		})
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
		b := newBrute(l)
		if len(b.candidates) == 0 {
			continue
		}
		want, spare := api.PlanDecision(stays), l.s.Hosts[len(l.s.Hosts)-1]
		if b.feasible(b.candidates, nil) {
			want = release
		} else if spare.Node == "" {
			if b.feasible(b.candidates, &spare) {
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
