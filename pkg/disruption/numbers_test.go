package disruption_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// TestBounds of empty hosts: so many go, and the next one stays for a reason. It has the example of Karpenter's page with
// three budgets, and rows of its suite_test's BuildDisruptionBudgetMapping.
func TestBounds(t *testing.T) {
	const example = `[{"nodes":"20%","reasons":["Empty","Drifted"]},{"nodes":"5"},` +
		`{"nodes":"0","schedule":"@daily","duration":"10m","reasons":["Underutilized"]},{"minReady":"0"}]`
	const pool = "MachineDeployment metal3/p-0"
	unready := func(n int) func(l *lab) {
		return func(l *lab) {
			for i := 10 - n; i < 10; i++ {
				l.s.Nodes[i].Ready = false
			}
		}
	}
	more := func(n int) func(l *lab) {
		return func(l *lab) {
			for range n {
				l.host()
			}
			l.s.Pools[0].Replicas += n
		}
	}
	own := func(text string) func(l *lab) { return func(l *lab) { l.s.Pools[0].Budgets = bounds(text) } }
	wanted := func(n int) func(l *lab) { return func(l *lab) { l.s.Pools[0].Replicas = n } }
	for _, row := range []struct {
		name    string
		budgets string
		change  func(l *lab)
		want    int
		why     string
	}{
		{"page: 19 nodes, 20% rounded up from 3.8", example, more(9), 4, ""},
		{"page: a ceiling of 5 for more than 25 nodes", example, more(20), 5, "(budget 5)"},
		{"nodes of none of our pools do not count", "100%,ready:0", func(l *lab) { l.s.Nodes = append(l.s.Nodes, at("other")) }, 10, ""},
		{"two that are deleted", "100%,ready:0", func(l *lab) { l.s.Hosts[0].Machine.Deleting, l.s.Hosts[1].Machine.Marked = true, true }, 8, ""},
		{"no negative value", "10%,ready:0", unready(9), 0, ""},
		{"each pool has its own", "2,ready:0", func(l *lab) { l.pool("q-0", 0, 1, 2); l.pool("q-1", 3, 4, 5) }, 6, ""},
		{"all serve", "3,ready:0", func(*lab) {}, 3, pool + ": 3 more may be disrupted (budget 3)"},
		{"one is not Ready", "3,ready:0", unready(1), 2, "(budget 3, and 1 of its hosts are not Ready, missing, too many, or being disrupted)"},
		{"one has no Node yet", "3,ready:0", func(l *lab) { l.s.Hosts[9].Node = "" }, 2, ""},
		{"one is wanted and missing", "3,ready:0", wanted(11), 2, ""},
		{"nine stay Ready", "3,ready:9", func(*lab) {}, 1, pool + ": 8 of its Ready hosts would stay (budget ready:9)"},
		{"all of the pool stay Ready", "1", own("3,ready:100%"), 0, "9 of its Ready hosts would stay (budget ready:100% of 10)"},
		{"two are too many: they count as gone", "3", wanted(8), 1, ""},
		{"and are none of those that stay", "100%,ready:7", wanted(8), 1, "6 of its Ready hosts would stay"},
		{"never more than it wants", "100,ready:0", wanted(2), 2, pool + " wants 2 hosts, and no more can be taken from it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLab(10)
			if l.c.Budgets = nil; row.budgets != "" {
				l.c.Budgets = bounds(row.budgets)
			}
			row.change(l)
			p := l.plan(t)
			if len(p.Actions) != row.want || row.why != "" && (len(p.Later) == 0 || !strings.Contains(p.Later[0].Note, row.why)) {
				t.Errorf("%d hosts go: %+v", len(p.Actions), p.Later)
			}
		})
	}
}

