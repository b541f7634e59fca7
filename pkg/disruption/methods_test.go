package disruption

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// labelled makes the pool one of hosts with a label, which all that are there have.
func labelled(l *lab, name string) {
	l.s.Pools[len(l.s.Pools)-1].HostSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": name}}
	for i := range l.s.Hosts {
		if l.s.Hosts[i].Labels == nil {
			l.s.Hosts[i].Labels = map[string]string{"pool": name}
		}
	}
}

func TestOneMethodAPass(t *testing.T) {
	l := used(t, 2, 2, 2, 8)
	l.host()                                    // empty
	field("raid", "1", "5")(&l.s.Hosts[0], nil) // static drift
	labelled(l, "p")
	l.s.Hosts[1].Labels = nil // dynamic drift
	for _, step := range []struct {
		change func()
		want   string
		note   string // of the first that is left
	}{
		{func() {}, "Emptiness release h-4", "others go first: a plan has actions of one method, now Emptiness"},
		{func() { l.s.Hosts[4].DoNotDisrupt = true }, "StaticDrift reprovision h-0", "others go first: a plan has actions of one method, now StaticDrift"},
		{func() { l.s.Hosts[0].Applied = nil }, "Drift reprovision h-1", "others go first: a plan has actions of one method, now Drift"},
		{func() { l.s.Hosts[1].Labels = l.s.Hosts[0].Labels }, "MultiNodeConsolidation release h-0,h-1,h-2", "others go first: a plan has actions of one method, now MultiNodeConsolidation"},
		{func() { l.c.Budgets = bounds(t, "1,ready:0") }, "SingleNodeConsolidation release h-0", "others go first: a plan has actions of one method, now SingleNodeConsolidation"},
	} {
		step.change()
		l.wants(step.want)
		if later := l.plan().Later; later[0].Note != step.note {
			t.Errorf("%s leaves %+v", step.want, later[0])
		}
	}
}

// TestOneDriftedHostAPass: those without pods first, then the one that drifted first. How many pods and what they cost does
// not matter.
func TestOneDriftedHostAPass(t *testing.T) {
	for pods, want := range map[[2]int]string{{0, 0}: "h-0", {1, 0}: "h-1", {1, 1}: "h-0", {2, 1}: "h-0", {1, 2}: "h-0"} {
		l := newLab(t, 3)
		l.c.ConsolidateAfter = Never
		l.s.Hosts[0].Price = watts(4000)
		for i, n := range pods {
			field("raid", "1", "5")(&l.s.Hosts[i], nil)
			l.s.Hosts[i].DriftedSince = noon.Add(time.Duration(i-9) * time.Hour)
			for range n {
				l.pod(i, 1)
			}
		}
		p := l.plan()
		if told(p) != "StaticDrift reprovision "+want {
			t.Errorf("of pods %v the plan is %q", pods, told(p))
		}
		if a := p.Actions[0]; a.SlotMinutes != 35 || a.PeakSlots != 1 || a.SavingPerHour != 0 || a.Saving != "nothing: the host is provisioned again" {
			t.Errorf("%+v", a)
		}
		if c := p.Later[0]; c.SavingPerHour != 0 || c.SavingPerCost != 0 || c.Note != "one drifted host a pass: metal3/"+want+" goes first" {
			t.Errorf("later: %+v", c)
		}
	}
	l := used(t, 5, 5)
	l.c.ConsolidateAfter = Never
	field("raid", "1", "5")(&l.s.Hosts[0], nil)
	const why = "pod default/p-0 fits on no other node: of those that take pods, have 1 too little cpu"
	if p := l.plan(); len(p.Later) != 1 || p.Later[0].Note != why {
		t.Errorf("%+v", p.Later)
	}
}

