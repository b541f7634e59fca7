package budget

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	for text, want := range map[string]List{
		"10%":                                 {{Nodes: "10%"}},
		" 10% , 3,ready:2 ":                   {{Nodes: "10%"}, {Nodes: "3"}, {MinReady: "2"}},
		"0%,1000000":                          {{Nodes: "0%"}, {Nodes: "1000000"}},
		`[{"minReady":"50%"},{"nodes":"0"}]`:  {{MinReady: "50%"}, {Nodes: "0"}},
		` [{"nodes":"1","reasons":[]}] `:      {{Nodes: "1", Reasons: []api.PlanReason{}}},
		strings.Repeat("1,", maxList-1) + "1": append(make(List, 0, maxList), filled(maxList)...),
		`[{"nodes":"0","schedule":"@daily","duration":"1h30m","reasons":["Drifted","Empty"]}]`: {
			{Nodes: "0", Schedule: "@daily", Duration: "1h30m", Reasons: []api.PlanReason{api.PlanDrifted, api.PlanEmpty}},
		},
	} {
		got, err := Parse(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, %s", text, err, diff)
		}
	}
}

func filled(n int) (l List) {
	for range n {
		l = append(l, Budget{Nodes: "1"})
	}
	return l
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	timed := func(schedule, duration string) string {
		return `[{"nodes":"1","schedule":"` + schedule + `","duration":"` + duration + `"}]`
	}
	for text, want := range map[string]string{
		"": "nodes or minReady", ",": "nodes or minReady", "10%,": "nodes or minReady", "ready:": "nodes or minReady", "[null]": "nodes or minReady",
		`[{"nodes":"1","minReady":"1"}]`: "not both",
		"101%":                           `"101%" is none`, "-1": `"-1" is none`, "1.5": `"1.5" is none`, "+1": `"+1" is none`, "null": `"null" is none`, "ready:-1": `"-1" is none`,
		"1000001": `is none`, "%": `is none`, "99999999999999999999": `is none`,
		"[]": "must hold 1..32 budgets, not 0", strings.Repeat("1,", maxList) + "1": "must hold 1..32 budgets, not 33", strings.Repeat("1", maxText+1): "8192 bytes",
		"[": "must be a JSON list", "[] x": "must be a JSON list", `[{"nodes":1}]`: "must be a JSON list", `[{"Nodes":"1"}]`: "must be a JSON list",
		`[{"nodes":"1","node":"2"}]`: "must be a JSON list", `[{"nodes":"1","nodes":"2"}]`: "must be a JSON list",
		`[{"nodes":"1","reasons":["empty"]}]`: "must name reasons",
		timed("0 8 * * *", ""):                "or none of both", timed("", "1h"): "or none of both",
		timed("0 8 * *", "1h"): "cron expressions in UTC", timed("61 8 * * *", "1h"): "cron expressions in UTC", timed("TZ=", "1h"): "a time zone",
		timed("CRON_TZ=UTC 0 8 * * *", "1h"): "a time zone", timed("@every 1h", "1h"): "no times of the day",
		timed(strings.Repeat("1,", 140)+"1 * * * *", "1h"): "longer than 256 bytes",
		timed("@daily", "-1h"):                             `"-1h" is none`, timed("@daily", "0s"): `"0s" is none`, timed("@daily", "9999999h"): `is none`, timed("@daily", "Never"): `is none`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
}

// read is Parse of what can be read.
func read(t *testing.T, text string) List {
	t.Helper()
	l, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestRoom(t *testing.T) {
	const all = math.MaxInt
	for _, row := range []struct {
		text         string
		pool         Pool
		hosts, ready int
	}{
		{"10%", Pool{Size: 10, Ready: 10}, 1, 9}, {"10%", Pool{Size: 11, Ready: 11}, 2, 10}, {"10%", Pool{Size: 1, Ready: 1}, 1, 0}, {"10%", Pool{}, 0, -1},
		{"0", Pool{Size: 10, Ready: 10}, 0, 9}, {"0%", Pool{Size: 10, Ready: 10}, 0, 9}, {"100%", Pool{Size: 3, Ready: 3}, 3, 2}, {"1%", Pool{Size: 101, Ready: 9}, 2, 8},
		{"3", Pool{Size: 10, Ready: 8, Busy: 2}, 1, 7}, {"3", Pool{Size: 10, Ready: 4, Busy: 6}, 0, 3},
		{"3,20%", Pool{Size: 10, Ready: 10}, 2, 9}, {"3,ready:9", Pool{Size: 10, Ready: 10}, 3, 1}, {"3,ready:2,ready:50%", Pool{Size: 9, Ready: 9}, 3, 4},
		{"3,ready:0", Pool{Size: 10, Ready: 10}, 3, 10}, {"ready:2", Pool{Size: 30, Ready: 30}, 3, 28},
		{`[{"nodes":"3"},{"nodes":"1","reasons":["Drifted"]}]`, Pool{Size: 10, Ready: 10}, 3, 9},
		{`[{"nodes":"3"},{"nodes":"1","reasons":["Empty"]}]`, Pool{Size: 10, Ready: 10}, 1, 9},
		{`[{"nodes":"1","schedule":"@yearly","duration":"1h"}]`, Pool{Size: 10, Ready: 10}, all, 9},
		{`[{"minReady":"0","schedule":"@daily","duration":"24h"}]`, Pool{Size: 10, Ready: 10}, 1, 9}, // one stays: that is no number for always
		{`[{"minReady":"8","reasons":["Drifted"]},{"minReady":"4","reasons":["Empty"]}]`, Pool{Size: 10, Ready: 10}, 1, 6},
		{`[{"nodes":"0","schedule":"0 0 31 2 *","duration":"1h"}]`, Pool{Size: 10, Ready: 10}, all, 9}, // it never comes
	} {
		if r := read(t, row.text).Room(row.pool, api.PlanEmpty, noon); r.Hosts != row.hosts || r.Ready != row.ready {
			t.Errorf("%s of %+v: %+v, want %d and %d", row.text, row.pool, r, row.hosts, row.ready)
		}
	}
	if r := (List)(nil).Room(Pool{Size: 20, Ready: 20}, api.PlanEmpty, noon); r.Hosts != 2 || r.Ready != 19 {
		t.Errorf("no budgets: %+v", r)
	}
	for _, b := range []Budget{{Nodes: "some"}, {Nodes: "5", Schedule: "0 0 * * tue-mon", Duration: "6h"}, {Nodes: "1", Schedule: "@daily"}, {Nodes: "9", Reasons: []api.PlanReason{"Bored"}}, {}} {
		if r := (List{{Nodes: "5"}, b}).Room(Pool{Size: 10, Ready: 10}, api.PlanEmpty, noon); r.Hosts != 0 || !strings.Contains(r.Why, "cannot be read") {
			t.Errorf("%+v cannot be read: %+v", b, r)
		}
	}
}

// TestASchedule has times of Karpenter's page and of its nodepool_budgets_test too. 22 November 2026 is a Sunday.
func TestASchedule(t *testing.T) {
	day, far := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), time.FixedZone("far", -5*3600)
	for _, row := range []struct {
		schedule, duration string
		now                time.Time
		active             bool
	}{
		{"0 9 * * *", "8h", day.Add(9*time.Hour - 1), false},
		{"0 9 * * *", "8h", day.Add(9 * time.Hour), true},
		{"0 9 * * *", "8h", day.Add(17*time.Hour - 1), true},
		{"0 9 * * *", "8h", day.Add(17 * time.Hour), false},
		{"@daily", "30m", day.Add(15 * time.Minute).In(far), true}, // UTC, whatever the zone of now
		{"@daily", "30m", time.Date(2026, 11, 22, 0, 0, 0, 0, far), false},
		{"@yearly", "24h", time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), true},
		{"@daily", "48h", day.Add(13 * time.Hour), true}, // longer than the recurrence
		{"30 6 * * SUN", "6h", day.Add(12*time.Hour + 29*time.Minute), true},
		{"30 6 * * SUN", "6h", day.Add(13 * time.Hour), false},
	} {
		l := List{{Nodes: "0", Schedule: row.schedule, Duration: row.duration, Reasons: []api.PlanReason{api.PlanEmpty}}}
		if r := l.Room(Pool{Size: 10}, api.PlanEmpty, row.now); (r.Hosts == 0) != row.active || r.Never {
			t.Errorf("%+v: %+v", row, r)
		}
		if r := l.Room(Pool{Size: 10}, api.PlanDrifted, row.now); r.Hosts == 0 {
			t.Errorf("%+v: it bounds other reasons", row)
		}
	}
}

