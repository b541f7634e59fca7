package disruption

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestDC19_BudgetsRoundUp(t *testing.T) {
	for _, tt := range []struct {
		hosts int
		nodes string
		want  int
	}{
		{10, "10%", 1}, {11, "10%", 2}, {1, "10%", 1}, {0, "10%", 0}, {10, "0", 0}, {10, "0%", 0}, {10, "3", 3}, {3, "100%", 3}, {19, "20%", 4}, {1, "1%", 1}, {101, "1%", 2},
		{10, "-1", 0}, {10, "", 0}, {10, "%", 0}, {10, "101%", 0}, {10, "1.5", 0}, {10, "ten", 0}, {10, "+1", 0}, {10, " 1", 0}, {10, "99999999999999999999", 0},
	} {
		if got, why := (Budget{Nodes: tt.nodes}).allows(tt.hosts, noon); got != tt.want {
			t.Errorf("%q of %d hosts allow %d (%s), want %d", tt.nodes, tt.hosts, got, why, tt.want)
		}
	}
}

// released counts the empty hosts that a plan takes.
func released(p api.Plan) int { return len(p.Actions) }

func TestDC19_WhatDoesNotServeCountsAgainstTheBudget(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(l *lab)
		want   int
	}{
		{"all serve", func(*lab) {}, 3},
		{"one is not Ready", func(l *lab) { l.s.Nodes[9].Ready = false }, 2},
		{"one is being deleted", func(l *lab) { l.s.Hosts[9].Machine.Deleting = true }, 2},
		{"both at once count once", func(l *lab) { l.s.Nodes[9].Ready, l.s.Hosts[9].Machine.Deleting = false, true }, 2},
		{"one has no Node yet", func(l *lab) { l.s.Hosts[9].Node = "" }, 2},
		{"four do not serve", func(l *lab) {
			for i := 6; i < 10; i++ {
				l.s.Nodes[i].Ready = false
			}
		}, 0},
		{"one is wanted and missing", func(l *lab) { l.s.Pools[0].Replicas = 11 }, 2},
		{"MIN_READY of all", func(l *lab) { l.c.MinReady = 9 }, 1},
		{"MIN_READY of the pool", func(l *lab) { l.s.Pools[0].Policy.MinReady = new(10) }, 0},
		{"the pool's budget", func(l *lab) { l.s.Pools[0].Policy.Budgets = []Budget{{Nodes: "1"}} }, 1},
		{"no budgets: 10%", func(l *lab) { l.c.Budgets = nil }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, 10)
			l.c.Budgets = []Budget{{Nodes: "3"}}
			tt.change(l)
			if p := l.plan(); released(p) != tt.want {
				t.Errorf("%d hosts go, want %d: %+v", released(p), tt.want, p.Later)
			}
		})
	}
}

func TestDC20_TheSmallestOfSeveralBudgets(t *testing.T) {
	empty, drifted := []api.PlanReason{api.PlanEmpty}, []api.PlanReason{api.PlanDrifted}
	for _, tt := range []struct {
		budgets []Budget
		want    int
	}{
		{[]Budget{{Nodes: "3"}, {Nodes: "20%"}}, 2},
		{[]Budget{{Nodes: "3"}, {Nodes: "1", Reasons: drifted}}, 3},
		{[]Budget{{Nodes: "3"}, {Nodes: "1", Reasons: empty}}, 1},
		{[]Budget{{Nodes: "3"}, {Nodes: "0"}}, 0},
		{[]Budget{{Nodes: "3"}, {Nodes: "0%"}}, 0},
		{[]Budget{{Nodes: "3"}, {Nodes: "0", Schedule: "0 0 1 1 *", Duration: Span(time.Hour)}}, 3},
	} {
		l := newLab(t, 10)
		l.c.Budgets = tt.budgets
		if p := l.plan(); released(p) != tt.want {
			t.Errorf("%+v: %d hosts go, want %d", tt.budgets, released(p), tt.want)
		}
	}
}

func TestDC21_ASchedule(t *testing.T) {
	start := time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)
	b := Budget{Nodes: "0", Schedule: "0 9 * * *", Duration: Span(8 * time.Hour)}
	zone := time.FixedZone("far", 5*3600)
	for _, tt := range []struct {
		now    time.Time
		active bool
	}{
		{start.Add(-1), false}, {start, true}, {start.Add(1), true}, {start.Add(8*time.Hour - 1), true}, {start.Add(8 * time.Hour), false},
		{start.In(zone), true}, {start.Add(-time.Second).In(zone), false},
	} {
		most, _ := b.allows(10, tt.now)
		if active := most == 0; active != tt.active || !active && most != math.MaxInt {
			t.Errorf("at %v it allows %d, want active %v", tt.now, most, tt.active)
		}
	}
}

