package disruption_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func TestOneMethodAPass(t *testing.T) {
	l := used("2", "2", "2", "8")
	l.host() // empty
	l.s.Pools[0].Replicas = 5
	for i := range l.s.Hosts {
		l.s.Hosts[i].Labels = map[string]string{"pool": "p"}
	}
	l.s.Pools[0].HostSelector = new("pool=p")
	drift(&l.s.Hosts[0])
	l.s.Hosts[1].Labels = nil
	for _, step := range []struct {
		change     func()
		want, note string // of the first that is left
	}{
		{func() {}, "Emptiness release h-4", "Emptiness"},
		{func() { l.s.Hosts[4].DoNotDisrupt = true }, "StaticDrift reprovision h-0", "StaticDrift"},
		{func() { l.s.Hosts[0].Applied = nil }, "Drift reprovision h-1", "Drift"},
		{func() { l.s.Hosts[1].Labels = l.s.Hosts[0].Labels }, "MultiNodeConsolidation release h-0,h-1,h-2", "first"},
		{func() { l.c.Budgets = bounds("1,ready:0") }, "SingleNodeConsolidation release h-0", "first"},
	} {
		step.change()
		if p := l.plan(t); told(p) != step.want || !strings.Contains(p.Later[0].Note, step.note) {
			t.Errorf("the plan is %q, want %q; it leaves %+v", told(p), step.want, p.Later)
		}
	}
}

// TestOneDriftedHostAPass: those without pods first, then the one with the oldest Machine. How many pods and what they cost does
// not matter.
func TestOneDriftedHostAPass(t *testing.T) {
	for pods, want := range map[[2]int]string{{0, 0}: "h-0", {1, 0}: "h-1", {1, 1}: "h-0", {2, 1}: "h-0", {1, 2}: "h-0"} {
		l := newLab(3)
		l.c.ConsolidateAfter = disruption.Never
		l.s.Hosts[0].Price = watts(4000)
		for i, n := range pods {
			drift(&l.s.Hosts[i])
			l.s.Hosts[i].Machine.Created = noon.Add(time.Duration(i-9) * time.Hour)
			for k := range n {
				l.pod(fmt.Sprintf("%d-%d", i, k), i, "1")
			}
		}
		p := l.plan(t)
		if told(p) != "StaticDrift reprovision "+want || p.Later[0].Note != "one drifted host a pass: metal3/"+want+" goes first" {
			t.Fatalf("of pods %v the plan is %q; later %+v", pods, told(p), p.Later)
		}
		if a := p.Actions[0]; a.SlotMinutes != 40 || a.SavingPerHour != 0 || a.Saving != "nothing: the host is provisioned again" {
			t.Errorf("%+v", a)
		}
	}
}

// TestReplacementOfSeveral by s-2, which has room for both.
func TestReplacementOfSeveral(t *testing.T) {
	const goes, stays = "MultiNodeConsolidation replace h-0,h-1>s-2", ""
	plans(t, func() *lab {
		l := used("5", "5")
		l.spare(400).Capacity = cpus("16")
		for i := range l.s.Hosts {
			l.s.Hosts[i].Class = "a"
		}
		return l
	}, []planRow{
		{"of their class, and not cheaper", func(*lab) {}, stays},
		{"of another class", func(l *lab) { l.s.Hosts[2].Class = "b" }, goes},
		{"of their class, and cheaper", func(l *lab) { l.s.Hosts[2].Price = watts(399) }, goes},
		{"not cheaper than the cheapest", func(l *lab) { l.s.Hosts[2].Price, l.s.Hosts[0].Price = watts(399), watts(399) }, stays},
		{"the pool wants one", func(l *lab) { l.s.Hosts[2].Class, l.s.Pools[0].Replicas, l.c.Budgets = "b", 1, bounds("9,ready:0") }, stays},
	})
}

// TestSearch finds what goes together and saves the most: of few the best, of many the largest prefix.
func TestSearch(t *testing.T) {
	full := func(l *lab, sizes ...int) { // hosts whose pods fill them, of 50 W a pod
		*l = *newLab(len(sizes))
		for i, n := range sizes {
			l.s.Nodes[i].Allocatable["cpu"], l.s.Hosts[i].Price = int64(1000*n), watts(float64(n)*200)
			for k := range n {
				l.pod(fmt.Sprintf("%d-%d", i, k), i, "1")
			}
		}
	}
	blocked := func(hosts int) func(l *lab) { // so many go first and cannot, and two can
		return func(l *lab) {
			*l = *newLab(hosts + 3)
			for i := range hosts + 3 {
				if l.pod(fmt.Sprint(i), i, "1"); i < hosts {
					l.s.Pods[i].Requests["cpu"], l.s.Hosts[i].Price = 8000, watts(4000)
				}
			}
			l.s.Pods[hosts+2].DoNotDisrupt = true
		}
	}
	plans(t, func() *lab { return newLab(0) }, []planRow{
		{"of sets that save the same the smaller one", func(l *lab) {
			full(l, 4, 2, 2, 0)
			for i := range 4 {
				l.s.Pods[i].Priority = math.MaxInt32
			}
			l.s.Hosts[3].DoNotDisrupt, l.s.Nodes[3].Allocatable["cpu"] = true, 4000 // there is room for four
		}, "SingleNodeConsolidation release h-0"},
		{"the one that saves the most", func(l *lab) { full(l, 4, 2, 2); l.spare(600) }, "MultiNodeConsolidation replace h-0,h-1,h-2>s-3"},
		{"one alone, where a new host for both saves less", func(l *lab) { *l = *used("2", "2"); l.spare(700) }, "SingleNodeConsolidation release h-0"},
		{"many block", blocked(50), "MultiNodeConsolidation release h-50,h-51"},
		{"too much to simulate", func(l *lab) {
			*l = *newLab(2)
			for i := range 50_000 {
				l.pod(fmt.Sprint(i), 0, "0").Owner = "ReplicaSet/a"
			}
			l.s.Hosts[1].DoNotDisrupt, l.s.Nodes[1].Allocatable["pods"] = true, 60_000
		}, ""},
	})
	l := newLab(mostHosts + 30)
	for i := range mostHosts + 30 {
		if l.pod(fmt.Sprint(i), i, "1"); i >= mostHosts+10 {
			l.s.Pods[i].DoNotDisrupt = true
		}
	}
	if a := l.plan(t).Actions[0]; len(a.Hosts) != mostHosts || len(a.Moves) != mostHosts || a.SlotMinutes != 20*mostHosts {
		t.Errorf("%d hosts, %d moves, %v slot-minutes", len(a.Hosts), len(a.Moves), a.SlotMinutes)
	}
}

// TestAPoolIsTriedByItself, besides all: hosts of one pool alone can have a replacement.
func TestAPoolIsTriedByItself(t *testing.T) {
	l := newLab(fewCandidates + 1)
	for i := range l.s.Hosts {
		l.pod(fmt.Sprint(i), i, "5")
	}
	l.pool("p-1", fewCandidates)
	l.spare(100).Capacity = cpus(fmt.Sprint(5 * fewCandidates))
	if got := told(l.plan(t)); !strings.HasPrefix(got, "MultiNodeConsolidation replace h-0,h-1,") || !strings.HasSuffix(got, ",h-9>s-11") {
		t.Errorf("the plan is %q", got)
	}
}