// TestHold: what holds everything up.
func TestHold(t *testing.T) {
	for want, throttle := range map[string]disruption.Throttle{
		"": {Limit: 20},
		"hosts that are not planned wait for slots: 3; nothing is carried out before they have them": {Waiting: 3},
		"how Ironic stands is not known: its nodes were not read recently":                           {Stale: true, Waiting: 3},
		"the breaker is not CLOSED: a, ironic":                                                       {OpenBreakers: []string{"ironic", "a"}, Waiting: 3},
		"the breaker is not CLOSED: a, b, c, d, e, f":                                                {OpenBreakers: []string{"f", "e", "d", "c", "b", "a"}},
		"paused: rack-1": {PausedGroups: []string{"rack-1"}},
		"the limit is 1: planned work leaves a slot free for others, so it never starts": {Limit: 1},
	} {
		l := newLab(2)
		l.s.Throttle = throttle
		blind := throttle.Stale || throttle.OpenBreakers != nil || throttle.PausedGroups != nil
		if p := l.plan(t); throttle.Hold() != want || p.Blocked != want || (len(p.Actions) == 0) != blind {
			t.Errorf("%q, blocked %q with %q; want %q", throttle.Hold(), p.Blocked, told(p), want)
		}
	}
}

// TestPrices: what a host costs, and what its release saves by what the plan itself does.
func TestPrices(t *testing.T) {
	for name, row := range map[string]struct {
		tariff float64 // 0: none
		price  disruption.Price
		cost   string // "" = not known
		saves  float64
		words  string
	}{
		"watts and tariff":      {0.25, watts(400), "0.1", 0.1, "power off saves 0.1 an hour (400 W)"},
		"watts without tariff":  {0, watts(400), "", 0, "watts have no price without a tariff"},
		"nothing":               {0.25, disruption.Price{}, "", 0, "watts-busy is not set"},
		"zero":                  {0.25, watts(0), "0", 0, "power off saves nothing"},
		"next to nothing":       {1, watts(1e-300), "", 0, "power off saves nothing"},
		"little, and it counts": {1, watts(1e-5), "1e-08", 1e-8, "power off saves 1e-08 an hour (1e-05 W)"},
	} {
		l := used("1", "1")
		l.s.Pods[1].DoNotDisrupt = true
		l.s.Hosts[0].Price = row.price
		if l.c.TariffPerKWh = nil; row.tariff > 0 {
			l.c.TariffPerKWh = &row.tariff
		}
		said := map[string]string{}
		for _, c := range l.explain(t, "h-0").Conditions {
			said[c.Type] = c.Message
		}
		if row.cost != "" && said["Price"] != fmt.Sprintf("it costs %s an hour", row.cost) || !strings.Contains(said["Saving"], row.words) {
			t.Errorf("%s: %q; %q", name, said["Price"], said["Saving"])
		}
		p := l.plan(t)
		if (len(p.Actions) == 1) != (row.saves > 0) || row.saves > 0 && math.Abs(p.Actions[0].SavingPerHour-row.saves) > 1e-12 {
			t.Errorf("%s: %+v", name, p.Actions)
			continue
		}
		if row.saves > 0 && !p.Actions[0].Hosts[0].PowerOff {
			t.Errorf("%s: %+v", name, p.Actions)
		}
	}
}

// TestNumbersOfActions: slot-minutes, what is saved an hour, and after how many minutes that has paid.
func TestNumbersOfActions(t *testing.T) {
	for name, row := range map[string]struct {
		lab             *lab
		minutes         float64
		saving, payback float64
		evidence        string // the last one
	}{
		"empty":             {newLab(1), 20, 0.1, 20, "no pod came or went for 24h0m0s, and consolidateAfter is 30s"},
		"replaced":          {used("6"), 40, 0.075, 33.333333, "look that it took metal3/s-1 before anything is drained"},
		"several":           {used("1", "1", "6"), 40, 0.2, 20, "metal3/h-1: no pod came or went"},
		"of unknown length": {newLab(1), 30, 0.1, 30, ""},
	} {
		l := row.lab
		if len(l.s.Pods) == 1 {
			l.spare(100)
			l.spare(150)
		}
		if name == "of unknown length" {
			l.s.Throttle.SlotMinutes = 0
		}
		a := l.plan(t).Actions[0]
		round := func(x float64) float64 { return math.Round(x*1e6) / 1e6 }
		got := []float64{a.SlotMinutes, round(a.SavingPerHour), round(*a.PaybackHours * 60)}
		if diff := cmp.Diff([]float64{row.minutes, row.saving, row.payback}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(a.ID) != 16 || !strings.Contains(a.Evidence[len(a.Evidence)-1], row.evidence) {
			t.Errorf("%s: %q: %q", name, a.ID, a.Evidence)
		}
	}
}
