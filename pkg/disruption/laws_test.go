package disruption_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
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

// TestNoPlanOfARandomClusterBreaksALaw has the plans of states with all features judged. They hold 15 s later, are made
// again byte for byte, and Explain knows of them.
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
		before := mustJSON(t, l.s)
		if again := planned(t, &l.s, l.c, l.now); !bytes.Equal(mustJSON(t, p), mustJSON(t, again)) || !bytes.Equal(before, mustJSON(t, l.s)) {
			broken = append(broken, "the same state makes another plan, or Plan changed the state (law same plan)")
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

// fewCandidates is how many few are.
const fewCandidates = 10

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
// compares what that saves with the best set of hosts that the laws allow.
func TestPlansSaveWhatBruteForceDoes(t *testing.T) {
	for name, row := range map[string]struct {
		cases uint64
		lab   func(seed uint64) *lab
		few   bool
		share float64 // that plans save, of what can be saved
	}{
		"few":  {cases(), func(seed uint64) *lab { return mixed(seed, true) }, true, 0.95},
		"many": {max(cases()/6, 40), func(seed uint64) *lab { return wider(seed, fewCandidates+2) }, false, 0.85},
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
			}
			t.Logf("%d clusters, %.2f %% of the best saving; %d were given up", compared, 100*all/best, undecided)
			if compared == 0 || all < row.share*best {
				t.Errorf("in %d clusters plans save %.2f of %.2f", compared, all, best)
			}
		})
	}
}

// TestPlacementsHoldAndNoneIsMissed lets one host go, and compares what becomes of its pods with all that could: they go to
// other nodes, or to a new one where those are not enough, or brute force finds no place for them either. A pod with a
// spread may be missed at times.
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
		if free := !slices.ContainsFunc(l.s.Pods, func(p disruption.Pod) bool { return len(p.Spread) > 0 }); got != want && !b.undecided {
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

func mustJSON(t interface{ Fatal(...any) }, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