// TestTargets: the pod of h-0 could move to h-1.
func TestTargets(t *testing.T) {
	const goes = "SingleNodeConsolidation release h-0"
	for _, row := range []struct {
		name   string
		change func(l *lab, n *Node, h *Host)
		want   string
	}{
		{"it has room", func(*lab, *Node, *Host) {}, goes},
		{"not Ready", func(_ *lab, n *Node, _ *Host) { n.Ready = false }, ""},
		{"unschedulable", func(_ *lab, n *Node, _ *Host) { n.Unschedulable = true }, ""},
		{"the Node goes", func(_ *lab, n *Node, _ *Host) { n.Deleting = true }, ""},
		{"the Machine goes", func(_ *lab, _ *Node, h *Host) { h.Machine.Marked = true }, ""},
		{"the host goes", func(_ *lab, _ *Node, h *Host) { h.State = "deprovisioning" }, ""},
		{"within its own consolidateAfter", func(_ *lab, n *Node, _ *Host) { n.LastPodEvent = noon.Add(-30*time.Second + 1) }, ""},
		{"just after", func(_ *lab, n *Node, _ *Host) { n.LastPodEvent = noon.Add(-30 * time.Second) }, goes},
		{"of a pool that is never consolidated", func(l *lab, n *Node, h *Host) {
			l.pool("still").Policy.ConsolidateAfter = new(Never)
			n.LastPodEvent, h.Machine.Pool = noon, key("still")
		}, goes},
		{"of a pool that is not known", func(_ *lab, n *Node, h *Host) { n.LastPodEvent, h.Machine.Pool.Name = noon, "gone" }, goes},
		{"Ready, it is not known since when", func(_ *lab, n *Node, _ *Host) { n.LastPodEvent, n.FirstReady = noon, time.Time{} }, goes},
		{"of none of our hosts", func(l *lab, n *Node, _ *Host) { n.LastPodEvent, l.s.Hosts = noon, l.s.Hosts[:1] }, goes},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := used(t, 3, 3)
			l.s.Pods[1].DoNotDisrupt = true
			row.change(l, &l.s.Nodes[1], &l.s.Hosts[1])
			l.wants(row.want)
		})
	}
}

// TestReplacement of h-0, whose pod fits nowhere else, by a free host s-1.
func TestReplacement(t *testing.T) {
	const goes = "SingleNodeConsolidation replace h-0>s-1"
	for _, row := range []struct {
		name   string
		change func(l *lab, s *Host)
		want   string
		why    string // it stays
	}{
		{"cheaper", func(*lab, *Host) {}, goes, ""},
		{"the same", func(_ *lab, s *Host) { s.Price = watts(400) }, "", "no free host of MachineDeployment metal3/p is cheaper and takes them"},
		{"its price is not known", func(_ *lab, s *Host) { s.Price = Price{} }, "", ""},
		{"the old one's price is not known", func(l *lab, _ *Host) { l.s.Hosts[0].Price = Price{} }, "", ""},
		{"too small", func(_ *lab, s *Host) { s.Capacity = Resources{"cpu": "4", "pods": "110"} }, "", "is cheaper and takes them"},
		{"its capacity is not known", func(_ *lab, s *Host) { s.Capacity = nil }, "", ""},
		{"claimed", func(_ *lab, s *Host) { s.Consumer = "Metal3Machine a/b" }, "", ""},
		{"being inspected", func(_ *lab, s *Host) { s.State = "inspecting" }, "", ""},
		{"failed", func(_ *lab, s *Host) { s.Failed = true }, "", ""},
		{"faults", func(_ *lab, s *Host) { s.Faults = []string{"odd"} }, "", ""},
		{"another namespace", func(_ *lab, s *Host) { s.Namespace = "other" }, "", ""},
		{"not of the pool", func(l *lab, s *Host) { s.Labels = map[string]string{}; labelled(l, "p") }, "", ""},
		{"hostSelector not known", func(l *lab, _ *Host) { l.s.Pools[0].HostSelector = nil }, "", ""},
		{"labels of a new node not known", func(l *lab, _ *Host) { l.s.Pools[0].NodeLabels = nil }, "", ""},
		{"one must stay Ready: the new one", func(l *lab, _ *Host) { l.c.Budgets = nil }, goes, ""},
		{"two must", func(l *lab, _ *Host) { l.c.Budgets = bounds(t, "ready:2") }, "", "(budget ready:2)"},
		{"too long a payback", func(l *lab, _ *Host) { l.c.MaxPayback = Span(time.Minute) }, "", ""},
		{"just too long", func(l *lab, _ *Host) { l.c.MaxPayback = Span(31*time.Minute + 39*time.Second) }, "", "it would pay back in 0.527778 hours only"},
		{"not too long", func(l *lab, _ *Host) { l.c.MaxPayback = Span(31*time.Minute + 40*time.Second) }, goes, ""},
		{"two new ones would be needed", func(l *lab, s *Host) {
			l.s.Pods[0].Requests = Resources{"cpu": "4"}
			l.pod(0, 4)
			s.Capacity = Resources{"cpu": "5", "pods": "110"}
			l.spare(100).Capacity = Resources{"cpu": "5", "pods": "110"}
		}, "", "takes them"},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := used(t, 6)
			row.change(l, l.spare(100))
			l.wants(row.want)
			if p := l.plan(); row.why != "" && (len(p.Later) != 1 || !strings.HasSuffix(p.Later[0].Note, row.why)) {
				t.Errorf("%+v, want %q", p.Later, row.why)
			}
		})
	}
}

