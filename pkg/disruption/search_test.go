package disruption

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// full is a lab of hosts whose pods fill them; h-I has pods of 1 CPU.
func full(t *testing.T, cpus ...int) *lab {
	t.Helper()
	l := newLab(t, len(cpus))
	for i, n := range cpus {
		l.s.Nodes[i].Allocatable = Resources{"cpu": strconv.Itoa(n), "pods": "110"}
		l.s.Hosts[i].Price = watts(float64(n) * 200)
		for range n {
			l.pod(i, 1)
		}
	}
	return l
}

// blocked is a lab with so many hosts that go first and cannot, two that can, and one with room.
func blocked(t *testing.T, blockers int) *lab {
	t.Helper()
	l := newLab(t, blockers+3)
	for i := range blockers {
		l.pod(i, 8)
		l.s.Hosts[i].Price = watts(4000)
	}
	l.pod(blockers, 1)
	l.pod(blockers+1, 1)
	l.pod(blockers+2, 1).DoNotDisrupt = true
	return l
}

// TestSearch finds what goes together and saves the most.
func TestSearch(t *testing.T) {
	for name, row := range map[string]struct {
		lab  func() *lab
		want string
	}{
		"of sets that save the same the smaller one": {func() *lab {
			l := full(t, 4, 2, 2)
			for i := range 4 {
				l.s.Pods[i].Priority = math.MaxInt32
			}
			l.host().DoNotDisrupt = true // there is room for four
			l.s.Nodes[3].Allocatable = Resources{"cpu": "4", "pods": "110"}
			return l
		}, "SingleNodeConsolidation release h-0"},
		"the one that saves the most":               {func() *lab { l := full(t, 4, 2, 2); l.spare(600); return l }, "MultiNodeConsolidation replace h-0,h-1,h-2>s-3"},
		"of few, the one that saves the most alone": {func() *lab { return dearOne(t, maxExact) }, "SingleNodeConsolidation release h-1"},
		"of many, the first":                        {func() *lab { return dearOne(t, maxExact+1) }, "SingleNodeConsolidation release h-0"},
		"a blocker, of few":                         {func() *lab { return blocked(t, 1) }, "MultiNodeConsolidation release h-1,h-2"},
		"many blockers": {func() *lab { return blocked(t, maxSkips-1) },
			fmt.Sprintf("MultiNodeConsolidation release h-%d,h-%d", maxSkips-1, maxSkips)},
		"too many": {func() *lab { return blocked(t, maxSkips) }, fmt.Sprintf("SingleNodeConsolidation release h-%d", maxSkips)},
		"too much to simulate": {func() *lab {
			l := newLab(t, 2)
			for range maxWork {
				l.pod(0, 0)
			}
			l.s.Hosts[1].DoNotDisrupt = true
			return l
		}, ""},
	} {
		l := row.lab()
		if got := told(l.plan()); got != row.want {
			t.Errorf("%s: the plan is %q, want %q", name, got, row.want)
		}
	}
	l := newLab(t, maxBatch+40)
	for i := range maxBatch + 30 {
		l.pod(i, 1)
	}
	for i := maxBatch + 30; i < maxBatch+40; i++ { // room for 5 each, and for nobody else's
		l.pod(i, 3).DoNotDisrupt = true
	}
	if a := l.plan().Actions[0]; len(a.Hosts) != maxBatch || len(a.Moves) != maxBatch || a.SlotMinutes != 20*maxBatch || a.PeakSlots != 5 {
		t.Errorf("%d hosts, %d moves, %v slot-minutes, %d at once", len(a.Hosts), len(a.Moves), a.SlotMinutes, a.PeakSlots)
	}
}

// dearOne is a lab of which one host may go, and h-1 saves the most, and costs even more.
func dearOne(t *testing.T, hosts int) *lab {
	t.Helper()
	l := newLab(t, hosts+1)
	l.c.Budgets = bounds(t, "1,ready:0")
	for i := range hosts {
		l.pod(i, 1)
	}
	l.pod(hosts, 1).DoNotDisrupt = true
	l.s.Hosts[1].Price, l.s.Pods[1].Priority = watts(440), math.MaxInt32
	return l
}

// TestAPoolIsTriedByItself, besides all: hosts of one pool alone can have a replacement.
func TestAPoolIsTriedByItself(t *testing.T) {
	for _, row := range []struct {
		own            int // hosts of the pool that can be replaced together
		watts          float64
		prefix, suffix string
	}{
		{maxExact, 800, "MultiNodeConsolidation replace h-0,h-1,", ",h-9>s-p"},
		{2, 500, "MultiNodeConsolidation replace h-0,h-1", ">s-p"},
		{maxExact, 8000, "SingleNodeConsolidation replace ", " h-10>s-b"}, // which saves more
	} {
		l := newLab(t, 0)
		add := func(n int) {
			for range n {
				l.host()
				l.pod(len(l.s.Hosts)-1, 5)
			}
		}
		add(row.own)
		labelled(l, "p")
		l.pool("b")
		add(maxExact - row.own + 1)
		labelled(l, "b")
		l.s.Hosts[len(l.s.Hosts)-1].Price = watts(row.watts) // the best of all, with a replacement of its own
		for pool, cpu := range map[string]int{"p": 5 * row.own, "b": 5} {
			s := l.spare(100)
			s.Name, s.Labels, s.Capacity = "s-"+pool, map[string]string{"pool": pool}, Resources{"cpu": strconv.Itoa(cpu), "pods": "110"}
		}
		if got := told(l.plan()); !strings.HasPrefix(got, row.prefix) || !strings.HasSuffix(got, row.suffix) {
			t.Errorf("%+v: the plan is %q", row, got)
		}
	}
}

// TestWorkIsUsedUp: each simulation takes one, and one for each pod. A search that is cut short has what it found last.
func TestWorkIsUsedUp(t *testing.T) {
	l := newLab(t, 40)
	for i := range 40 {
		l.pod(i, 3).DoNotDisrupt = i >= 30
	}
	p := l.planner()
	p.work = 60
	if s := p.best(p.candidates(api.PlanUnderutilized)); s == nil || s.at.blocked != "" || len(s.set) < 2 {
		t.Errorf("found %+v", s)
	}
	p.work = 4
	for i, want := range []string{"", "", "the search has come to its bound"} {
		if at := p.simulate(p.hosts[:1], nil); at.blocked != want {
			t.Errorf("simulation %d: %+v", i, at)
		}
	}
}
