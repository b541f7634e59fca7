package disruption

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// used makes a lab of hosts with pods of so many CPUs, one on each.
func used(t *testing.T, sizes ...int) *lab {
	t.Helper()
	l := newLab(t, len(sizes))
	for i, cpu := range sizes {
		l.pod(i, cpu)
	}
	return l
}

func TestDC9_OneMethodAPass(t *testing.T) {
	l := used(t, 2, 2, 2, 8)
	l.host()                                                               // empty
	field("raid", "1", "5")(&l.s.Hosts[0], nil)                            // static drift
	l.s.Pools[0].HostSelector.MatchLabels = map[string]string{"rack": "1"} // dynamic drift
	for i := range l.s.Hosts {
		l.s.Hosts[i].Labels = map[string]string{"rack": "1"}
	}
	l.s.Hosts[1].Labels = nil
	l.wants("Emptiness release h-4")
	l.s.Hosts[4].DoNotDisrupt = true
	l.wants("StaticDrift reprovision h-0")
	l.s.Hosts[0].Applied = nil
	l.wants("Drift reprovision h-1")
	l.s.Hosts[1].Labels = l.s.Hosts[0].Labels
	if p := l.plan(); p.Method != api.MethodMulti {
		t.Errorf("the method is %s, want %s", p.Method, api.MethodMulti)
	}
	l.c.Budgets = budget.List{{Nodes: "1"}, {MinReady: "0"}}
	if p := l.plan(); p.Method != api.MethodSingle || len(p.Later) != 3 {
		t.Errorf("the method is %s, and %d are left, want %s and 3", p.Method, len(p.Later), api.MethodSingle)
	}
}

func TestDC10_Targets(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(n *Node, h *Host)
		want   string
	}{
		{"it has room", func(*Node, *Host) {}, "SingleNodeConsolidation release h-0"},
		{"not Ready", func(n *Node, _ *Host) { n.Ready = false }, ""},
		{"unschedulable", func(n *Node, _ *Host) { n.Unschedulable = true }, ""},
		{"the Node goes", func(n *Node, _ *Host) { n.Deleting = true }, ""},
		{"the Machine goes", func(_ *Node, h *Host) { h.Machine.Marked = true }, ""},
		{"the host goes", func(_ *Node, h *Host) { h.State = "deprovisioning" }, ""},
		{"within its own consolidateAfter", func(n *Node, _ *Host) { n.LastPodEvent = noon.Add(-30*time.Second + 1) }, ""},
		{"just after", func(n *Node, _ *Host) { n.LastPodEvent = noon.Add(-30 * time.Second) }, "SingleNodeConsolidation release h-0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := used(t, 3, 3)
			l.s.Pods[1].DoNotDisrupt = true
			tt.change(&l.s.Nodes[1], &l.s.Hosts[1])
			l.wants(tt.want)
		})
	}
}

// DC-10: nodes of pools that are never consolidated, and of none of our hosts, have no clock.
func TestDC10_TargetsWithoutAClock(t *testing.T) {
	l := used(t, 3)
	l.pool("still").Policy.ConsolidateAfter = new(Never)
	l.host()
	l.s.Nodes[1].LastPodEvent = noon
	l.wants("SingleNodeConsolidation release h-0")
	l.s.Hosts = l.s.Hosts[:1]
	l.wants("SingleNodeConsolidation release h-0")
}

func TestDC11_OneNewHostAtMost(t *testing.T) {
	l := newLab(t, 1)
	l.pod(0, 4)
	l.pod(0, 4)
	for range 2 {
		l.spare(100).Capacity = Resources{"cpu": "5"}
	}
	l.wants("")
	l.spare(150)
	l.wants("SingleNodeConsolidation replace h-0>s-3")
}

