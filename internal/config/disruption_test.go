package config

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDC1_WithoutSettingsNothingIsPlannedAndNothingConsolidated(t *testing.T) {
	c, warnings, err := load(t)
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	want := Disruption{Mode: DisruptionOff, ConsolidateAfter: Never, Policy: WhenEmptyOrUnderutilized, Budgets: "10%", MinReady: 1, MaxPayback: longSpan(day)}
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
		{"policy", with("POLICY", "WhenUnderutilized"), "must be one of WhenEmpty, WhenEmptyOrUnderutilized"},
		{"ready", with("MIN_READY", "-1"), "must be a whole number 0..100000"},
		{"free", with("TARIFF", "0"), ""},
		{"price", with("TARIFF", "0.285"), ""},
		{"negative price", with("TARIFF", "-0.1"), "must be a number 0..1000000000"},
		{"no number", with("TARIFF", "NaN"), "must be a number 0..1000000000"},
		{"without end", with("TARIFF", "Inf"), "must be a number 0..1000000000"},
		{"too many digits", with("TARIFF", strings.Repeat("9", 400)), "must be a number 0..1000000000"},
		{"no payback", with("MAX_PAYBACK", "0"), "must be a duration with its unit, 1s"},
		{"label", with("POOL_LABEL", "example.org/pool"), ""},
		{"short label", with("POOL_LABEL", "pool"), ""},
		{"label with a value", with("POOL_LABEL", "pool=a"), "must be the key of a label"},
		{"two slashes", with("POOL_LABEL", "a/b/c"), "must be the key of a label"},
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

func TestDC21_BudgetsThatCannotBeReadAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                "", // as unset
		"10%":             "",
		" 10% , 3 ":       "",
		"0":               "",
		"0%":              "",
		`[{"nodes":"1"}]`: "",
		`[{"nodes":"0","schedule":"@daily","duration":"1h30m","reasons":["Drifted"]}]`: "",
		",":                                      `is none`,
		"10%,":                                   `is none`,
		"101%":                                   `"101%" is none`,
		"-1":                                     `"-1" is none`,
		"1.5":                                    `"1.5" is none`,
		"+1":                                     `"+1" is none`,
		"[]":                                     "must hold 1..50 budgets, not 0",
		"null":                                   `"null" is none`,
		"[null]":                                 `and "" is none`,
		"[":                                      "must be a JSON list",
		`[{"nodes":"1"}]x`:                       "must be a JSON list",
		`[{"nodes":1}]`:                          "must be a JSON list",
		`[{"nodes":"1","node":"2"}]`:             "unknown field",
		`[{"nodes":"1","nodes":"2"}]`:            "must be a JSON list",
		`[{"nodes":"1","schedule":"0 8 * * *"}]`: "schedule and duration, or none of both",
		`[{"nodes":"1","duration":"1h"}]`:        "schedule and duration, or none of both",
		`[{"nodes":"1","schedule":"0 8 * *","duration":"1h"}]`:               "must give schedules as cron expressions in UTC",
		`[{"nodes":"1","schedule":"61 8 * * *","duration":"1h"}]`:            "must give schedules as cron expressions in UTC",
		`[{"nodes":"1","schedule":"TZ=","duration":"1h"}]`:                   "it has a time zone",
		`[{"nodes":"1","schedule":"CRON_TZ=UTC 0 8 * * *","duration":"1h"}]`: "it has a time zone",
		`[{"nodes":"1","schedule":"@every 1h","duration":"1h"}]`:             "@every has no times of the day",
		`[{"nodes":"1","schedule":"0 8 * * *","duration":"-1h"}]`:            `"-1h" is none`,
		`[{"nodes":"1","schedule":"0 8 * * *","duration":"0s"}]`:             `"0s" is none`,
		`[{"nodes":"1","schedule":"0 8 * * *","duration":"9999999h"}]`:       `"9999999h" is none`,
		`[{"nodes":"1","reasons":["empty"]}]`:                                "must name reasons of Empty, Drifted, Underutilized, Unclaimed",
		`[{"nodes":"1","reasons":["Empty","Empty"]}]`:                        "comes twice",
		strings.Repeat("1,", 50) + "1":                                       "must hold 1..50 budgets, not 51",
	} {
		t.Run(text, func(t *testing.T) {
			wantFault(t, []string{ours("KUBERNETES", "on"), ours("DISRUPTION", "plan"), ours("DISRUPTION_BUDGETS", text)}, want)
		})
	}
}

func TestBudgetsAreRead(t *testing.T) {
	c, _, err := load(t, ours("KUBERNETES", "on"), ours("DISRUPTION", "plan"), ours("DISRUPTION_TARIFF", "0.28"), ours("DISRUPTION_CONSOLIDATE_AFTER", "90m"),
		ours("DISRUPTION_BUDGETS", ` [ {"nodes":"10%"}, {"nodes":"0", "schedule":"0 8 * * 1-5", "duration":"600m", "reasons":["Underutilized","Drifted"]} ]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Budget{{Nodes: "10%"}, {Nodes: "0", Schedule: "0 8 * * 1-5", Duration: 10 * time.Hour, Reasons: []string{"Underutilized", "Drifted"}}}
	if diff := cmp.Diff(want, c.Disruption.Budgets.List()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if price := c.Disruption.PerKWh(); price == nil || math.Abs(*price-0.28) > 1e-12 {
		t.Errorf("price %v", price)
	}
	texts := c.Effective()
	const shown = `[{"nodes":"10%"},{"nodes":"0","schedule":"0 8 * * 1-5","duration":"10h","reasons":["Underutilized","Drifted"]}]`
	if texts["disruptionBudgets"] != shown || texts["disruptionConsolidateAfter"] != "1h30m" {
		t.Errorf("%q", texts)
	}
	if list := budgetList("10%,3").List(); len(list) != 2 || list[1].Nodes != "3" {
		t.Errorf("%+v", list)
	}
}

func TestSettingsOfPlannedWorkThatDoNothing(t *testing.T) {
	_, warnings, err := load(t, ours("DISRUPTION_TARIFF", "0.3"), ours("DISRUPTION_MIN_READY", "2"))
	want := []string{"with IRONIC_THROTTLE_DISRUPTION=off nothing is planned; without effect: " +
		"IRONIC_THROTTLE_DISRUPTION_MIN_READY (environment), IRONIC_THROTTLE_DISRUPTION_TARIFF (environment)"}
	if diff := cmp.Diff(want, warnings); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// holdsDisruption fails unless what Load let pass can be planned with.
func holdsDisruption(t *testing.T, d Disruption) {
	t.Helper()
	if d.ConsolidateAfter < Never || d.MaxPayback < Never || d.MaxPayback == 0 || d.MinReady < 0 || d.On() && d.Mode == DisruptionOff {
		t.Errorf("planned work %+v", d)
	}
	if price := d.PerKWh(); price != nil && !(*price >= 0 && *price <= maxPrice) || price == nil && d.Tariff != "" {
		t.Errorf("tariff %q", d.Tariff)
	}
	list := d.Budgets.List()
	if len(list) == 0 || len(list) > maxBudgets {
		t.Errorf("budgets %q", d.Budgets)
	}
	for _, b := range list {
		if b.check() != nil || b.Duration < 0 {
			t.Errorf("budget %+v", b)
		}
	}
}