func TestDC21_WhatCannotBeReadIsClosed(t *testing.T) {
	for _, b := range []Budget{
		{Nodes: "1", Schedule: "0 9 * * *"}, {Nodes: "1", Duration: Span(time.Hour)}, {Nodes: "1", Schedule: "0 9 * * *", Duration: Never},
		{Nodes: "1", Schedule: "nine", Duration: Span(time.Hour)}, {Nodes: "1", Schedule: "TZ=", Duration: Span(time.Hour)},
		{Nodes: "1", Schedule: "CRON_TZ=Asia/Tokyo 0 9 * * *", Duration: Span(time.Hour)}, {Nodes: "1", Schedule: "@every 1h", Duration: Span(time.Hour)},
		{Nodes: "1", Schedule: "60 * * * *", Duration: Span(time.Hour)}, {Nodes: "1", Schedule: strings.Repeat("1,", 999) + "1 * * * *", Duration: Span(time.Hour)},
		{Nodes: "1", Reasons: []api.PlanReason{"Bored"}}, {Nodes: "some"},
	} {
		t.Run(fmt.Sprintf("%.40v", b), func(t *testing.T) {
			l := newLab(t, 4)
			l.c.Budgets = []Budget{{Nodes: "4"}, b}
			p := l.plan()
			if released(p) != 0 || len(p.Faults) != 1 || !strings.Contains(p.Faults[0], "budget") {
				t.Errorf("%d hosts go, and the faults are %q", released(p), p.Faults)
			}
			l.c.Budgets, l.s.Pools[0].Policy.Budgets = l.c.Budgets[:1], []Budget{b}
			if p := l.plan(); released(p) != 0 || len(p.Faults) != 1 {
				t.Errorf("as the pool's: %d hosts go, and the faults are %q", released(p), p.Faults)
			}
		})
	}
}

// A schedule that never comes bounds nothing, and ends.
func TestDC21_AScheduleThatNeverComes(t *testing.T) {
	if most, _ := (Budget{Nodes: "0", Schedule: "0 0 31 2 *", Duration: Span(time.Hour)}).allows(10, noon); most != math.MaxInt {
		t.Errorf("it allows %d", most)
	}
}

func FuzzBudget(f *testing.F) {
	for _, s := range []string{"0 9 * * 1-5", "@daily", "*/5 * * * *", "TZ=", "@every 1h", "0 0 31 2 *"} {
		f.Add("10%", s, int64(time.Hour), 10)
	}
	f.Fuzz(func(t *testing.T, nodes, schedule string, duration int64, hosts int) {
		b := Budget{Nodes: nodes, Schedule: schedule, Duration: Span(duration)}
		hosts &= maxHosts
		most, _ := b.allows(hosts, noon)
		if most < 0 || b.fault() != "" && most != 0 {
			t.Errorf("%+v of %d allows %d, and its fault is %q", b, hosts, most, b.fault())
		}
	})
}

// TestDC19_HostsThatThePoolDoesNotWantCountAsGone: its owner takes as many away by itself, and nobody knows which.
func TestDC19_HostsThatThePoolDoesNotWantCountAsGone(t *testing.T) {
	for name, row := range map[string]struct {
		replicas, minReady int
		nodes, want        string
	}{
		"none too many":                    {replicas: 5, minReady: 2, nodes: "100", want: "Emptiness release h-0; release h-1; release h-2"},
		"two too many count as disrupted":  {replicas: 3, nodes: "3", want: "Emptiness release h-0"},
		"and are none of those that stay":  {replicas: 3, minReady: 2, nodes: "100", want: "Emptiness release h-0"},
		"never more than it wants":         {replicas: 2, nodes: "100", want: "Emptiness release h-0; release h-1"},
		"of one that wants none, no other": {replicas: 0, nodes: "100", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 5)
			l.s.Pools[0].Replicas, l.c.MinReady, l.c.Budgets = row.replicas, row.minReady, []Budget{{Nodes: row.nodes}}
			l.wants(row.want)
		})
	}
}

// TestDC28_OfBudgetsThatAllowTheSameOneIsNamed, whatever their order.
func TestDC28_OfBudgetsThatAllowTheSameOneIsNamed(t *testing.T) {
	for _, budgets := range [][]Budget{{{Nodes: "10%"}, {Nodes: "1"}}, {{Nodes: "1"}, {Nodes: "10%"}}} {
		l := newLab(t, 10)
		l.c.Budgets = budgets
		if p := l.plan(); !strings.Contains(p.Later[0].Note, "(budget 1)") {
			t.Errorf("%v: %s", budgets, p.Later[0].Note)
		}
	}
}

// TestDC20_ABudgetOfAReasonCountsAllThatIsTakenBesides: hosts that go for other reasons are out of service too.
func TestDC20_ABudgetOfAReasonCountsAllThatIsTakenBesides(t *testing.T) {
	l := newLab(t, 3)
	l.c.Budgets = []Budget{{Nodes: "1", Reasons: []api.PlanReason{api.PlanEmpty}}}
	p := l.planner()
	if err := p.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	taken := p.newLedger(false)
	if why := taken.add(p.hosts[0], api.PlanEmpty); why != "" {
		t.Fatal(why)
	}
	if why := taken.add(p.hosts[1], api.PlanDrifted); !strings.Contains(why, "1 more may be disrupted") {
		t.Errorf("a second one goes: %q", why)
	}
	taken = p.newLedger(false)
	for _, h := range p.hosts[:2] {
		if why := taken.add(h, api.PlanDrifted); why != "" {
			t.Errorf("no budget bounds it: %s", why)
		}
	}
}

// TestDC21_BoundsOfWhatCanBeRead.
func TestDC21_BoundsOfWhatCanBeRead(t *testing.T) {
	long := func(n int) Budget {
		return Budget{Nodes: "1", Schedule: strings.Repeat(" ", n-len("0 9 * * *")) + "0 9 * * *", Duration: Span(time.Hour)}
	}
	for _, b := range []Budget{{Nodes: "1000000"}, {Nodes: "100%"}, long(256)} {
		if why := b.fault(); why != "" {
			t.Errorf("%+v: %s", b, why)
		}
	}
	for _, b := range []Budget{{Nodes: "1000001"}, {Nodes: "101%"}, long(257)} {
		if b.fault() == "" {
			t.Errorf("%+v can be read", b)
		}
	}
}
