package disruption

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// bounds are budgets that can be read.
func bounds(t *testing.T, text string) budget.List {
	t.Helper()
	l, err := budget.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestBounds of ten empty hosts: so many go, and the next one stays for a reason.
func TestBounds(t *testing.T) {
	const pool = "MachineDeployment metal3/p"
	unready := func(n int) func(l *lab) {
		return func(l *lab) {
			for i := 10 - n; i < 10; i++ {
				l.s.Nodes[i].Ready = false
			}
		}
	}
	for _, row := range []struct {
		name    string
		budgets string
		change  func(l *lab)
		want    int
		why     string
	}{
		{"all serve", "3,ready:0", func(*lab) {}, 3, pool + ": 3 more may be disrupted (budget 3)"},
		{"no budgets", "", func(*lab) {}, 1, "(budget 10% of 10)"},
		{"one is not Ready", "3,ready:0", unready(1), 2, pool + ": 2 more may be disrupted (budget 3, and 1 of its hosts are not Ready, missing, too many, or being disrupted)"},
		{"one is being deleted", "3,ready:0", func(l *lab) { l.s.Hosts[9].Machine.Deleting = true }, 2, ""},
		{"both at once count once", "3,ready:0", func(l *lab) { l.s.Nodes[9].Ready, l.s.Hosts[9].Machine.Deleting = false, true }, 2, ""},
		{"one has no Node yet", "3,ready:0", func(l *lab) { l.s.Hosts[9].Node = "" }, 2, ""},
		{"four do not serve", "3,ready:0", unready(4), 0, ""},
		{"one is wanted and missing", "3,ready:0", func(l *lab) { l.s.Pools[0].Replicas = 11 }, 2, ""},
		{"nine stay Ready", "3,ready:9", func(*lab) {}, 1, pool + ": 8 of its Ready hosts would stay (budget ready:9)"},
		{"all of the pool stay Ready", "1", func(l *lab) { l.s.Pools[0].Policy.Budgets = bounds(t, "3,ready:100%") }, 0, "9 of its Ready hosts would stay (budget ready:100% of 10)"},
		{"one of two stays Ready", "9,ready:1", unready(8), 1, "(budget 9, and 8 of its"},
		{"the pool's budget", "3", func(l *lab) { l.s.Pools[0].Policy.Budgets = bounds(t, "1") }, 1, ""},
		{"two are too many: they count as gone", "3", func(l *lab) { l.s.Pools[0].Replicas = 8 }, 1, ""},
		{"and are none of those that stay", "100%,ready:7", func(l *lab) { l.s.Pools[0].Replicas = 8 }, 1, "6 of its Ready hosts would stay"},
		{"never more than it wants", "100,ready:0", func(l *lab) { l.s.Pools[0].Replicas = 2 }, 2, pool + " wants 2 hosts, and no more can be taken from it"},
		{"of no pool", "4", func(l *lab) {
			for i := range l.s.Hosts {
				l.s.Hosts[i].Machine.Pool = Key{}
			}
		}, 4, "hosts of no pool: 4 more may be disrupted (budget 4)"},
		{"one that cannot be read", "3", func(l *lab) { l.c.Budgets = append(l.c.Budgets, budget.Budget{Nodes: "some"}) }, 0, "which cannot be read: it must give each budget a whole number"},
		{"how Ironic stands is not known", "3", func(l *lab) { l.s.Throttle.Stale = true }, 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLab(t, 10)
			if l.c.Budgets = nil; row.budgets != "" {
				l.c.Budgets = bounds(t, row.budgets)
			}
			row.change(l)
			p := l.plan()
			if len(p.Actions) != row.want {
				t.Errorf("%d hosts go: %+v", len(p.Actions), p.Later)
			}
			if row.why != "" && (len(p.Later) == 0 || !strings.Contains(p.Later[0].Note, row.why)) {
				t.Errorf("%+v stay, want because %s", p.Later, row.why)
			}
		})
	}
}