func TestDC12_AReplacementIsCheaper(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(l *lab, s *Host)
		want   string
	}{
		{"cheaper", func(*lab, *Host) {}, "SingleNodeConsolidation replace h-0>s-1"},
		{"the same", func(_ *lab, s *Host) { s.Price = watts(400) }, ""},
		{"its price is not known", func(_ *lab, s *Host) { s.Price = Price{} }, ""},
		{"NaN", func(_ *lab, s *Host) { s.Price = watts(math.NaN()) }, ""},
		{"the old one's price is not known", func(l *lab, _ *Host) { l.s.Hosts[0].Price = Price{} }, ""},
		{"too small", func(_ *lab, s *Host) { s.Capacity = Resources{"cpu": "4"} }, ""},
		{"its capacity is not known", func(_ *lab, s *Host) { s.Capacity = nil }, ""},
		{"claimed", func(_ *lab, s *Host) { s.Consumer = "Metal3Machine a/b" }, ""},
		{"being inspected", func(_ *lab, s *Host) { s.State = "inspecting" }, ""},
		{"failed", func(_ *lab, s *Host) { s.Failed = true }, ""},
		{"faults", func(_ *lab, s *Host) { s.Faults = []string{"odd"} }, ""},
		{"another namespace", func(_ *lab, s *Host) { s.Namespace = "other" }, ""},
		{"not of the pool", func(l *lab, _ *Host) {
			l.s.Hosts[0].Labels = map[string]string{"rack": "1"}
			l.s.Pools[0].HostSelector.MatchLabels = map[string]string{"rack": "1"}
		}, ""},
		{"hostSelector not known", func(l *lab, _ *Host) { l.s.Pools[0].HostSelector = nil }, ""},
		{"labels of a new node not known", func(l *lab, _ *Host) { l.s.Pools[0].NodeLabels = nil }, ""},
		{"one must stay Ready: the new one", func(l *lab, _ *Host) { l.c.Budgets = nil }, "SingleNodeConsolidation replace h-0>s-1"},
		{"too long a payback", func(l *lab, _ *Host) { l.c.MaxPayback = Span(time.Minute) }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := used(t, 6)
			tt.change(l, l.spare(100))
			l.wants(tt.want)
		})
	}
}

func TestDC13_Savings(t *testing.T) {
	past, future := noon, noon.Add(1)
	for _, tt := range []struct {
		name   string
		price  Price
		want   float64
		words  string
		tariff *float64
	}{
		{"power off", watts(400), 0.1, "power off saves 0.1 an hour", new(0.25)},
		{"a lease that goes on", Price{LeasePerHour: new(2.0)}, 0, "lease-ends is not set", nil},
		{"a lease that can end", Price{LeasePerHour: new(2.0), LeaseEnds: &past}, 2, "hand it back", nil},
		{"a lease that can end later", Price{LeasePerHour: new(2.0), LeaseEnds: &future}, 0, "goes on until 2026", nil},
		{"both", Price{WattsBusy: new(400.0), LeasePerHour: new(2.0), LeaseEnds: &past}, 2.1, "hand it back", new(0.25)},
		{"prepaid", Price{Prepaid: true, WattsBusy: new(400.0)}, 0, "paid for already", new(0.25)},
		{"no tariff", watts(400), 0, "no price without a tariff", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := used(t, 3, 3)
			l.s.Pods[1].DoNotDisrupt = true
			l.c.TariffPerKWh, l.s.Hosts[0].Price = tt.tariff, tt.price
			p := l.plan()
			if tt.want == 0 {
				e := l.explain("h-0")
				if told(p) != "" || !strings.Contains(e.Summary, tt.words) && !strings.Contains(e.Conditions[20].Message, tt.words) {
					t.Errorf("the plan is %q: %s", told(p), e.Summary)
				}
				return
			}
			if len(p.Actions) != 1 || math.Abs(p.Actions[0].SavingPerHour-tt.want) > 1e-9 || !strings.Contains(p.Actions[0].Saving, tt.words) {
				t.Fatalf("the plan is %+v", p.Actions)
			}
			if a := p.Actions[0]; a.PaybackHours == nil || *a.PaybackHours <= 0 || a.Hosts[0].PowerOff != (tt.tariff != nil) || a.Hosts[0].HandBack != (tt.price.LeaseEnds != nil) {
				t.Errorf("payback %v, %+v", a.PaybackHours, a.Hosts[0])
			}
		})
	}
}