func TestWhatIsSaid(t *testing.T) {
	for text, want := range map[string]Room{
		"25%,ready:50%": {Hosts: 2, Ready: 3, Why: "25% of 10, and 1 of its hosts are not Ready, missing, too many, or being disrupted", WhyReady: "50% of 10"},
		"1,10%,0":       {Hosts: 0, Ready: 7, Why: "0, and 1 of its hosts are not Ready, missing, too many, or being disrupted", WhyReady: "1"},
		`[{"nodes":"0","schedule":"0 12 * * *","duration":"8h"},{"nodes":"0","reasons":["Drifted"]}]`: {
			Hosts: 0, Ready: 7, Why: `0 in "0 12 * * *" for 8h, and 1 of its hosts are not Ready, missing, too many, or being disrupted`, WhyReady: "1",
		},
	} {
		if diff := cmp.Diff(want, read(t, text).Room(Pool{Size: 10, Ready: 8, Busy: 1}, api.PlanEmpty, noon)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	never := read(t, `[{"nodes":"9"},{"nodes":"0%","reasons":["Underutilized"]}]`)
	for reason, want := range map[api.PlanReason]bool{api.PlanUnderutilized: true, api.PlanEmpty: false} {
		if r := never.Room(Pool{Size: 10}, reason, noon); r.Never != want {
			t.Errorf("%s: %+v", reason, r)
		}
	}
	for _, text := range []string{"10%,1", "1,10%"} {
		if r := read(t, text).Room(Pool{Size: 10, Ready: 10}, api.PlanEmpty, noon); r.Why != "1" {
			t.Errorf("%s: of two that leave the same, %q is named", text, r.Why)
		}
	}
}

func FuzzBudget(f *testing.F) {
	for _, s := range []string{"10%,3,ready:2", `[{"nodes":"0","schedule":"0 9 * * 1-5","duration":"8h"}]`, `[{"minReady":"1","schedule":"TZ=","duration":"1h"}]`, "0 0 31 2 *"} {
		f.Add(s, 10, 3)
	}
	f.Fuzz(func(t *testing.T, text string, hosts, busy int) {
		l, err := Parse(text)
		if err != nil {
			return
		}
		p := Pool{Size: hosts & maxHosts, Ready: hosts & maxHosts, Busy: busy & maxHosts}
		if r := l.Room(p, api.PlanEmpty, noon); r.Hosts < 0 || r.Ready > p.Ready || r.Never && r.Hosts != 0 {
			t.Errorf("%s of %+v: %+v", text, p, r)
		}
	})
}