// TestABudgetOfAReasonCountsAllThatIsTakenBesides: hosts that go for other reasons are out of service too.
func TestABudgetOfAReasonCountsAllThatIsTakenBesides(t *testing.T) {
	l := newLab(t, 3)
	l.c.Budgets = budget.List{{Nodes: "1", Reasons: []api.PlanReason{api.PlanEmpty}}, {MinReady: "0"}}
	p := l.planner()
	if err := p.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		first api.PlanReason
		want  string
	}{{api.PlanEmpty, "1 more may be disrupted"}, {api.PlanDrifted, ""}} {
		taken := p.newLedger(false)
		if why := taken.add(p.hosts[0], row.first); why != "" {
			t.Fatal(why)
		}
		if why := taken.add(p.hosts[1], api.PlanDrifted); !strings.Contains(why, row.want) || row.want == "" && why != "" {
			t.Errorf("after one for %s: %q", row.first, why)
		}
	}
}

// TestAnotherReasonIsExplained where the first one cannot act.
func TestAnotherReasonIsExplained(t *testing.T) {
	for text, want := range map[string]string{
		`[{"nodes":"2"}]`:                     "Empty",
		`[{"nodes":"0","reasons":["Empty"]}]`: "Drifted",
		`[{"nodes":"0"}]`:                     "Empty, but it stays for now: MachineDeployment metal3/p: 0 more may be disrupted (budget 0)",
	} {
		l := newLab(t, 2)
		field("raid", "1", "5")(&l.s.Hosts[0], nil)
		l.c.Budgets = bounds(t, text)
		e := l.explain("h-0")
		if can := e.Conditions[len(e.Conditions)-1]; e.Summary != "metal3/h-0 is a candidate: "+want || can.Met != (can.Message == "by itself it could go now") || can.Met == strings.Contains(want, "stays") {
			t.Errorf("%s: %+v, %s", text, can, e.Summary)
		}
	}
}