func TestDC14_TheLargestPrefix(t *testing.T) {
	l := newLab(t, 140)
	for i := range 130 {
		l.pod(i, 1)
	}
	for i := 130; i < 140; i++ { // room for 5 each, and for nobody else's
		l.pod(i, 3).DoNotDisrupt = true
	}
	p := l.plan()
	if p.Method != api.MethodMulti || len(p.Actions) != 1 || len(p.Actions[0].Hosts) != maxBatch {
		t.Fatalf("%s of %d actions takes %d hosts, want %d", p.Method, len(p.Actions), len(p.Actions[0].Hosts), maxBatch)
	}
	if len(p.Actions[0].Moves) != maxBatch {
		t.Errorf("%d pods move, want %d", len(p.Actions[0].Moves), maxBatch)
	}
	if a := p.Actions[0]; a.SlotMinutes != 20*maxBatch || a.PeakSlots != 5 {
		t.Errorf("%v slot-minutes, %d at once, want %d and L/4 = 5", a.SlotMinutes, a.PeakSlots, 20*maxBatch)
	}
}

// DC-15: h-0 sorts first and blocks whoever goes with it; the others are found.
func TestDC15_ABlockerIsSkipped(t *testing.T) {
	for _, hosts := range []int{4, 20} { // few, of which all sets are tried, and many
		l := newLab(t, hosts)
		l.s.Hosts[0].Price = watts(500)
		l.pod(0, 8)
		for i := 1; i < hosts; i++ {
			l.pod(i, 3)
		}
		p := l.plan()
		if p.Method != api.MethodMulti && hosts > 4 || len(p.Actions) == 0 {
			t.Fatalf("of %d hosts the plan is %q", hosts, told(p))
		}
		for _, a := range p.Actions {
			for _, h := range a.Hosts {
				if h.Name == "metal3/h-0" {
					t.Errorf("of %d hosts the plan takes h-0: %q", hosts, told(p))
				}
			}
		}
	}
}

// DC-14: a search that is cut short has what it found last, and the same each time.
func TestDC14_ASearchThatIsCutShort(t *testing.T) {
	l := newLab(t, 40)
	for i := range 30 {
		l.pod(i, 3)
	}
	for i := 30; i < 40; i++ {
		l.pod(i, 5).DoNotDisrupt = true
	}
	p := l.planner()
	if err := p.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.work = 60
	s, err := p.best(t.Context(), p.consolidatable())
	if err != nil || s == nil || s.at.blocked != "" || len(s.set) < 2 {
		t.Fatalf("found %+v, %v", s, err)
	}
}

func TestDC16_AReplacementOfAClassInTheBatch(t *testing.T) {
	l := used(t, 5, 5)
	l.s.Hosts[0].Class, l.s.Hosts[1].Class = "a", "a"
	s := l.spare(400)
	s.Class, s.Capacity = "a", Resources{"cpu": "16"}
	l.wants("")
	l.s.Hosts[2].Class = "b"
	l.wants("MultiNodeConsolidation replace h-0,h-1>s-2")
	l.s.Hosts[2].Class, l.s.Hosts[2].Price = "a", watts(399)
	l.wants("MultiNodeConsolidation replace h-0,h-1>s-2")
	l.s.Hosts[0].Price = watts(399)
	l.wants("")
}

func TestDC17_PreemptibleHostsAreDeletedNotReplaced(t *testing.T) {
	l := used(t, 6)
	l.s.Hosts[0].Preemptible = true
	l.spare(100).Preemptible = true
	l.wants("")
	l.c.PreemptibleOptions = 1
	l.wants("SingleNodeConsolidation replace h-0>s-1")
	l.c.PreemptibleOptions = 0
	l.host()
	l.pod(2, 1).DoNotDisrupt = true
	l.wants("SingleNodeConsolidation release h-0")
}