// TestReplacementOfSeveral by s-2, which has room for both.
func TestReplacementOfSeveral(t *testing.T) {
	const goes = "MultiNodeConsolidation replace h-0,h-1>s-2"
	lease := func(f float64) Price { return Price{LeasePerHour: &f, LeaseEnds: new(noon.Add(-1))} }
	leased := func(l *lab, s *Host, of float64) {
		l.c.TariffPerKWh, l.c.MaxPayback = nil, Never
		l.s.Hosts[0].Price, l.s.Hosts[1].Price, s.Price = lease(0.2), lease(0.1), lease(of)
	}
	for name, row := range map[string]struct {
		change func(l *lab, s *Host)
		want   string
	}{
		"of their class, and not cheaper":        {func(*lab, *Host) {}, ""},
		"of another class":                       {func(_ *lab, s *Host) { s.Class = "b" }, goes},
		"of their class, and cheaper":            {func(_ *lab, s *Host) { s.Price = watts(399) }, goes},
		"not cheaper than the cheapest":          {func(l *lab, s *Host) { s.Price, l.s.Hosts[0].Price = watts(399), watts(399) }, ""},
		"the pool wants one":                     {func(l *lab, s *Host) { s.Class, l.s.Pools[0].Replicas, l.c.Budgets = "b", 1, bounds(t, "9,ready:0") }, ""},
		"0.1 and 0.2 are 0.3, though not binary": {func(l *lab, s *Host) { s.Class = "b"; leased(l, s, 0.3) }, ""},
		"0.29 is less":                           {func(l *lab, s *Host) { s.Class = "b"; leased(l, s, 0.29) }, goes},
	} {
		l := used(t, 5, 5)
		l.s.Hosts[0].Class, l.s.Hosts[1].Class = "a", "a"
		s := l.spare(400)
		s.Class, s.Capacity = "a", Resources{"cpu": "16", "pods": "110"}
		row.change(l, s)
		if got := told(l.plan()); got != row.want {
			t.Errorf("%s: the plan is %q", name, got)
		}
	}
}

func TestSizesOfReplacements(t *testing.T) {
	for small, want := range map[int]string{maxSizes - 1: fmt.Sprintf("SingleNodeConsolidation replace h-0>s-%d", maxSizes), maxSizes: ""} {
		l := used(t, 20)
		l.s.Nodes[0].Allocatable = Resources{"cpu": "20", "pods": "110"}
		for i := range small {
			l.spare(100).Capacity = Resources{"cpu": fmt.Sprint(i + 1), "pods": "110"}
		}
		l.spare(150).Capacity = Resources{"cpu": "20", "pods": "110"} // the last
		l.wants(want)
	}
}

// TestTheOrderIsBySavingPerCost, of pods too, as Karpenter weighs them.
func TestTheOrderIsBySavingPerCost(t *testing.T) {
	l := used(t, 1, 1, 1, 1, 1, 1)
	l.c.Budgets = budget.List{{Nodes: "0"}, {MinReady: "0"}}
	l.s.Hosts[1].Price = watts(500)
	l.s.Pods[2].DeletionCost = new(int32(math.MaxInt32))
	l.s.Pods[3].Priority = math.MinInt32
	var names []string
	for _, c := range l.plan().Later {
		names = append(names, strings.TrimPrefix(c.Host, "metal3/"))
		if c.DisruptionCost < 1 || c.SavingPerCost != c.SavingPerHour/c.DisruptionCost {
			t.Errorf("%+v: saving per cost does not follow from the others", c)
		}
	}
	if got := strings.Join(names, " "); got != "h-3 h-1 h-0 h-4 h-5 h-2" {
		t.Errorf("the order is %s", got)
	}
	for _, row := range []struct {
		priority int32
		deletion *int32
		want     float64
	}{
		{0, nil, 1}, {1 << 25, nil, 2}, {0, new(int32(1 << 27)), 2}, {-(1 << 25), new(int32(-(1 << 27))), -1},
		{math.MaxInt32, nil, 10}, {math.MinInt32, nil, -10},
	} {
		if got := disruptionCost([]*host{{movers: []*Pod{{Priority: row.priority, DeletionCost: row.deletion}}}}, 20); got != row.want+20 {
			t.Errorf("priority %d, deletion cost %v: %v, want %v", row.priority, row.deletion, got, row.want)
		}
	}
}