// TestHold: what holds everything up.
func TestHold(t *testing.T) {
	for want, throttle := range map[string]Throttle{
		"": {Limit: 20},
		"1 host that is not planned waits for a slot: nothing is carried out before it has one":     {Waiting: 1},
		"3 hosts that are not planned wait for slots: nothing is carried out before they have them": {Waiting: 3},
		"how Ironic stands is not known: its nodes were not read of late":                           {Stale: true, Waiting: 3},
		"the breaker is not CLOSED: a, ironic":                                                      {OpenBreakers: []string{"ironic", "a"}, Waiting: 3},
		"the breaker is not CLOSED: a, b, c, d, e and 1 more":                                       {OpenBreakers: []string{"f", "e", "d", "c", "b", "a"}},
		"paused: rack-1": {PausedGroups: []string{"rack-1"}},
		"the limit is 1: planned work leaves a slot free for others, so it never starts": {Limit: 1},
	} {
		if got := throttle.Hold(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		l := newLab(t, 2)
		l.s.Throttle = throttle
		blind := throttle.Stale || throttle.OpenBreakers != nil || throttle.PausedGroups != nil
		if p := l.plan(); p.Blocked != want || p.Actions == nil || (len(p.Actions) == 0) != blind {
			t.Errorf("blocked %q with %q", p.Blocked, told(p))
		}
	}
}

// TestDryRun: the setting and the pool both allow it; a Machine that nobody owns has no pool.
func TestDryRun(t *testing.T) {
	for _, row := range []struct{ setting, pool, owned, dry bool }{
		{false, false, true, true}, {false, true, true, true}, {true, false, true, true}, {true, true, true, false}, {true, true, false, true},
	} {
		l := newLab(t, 1)
		l.c.Execute, l.s.Pools[0].Execute = row.setting, row.pool
		if !row.owned {
			l.s.Hosts[0].Machine.Pool, l.s.Hosts[0].Machine.PoolKind = Key{}, ""
		}
		if p := l.plan(); p.DryRun != row.dry || len(p.Actions) != 1 {
			t.Errorf("%+v: dry run %v with %q", row, p.DryRun, told(p))
		}
	}
}

// TestPrices of a host, and what its release saves.
func TestPrices(t *testing.T) {
	past, future := noon, noon.Add(1)
	const unknown = -1
	for name, row := range map[string]struct {
		tariff *float64
		price  Price
		cost   float64
		saves  float64
		words  string
	}{
		"watts and tariff":        {new(0.25), watts(400), 0.1, 0.1, "power off saves 0.1 an hour (400 W)"},
		"watts without tariff":    {nil, watts(400), unknown, 0, "power off saves nothing that is known: watts have no price without a tariff"},
		"tariff without watts":    {new(0.25), Price{LeasePerHour: new(1.5)}, unknown, 0, "power off saves nothing that is known: watts-busy is not set; its lease goes on: lease-ends is not set"},
		"with lease":              {new(0.25), Price{WattsBusy: new(400.0), LeasePerHour: new(1.5)}, 1.6, 0.1, "its lease goes on"},
		"a lease that can end":    {nil, Price{LeasePerHour: new(2.0), LeaseEnds: &past}, 2, 2, "the end of its lease saves 2 an hour: hand it back"},
		"a lease that ends later": {nil, Price{LeasePerHour: new(2.0), LeaseEnds: &future}, 2, 0, "its lease goes on until 2026"},
		"both":                    {new(0.25), Price{WattsBusy: new(400.0), LeasePerHour: new(2.0), LeaseEnds: &past}, 2.1, 2.1, "hand it back"},
		"a lease of nothing":      {new(0.25), Price{WattsBusy: new(400.0), LeasePerHour: new(0.0), LeaseEnds: &past}, 0.1, 0.1, "power off saves 0.1 an hour (400 W)"},
		"nothing":                 {new(0.25), Price{}, unknown, 0, "watts-busy is not set"},
		"prepaid":                 {new(0.25), Price{Prepaid: true, WattsBusy: new(400.0)}, 0, 0, "nothing: it is paid for already"},
		"NaN":                     {new(0.25), watts(math.NaN()), unknown, 0, "not known: watts-busy NaN is no price"},
		"negative":                {new(0.25), watts(-1e-9), unknown, 0, "is no price"},
		"infinite":                {new(0.25), watts(math.Inf(1)), unknown, 0, "is no price"},
		"as much as is believed":  {new(1.0), watts(1e12), 1e9, 1e9, "power off"},
		"more than is believed":   {new(1.0), watts(1.1e12), unknown, 0, "is no price"},
		"a product of such":       {new(1e12), watts(1e12), unknown, 0, "it is no believable number"},
		"a negative lease":        {new(0.25), Price{WattsBusy: new(1.0), LeasePerHour: new(-1.0)}, unknown, 0, "is no price"},
		"an end of no lease":      {new(0.25), Price{WattsBusy: new(1.0), LeaseEnds: &past}, unknown, 0.00025, "power off"},
		"zero":                    {new(0.0), watts(0), 0, 0, "power off saves nothing"},
		"next to nothing":         {new(1.0), watts(1e-300), 0, 0, "power off saves nothing"},
		"little, and it counts":   {new(1.0), watts(1e-5), 1e-8, 1e-8, "power off saves 1e-08 an hour (1e-05 W)"},
	} {
		l := used(t, 1)
		l.c.TariffPerKWh, l.c.MaxPayback, l.s.Hosts[0].Price = row.tariff, Never, row.price
		p := l.planner()
		if err := p.build(t.Context()); err != nil {
			t.Fatal(err)
		}
		h := p.hosts[0]
		cost, s := h.price, h.verdict.rank.saving
		if h.unpriced != "" {
			cost = unknown
		}
		if math.Abs(cost-row.cost) > 1e-12 || math.Abs(s.perHour-row.saves) > 1e-12 || !strings.Contains(s.words, row.words) {
			t.Errorf("%s: it costs %g, %q; saves %g: %s", name, cost, h.unpriced, s.perHour, s.words)
		}
		if s.handBack != strings.Contains(s.words, "hand it back") || s.powerOff != strings.Contains(s.words, "W)") {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestNumbersOfActions.
func TestNumbersOfActions(t *testing.T) {
	const quiet = "no pod came or went for 24h0m0s, and consolidateAfter is 30s"
	empty := func() *lab { return newLab(t, 1) }
	replaced := func() *lab { l := used(t, 6); l.spare(100); l.spare(150); return l }
	several := func() *lab { l := used(t, 1, 1, 1); l.s.Pods[2].DoNotDisrupt = true; l.spare(100); return l }
	found := []string{"it has no pods but those of DaemonSets, mirror pods, and finished ones", quiet}
	pod := []string{
		"its one pod fits on other nodes and metal3/s-1, a free host at 0.025 an hour", "what is released costs 0.1 an hour", quiet,
		"Metal3 chooses among 2 free hosts that match MachineDeployment metal3/p: look that it took metal3/s-1 before anything is drained",
	}
	const guess = "how long slots are held is not all known yet: 30 minutes are taken"
	for name, row := range map[string]struct {
		lab             func() *lab
		change          func(l *lab)
		minutes         float64
		peak            int
		saving, payback float64 // payback in minutes
		evidence        []string
	}{
		"empty":                        {empty, func(*lab) {}, 20, 1, 0.1, 20, found},
		"powered off, says its status": {empty, func(l *lab) { l.s.Hosts[0].PoweredOn = false }, 20, 1, 0.1, 20, found},
		"by its lease alone":           {empty, func(l *lab) { l.s.Hosts[0].Price = Price{LeasePerHour: new(2.0), LeaseEnds: &noon} }, 20, 1, 2, 20, found},
		"half a minute":                {empty, func(l *lab) { l.s.Throttle.ReleaseMinutes = 0.5 }, 0.5, 1, 0.1, 0.5, found},
		"a release is guessed":         {empty, func(l *lab) { l.s.Throttle.ReleaseMinutes = 0 }, 30, 1, 0.1, 30, append(found[:2:2], guess)},
		"both are":                     {empty, func(l *lab) { l.s.Throttle = Throttle{Limit: 20} }, 30, 1, 0.1, 30, append(found[:2:2], guess)},
		"replaced":                     {replaced, func(*lab) {}, 35, 2, 0.075, 31.0 + 2.0/3, pod},
		"replaced, of few slots":       {replaced, func(l *lab) { l.s.Throttle.Limit = 7 }, 35, 1, 0.075, 31.0 + 2.0/3, pod},
		"a deployment is guessed":      {replaced, func(l *lab) { l.s.Throttle.DeployMinutes = 0 }, 50, 2, 0.075, 36.0 + 2.0/3, append(pod[:4:4], guess)},
		"several": {several, func(*lab) {}, 40, 2, 0.2, 20, []string{
			"all 2 pods fit on other nodes that are Ready", "what is released costs 0.2 an hour", "metal3/h-0: " + quiet, "metal3/h-1: " + quiet,
		}},
		"several, of a group with few slots": {several, func(l *lab) {
			l.s.Throttle.Groups = map[string]int{"rack": 4}
			l.s.Hosts[0].ConductorGroup = "rack"
		}, 40, 1, 0.2, 20, nil},
	} {
		l := row.lab()
		row.change(l)
		a := l.plan().Actions[0]
		if a.SlotMinutes != row.minutes || a.PeakSlots != row.peak || math.Abs(a.SavingPerHour-row.saving) > 1e-12 || math.Abs(*a.PaybackHours*60-row.payback) > 1e-9 || len(a.ID) != 16 {
			t.Errorf("%s: %+v, payback %g minutes", name, a, *a.PaybackHours*60)
		}
		if diff := cmp.Diff(row.evidence, a.Evidence); diff != "" && row.evidence != nil {
			t.Errorf("%s: evidence (-want +got):\n%s", name, diff)
		}
		if _, err := json.Marshal(a); err != nil {
			t.Error(err)
		}
	}
	if a := replaced().plan().Actions[0]; a.Saving != "power off saves 0.1 an hour (400 W); less 0.025 an hour for metal3/s-1" {
		t.Error(a.Saving)
	}
}

// TestAPlanOfTheFarFutureIsRefused: its times could not be written.
func TestAPlanOfTheFarFutureIsRefused(t *testing.T) {
	l := newLab(t, 1)
	_, err := Plan(t.Context(), &l.s, l.c, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
	wantsField(t, err, "now")
	if _, err := Plan(t.Context(), &l.s, l.c, time.Date(maxYear, 12, 31, 23, 59, 59, 0, time.UTC)); err != nil {
		t.Error(err)
	}
}