func TestDC18_FifteenCheaperHosts(t *testing.T) {
	l := used(t, 6)
	l.c.PreemptibleOptions = 15
	l.s.Hosts[0].Preemptible = true
	for range 14 {
		l.spare(100).Preemptible = true
	}
	l.spare(50)                     // not preemptible
	l.spare(400).Preemptible = true // not cheaper
	l.wants("")
	l.spare(90).Preemptible = true
	l.wants("SingleNodeConsolidation replace h-0>s-17")
	l.s.Pools[0].Policy.PreemptibleOptions = new(16)
	l.wants("")
	// Of several hosts at once no minimum is asked for.
	l = used(t, 5, 5)
	l.c.PreemptibleOptions = 15
	l.s.Hosts[0].Preemptible, l.s.Hosts[1].Preemptible = true, true
	s := l.spare(500)
	s.Preemptible, s.Capacity = true, Resources{"cpu": "16"}
	l.wants("MultiNodeConsolidation replace h-0,h-1>s-2")
}

func TestDC23_ACancelledPlan(t *testing.T) {
	l := used(t, 3, 3, 3, 3, 3)
	ctx, cancel := context.WithCancel(t.Context())
	l.sim = &sums{hook: func(call int) {
		if call == 2 {
			cancel()
		}
	}}
	p, err := l.planner().plan(ctx)
	if !errors.Is(err, context.Canceled) || len(p.Actions) != 0 || l.sim.calls != 2 {
		t.Errorf("after %d simulations the error is %v, with %d actions", l.sim.calls, err, len(p.Actions))
	}
}

func TestDC24_HostsThatWait(t *testing.T) {
	l := newLab(t, 2)
	l.s.Throttle.Waiting = 3
	p := l.plan()
	if told(p) != "Emptiness release h-0; release h-1" || !strings.Contains(p.Blocked, "3 hosts") {
		t.Errorf("the plan is %q, blocked %q", told(p), p.Blocked)
	}
}

func TestDC26_NothingIsPlannedBlindly(t *testing.T) {
	for words, change := range map[string]func(t *Throttle){
		"not known":         func(t *Throttle) { t.Stale = true },
		"rack-1, rack-2":    func(t *Throttle) { t.OpenBreakers = []string{"rack-2", "rack-1"} },
		"paused: group-one": func(t *Throttle) { t.PausedGroups = []string{"group-one"} },
	} {
		l := newLab(t, 2)
		change(&l.s.Throttle)
		p := l.plan()
		if told(p) != "" || p.Actions == nil || !strings.Contains(p.Blocked, words) {
			t.Errorf("the plan is %q, blocked %q, want %q", told(p), p.Blocked, words)
		}
	}
}

func TestCandidatesAreOrderedBySavingPerCost(t *testing.T) {
	l := used(t, 1, 1, 1, 1, 1, 1)
	l.c.Budgets = budget.List{{Nodes: "0"}, {MinReady: "0"}}
	l.s.Hosts[1].Price = watts(500)
	l.s.Pods[2].DeletionCost = new(int32(math.MaxInt32))
	l.s.Pods[3].Priority = math.MinInt32
	p := l.plan()
	var names []string
	for _, c := range p.Later {
		names = append(names, strings.TrimPrefix(c.Host, "metal3/"))
		if c.DisruptionCost < 1 || c.SavingPerCost != c.SavingPerHour/c.DisruptionCost {
			t.Errorf("%+v: saving per cost does not follow from the others", c)
		}
	}
	if got := strings.Join(names, " "); got != "h-3 h-1 h-0 h-4 h-5 h-2" {
		t.Errorf("the order is %s", got)
	}
}

func TestEvictionCost(t *testing.T) {
	for _, tt := range []struct {
		priority int32
		deletion *int32
		want     float64
	}{
		{0, nil, 1}, {1 << 25, nil, 2}, {0, new(int32(1 << 27)), 2}, {-(1 << 25), new(int32(-(1 << 27))), -1},
		{math.MaxInt32, nil, 10}, {math.MinInt32, nil, -10},
	} {
		if got := podCost(&host{movers: []*Pod{{Priority: tt.priority, DeletionCost: tt.deletion}}}); got != tt.want {
			t.Errorf("priority %d, deletion cost %v: %v, want %v", tt.priority, tt.deletion, got, tt.want)
		}
	}
}
