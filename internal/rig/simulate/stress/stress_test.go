package stress_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate/stress"
)

// TestF1F4_SmallStormsKeepEveryBound plays the scenarios with fewer hosts and
// slots; hack/stress plays them whole.
func TestF1F4_SmallStormsKeepEveryBound(t *testing.T) {
	for _, c := range []struct {
		via    measure.Via
		storms []string
	}{
		{measure.ViaCheck, []string{"equal", "uneven", "single-short", "pools", "broken", "alone", "old-errors", "troubles", "silence"}},
		{measure.ViaGateway, []string{"single-short", "pools", "broken", "alone", "troubles"}},
	} {
		t.Run(string(c.via), func(t *testing.T) {
			t.Parallel()
			small := slices.DeleteFunc(stress.Small(), func(s stress.Storm) bool { return !slices.Contains(c.storms, s.Name) })
			plan := stress.Plan{Storms: small, Seeds: 1, Via: c.via}
			play(t, plan, len(c.storms))
		})
	}
}

func play(t *testing.T, plan stress.Plan, storms int) {
	cases, err := plan.Play(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	findings := plan.Judge(cases)
	for _, f := range findings {
		if !f.Kept {
			t.Errorf("%s: %s: %v by seed %d, must be %v", f.Storm, f.Bound, f.Worst, f.Seed, f.Limit)
		}
	}
	if len(cases) != storms || len(findings) < 2*len(plan.Storms) {
		t.Errorf("%d storms and %d findings; want %d storms", len(cases), len(findings), storms)
	}
	var out strings.Builder
	if err := plan.Write(&out, cases, findings); err != nil {
		t.Fatal(err)
	}
	if want := "throttle, " + string(plan.Via); !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in\n%s", want, out.String())
	}
}

// TestJudge: the worst seed counts, or the mean where one seed tells nothing.
func TestJudge(t *testing.T) {
	storms, err := stress.Choose([]string{"single", "uneven"})
	if err != nil {
		t.Fatal(err)
	}
	plan := stress.Plan{Storms: storms, Seeds: 2}
	result := func(storm string, seed uint64, use float64, peak int) stress.Case {
		r := simulate.Result{Seed: seed}
		r.Policy, r.Via, r.SlotUse, r.PeakWorking = measure.PolicyThrottle, measure.ViaCheck, use, peak
		return stress.Case{Storm: storm, Result: r}
	}
	findings := plan.Judge([]stress.Case{
		result("single", 1, 0.98, 1), result("single", 2, 0.995, 2),
		result("uneven", 1, 0.98, 20), result("uneven", 2, 0.995, 19),
	})
	got := map[string]bool{}
	for _, f := range findings {
		if f.Via != measure.ViaCheck {
			t.Errorf("%s: found by %s, where nothing was played", f.Storm, f.Via)
		}
		got[f.Storm+": "+strings.Fields(f.Bound)[0]] = f.Kept
	}
	for name, want := range map[string]bool{
		"single: slots": true, "single: F-1:": false, "uneven: slots": false, "uneven: F-1:": true,
	} {
		if got[name] != want {
			t.Errorf("%s kept: %v, want %v", name, got[name], want)
		}
	}
}

func TestChoose(t *testing.T) {
	storms, err := stress.Choose([]string{"old-errors"})
	if err != nil || len(storms) != 2 || storms[0].Name != "equal" {
		t.Errorf("chosen %v, %v: want old-errors and what it is compared with", storms, err)
	}
	if _, err := stress.Choose([]string{"nope"}); err == nil || !strings.Contains(err.Error(), `"nope": must be one of [large`) {
		t.Errorf("error %v", err)
	}
}
