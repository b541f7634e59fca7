package config

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

func TestWithoutSettingsNothingIsPlannedAndNothingConsolidated(t *testing.T) {
	c, warnings, err := load(t)
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	want := Disruption{Mode: DisruptionOff, ConsolidateAfter: Never, Budgets: "10%,ready:1"}
	if diff := cmp.Diff(want, c.Disruption); diff != "" || c.Disruption.On() || c.Disruption.PerKWh() != nil {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRulesOfPlannedWork(t *testing.T) {
	on, plan := ours("KUBERNETES", "on"), ours("DISRUPTION", "plan")
	with := func(name, text string) []string { return []string{on, plan, ours("DISRUPTION_"+name, text)} }
	for _, row := range []struct {
		name string
		env  []string
		want string // in the error, "" = good
	}{
		{"plan", []string{on, plan}, ""},
		{"execute", []string{on, ours("DISRUPTION", "execute")}, ""},
		{"plan while nothing is refused", []string{on, plan, ours("MODE", "observe")}, ""},
		{"execute while nothing is refused", []string{on, ours("DISRUPTION", "execute"), ours("MODE", "observe")}, ""},
		{"plan without a cluster", []string{plan}, "needs IRONIC_THROTTLE_KUBERNETES=on"},
		{"execute without a cluster", []string{ours("DISRUPTION", "execute")}, "needs IRONIC_THROTTLE_KUBERNETES=on"},
		{"another mode", []string{on, ours("DISRUPTION", "dry-run")}, "must be one of off, plan, execute"},
		{"at once", with("CONSOLIDATE_AFTER", "0s"), ""},
		{"never", with("CONSOLIDATE_AFTER", "never"), ""},
		{"no unit", with("CONSOLIDATE_AFTER", "30"), "or Never"},
		{"before", with("CONSOLIDATE_AFTER", "-1ns"), "or Never"},
		{"beyond", with("CONSOLIDATE_AFTER", "99999999h"), "must be a duration of at most"},
		{"budgets", with("BUDGETS", " 10%, 3,ready:1 "), ""},
		{"none", with("BUDGETS", ""), ""},
		{"no number", with("BUDGETS", "101%"), `"101%" is none`},
		{"half a schedule", with("BUDGETS", `[{"nodes":"1","schedule":"@daily"}]`), "schedule and duration, or none of both"},
		{"free", with("TARIFF", "0"), ""},
		{"price", with("TARIFF", "0.285"), ""},
		{"negative price", with("TARIFF", "-0.1"), "must be a number 0..1000000000"},
		{"no number", with("TARIFF", "NaN"), "must be a number 0..1000000000"},
		{"without end", with("TARIFF", "Inf"), "must be a number 0..1000000000"},
		{"too many digits", with("TARIFF", strings.Repeat("9", 400)), "must be a number 0..1000000000"},
	} {
		t.Run(row.name, func(t *testing.T) { wantFault(t, row.env, row.want) })
	}
}

func wantFault(t *testing.T, env []string, want string) {
	t.Helper()
	_, _, err := load(t, env...)
	switch {
	case want == "" && err != nil:
		t.Error(err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestBudgetsAreRead(t *testing.T) {
	const text = `[{"nodes":"10%"},{"nodes":"0","schedule":"0 8 * * 1-5","duration":"10h","reasons":["Underutilized","Drifted"]}]`
	c, _, err := load(t, ours("KUBERNETES", "on"), ours("DISRUPTION", "plan"), ours("DISRUPTION_TARIFF", "0.28"), ours("DISRUPTION_CONSOLIDATE_AFTER", "90m"),
		ours("DISRUPTION_BUDGETS", " "+text))
	if err != nil {
		t.Fatal(err)
	}
	want := budget.List{{Nodes: "10%"}, {Nodes: "0", Schedule: "0 8 * * 1-5", Duration: "10h", Reasons: []api.PlanReason{api.PlanUnderutilized, api.PlanDrifted}}}
	if diff := cmp.Diff(want, c.Disruption.Budgets.List()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if price := c.Disruption.PerKWh(); price == nil || math.Abs(*price-0.28) > 1e-12 {
		t.Errorf("price %v", price)
	}
	if texts := c.Effective(); texts["disruptionBudgets"] != text || texts["disruptionConsolidateAfter"] != "1h30m" {
		t.Errorf("%q", texts)
	}
}

func TestSettingsOfPlannedWorkThatDoNothing(t *testing.T) {
	_, warnings, err := load(t, ours("DISRUPTION_TARIFF", "0.3"), ours("DISRUPTION_BUDGETS", "2"))
	want := []string{"with IRONIC_THROTTLE_DISRUPTION=off nothing is planned; without effect: " +
		"IRONIC_THROTTLE_DISRUPTION_BUDGETS (environment), IRONIC_THROTTLE_DISRUPTION_TARIFF (environment)"}
	if diff := cmp.Diff(want, warnings); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// holdsDisruption fails unless what Load let pass can be planned with.
func holdsDisruption(t *testing.T, d Disruption) {
	t.Helper()
	if d.ConsolidateAfter < Never || d.On() && d.Mode == DisruptionOff {
		t.Errorf("planned work %+v", d)
	}
	if price := d.PerKWh(); price != nil && !(*price >= 0 && *price <= maxPrice) || price == nil && d.Tariff != "" {
		t.Errorf("tariff %q", d.Tariff)
	}
	if _, err := budget.Parse(string(d.Budgets)); err != nil {
		t.Errorf("budgets %q: %v", d.Budgets, err)
	}
}
