package disruption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// Each test here fails with a mutant that the others let live (make mutants): what plans say, and where bounds are.

// TestDC9_WhoIsLeftIsToldWhy.
func TestDC9_WhoIsLeftIsToldWhy(t *testing.T) {
	l := used(t, 1, 1, 1, 1)
	l.s.Pods[3].DoNotDisrupt = true
	l.host()
	if c := l.plan().Later[0]; c.Note != "Emptiness goes first: a plan has actions of one method" {
		t.Errorf("%+v", c)
	}
	l.s.Hosts = l.s.Hosts[:4]
	l.c.Budgets = budget.List{{Nodes: "2"}, {MinReady: "0"}}
	p := l.plan()
	for _, c := range p.Later {
		if c.Note != "other hosts go first: a later plan looks at it again" {
			t.Errorf("%q leaves %+v", told(p), c)
		}
	}
}

// TestDC10_DemandsOfTwoLabelsAreNotAlike, though they name the same value.
func TestDC10_DemandsOfTwoLabelsAreNotAlike(t *testing.T) {
	label := func(name string) func(*Node) { return func(n *Node) { n.Labels[name] = "x" } }
	wants := func(name string) func(*Pod) { return func(p *Pod) { p.NodeAffinity = fitSelector(name, "x") } }
	fitRow{
		nodes: []Node{fitNodeOf("a"), fitNodeOf("b", label("zone")), fitNodeOf("c", label("rack"))},
		pods:  []Pod{fitPodOf("o", "b", wants("zone")), fitPodOf("p", "a", wants("rack"))}, moves: []string{"p>c"},
	}.run(t)
}

// TestDC10_ANodeThatListsNoCPUIsAnEmptyOne.
func TestDC10_ANodeThatListsNoCPUIsAnEmptyOne(t *testing.T) {
	none := func(n *Node) { n.Allocatable = Resources{"memory": "8Gi", "pods": "10"} }
	fitRow{
		nodes: []Node{fitNodeOf("a"), fitNodeOf("b"), fitNodeOf("c", none)},
		pods:  []Pod{fitPodOf("p", "a", func(p *Pod) { p.Requests = nil }), fitPodOf("q", "b")}, moves: []string{"p>b"},
	}.run(t)
}

// TestDC10_ASimulationEndsWithItsContext, wherever it is.
func TestDC10_ASimulationEndsWithItsContext(t *testing.T) {
	s := State{Nodes: []Node{fitNodeOf("a"), fitNodeOf("b"), fitNodeOf("c")}}
	for i := range 4 {
		s.Pods = append(s.Pods, fitPodOf(fmt.Sprint("p", i), "a", fitAsks("cpu", "3"))) // the third finds no place
	}
	c, err := newSimulator(t.Context(), &s, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := func(left int) (int, error) {
		ctx := &counted{Context: t.Context(), left: left}
		_, err := c.without(ctx, fitNamed(&s, "a"), nil)
		return ctx.asked, err
	}
	all, err := asked(1 << 30)
	if err != nil || all < 10 {
		t.Fatalf("the context is asked %d times: %v", all, err)
	}
	for left := range all {
		if got, err := asked(left); !errors.Is(err, context.Canceled) || got != left+1 {
			t.Errorf("cancelled at look %d: %d looks, %v", left, got, err)
		}
	}
}

// TestDC12_FifteenSizesAreTried.
func TestDC12_FifteenSizesAreTried(t *testing.T) {
	for small, want := range map[int]string{maxSizes - 1: fmt.Sprintf("SingleNodeConsolidation replace h-0>s-%d", maxSizes), maxSizes: ""} {
		l := used(t, 20)
		l.s.Nodes[0].Allocatable = Resources{"cpu": "20"}
		for i := range small {
			l.spare(100).Capacity = Resources{"cpu": fmt.Sprint(i + 1)}
		}
		l.spare(150).Capacity = Resources{"cpu": "20"} // the last
		l.wants(want)
	}
}

// TestDC13_ALeaseOfNothingIsNotHandedBack.
func TestDC13_ALeaseOfNothingIsNotHandedBack(t *testing.T) {
	l := newLab(t, 1)
	l.s.Hosts[0].Price = Price{WattsIdle: new(400.0), LeasePerHour: new(0.0), LeaseEnds: &noon}
	if a := l.plan().Actions[0]; a.Hosts[0].HandBack || a.Saving != "power off saves 0.1 an hour (400 W)" {
		t.Errorf("%+v", a)
	}
}

// TestDC8_ADriftOfNoAgeIsToldWithoutOne.
func TestDC8_ADriftOfNoAgeIsToldWithoutOne(t *testing.T) {
	l := newLab(t, 1)
	l.c.ConsolidateAfter = Never
	field("raid", "1", "5")(&l.s.Hosts[0], nil)
	for created, want := range map[time.Time]int{{}: 1, noon: 2} {
		l.s.Hosts[0].Created = created
		if e := l.plan().Actions[0].Evidence; len(e) != want {
			t.Errorf("made %v: %q", created, e)
		}
	}
}

// TestDC19_WhyHostsStay.
func TestDC19_WhyHostsStay(t *testing.T) {
	const pool = "MachineDeployment metal3/p"
	for _, row := range []struct {
		pods   int
		change func(l *lab)
		want   string
	}{
		{0, func(l *lab) { l.c.Budgets = budget.List{{Nodes: "100%"}} }, pool + ": 0 of its Ready hosts would stay (budget ready:1)"},
		{1, func(l *lab) { l.c.Budgets = budget.List{{Nodes: "0"}, {MinReady: "0"}} }, pool + ": 0 more may be disrupted (budget 0)"},
		{0, func(l *lab) { l.c.Budgets = budget.List{{Nodes: "1000001"}, {MinReady: "0"}} },
			pool + `: 0 more may be disrupted (budget which cannot be read: it must give each budget a whole number 0..1000000 or a percentage 0%..100%, and "1000001" is none)`},
		{0, func(l *lab) {
			l.c.Budgets = budget.List{{Nodes: "0"}, {MinReady: "0"}}
			l.s.Hosts[0].Machine.Pool = Key{}
		}, "hosts of no pool: 0 more may be disrupted (budget 0)"},
		{0, func(l *lab) { l.s.Throttle.Stale = true }, "how Ironic stands is not known: its nodes were not read of late"},
	} {
		l := newLab(t, 1)
		for range row.pods {
			l.pod(0, 1)
		}
		row.change(l)
		if e := l.explain("h-0"); !e.Candidate || !strings.HasSuffix(e.Summary, ", but it stays for now: "+row.want) || e.Conditions[len(e.Conditions)-1].Met {
			t.Errorf("%s\nwant %s", e.Summary, row.want)
		}
	}
	l := newLab(t, 1)
	l.s.Pools[0].Replicas = 0
	if e := l.explain("h-0"); unmet(e) != "Scales" || !strings.HasSuffix(e.Summary, pool+" wants no replicas") {
		t.Error(e.Summary)
	}
}

// TestDC22_WhatIsOfNoUseAnyMoreIsAbandoned.
func TestDC22_WhatIsOfNoUseAnyMoreIsAbandoned(t *testing.T) {
	l := newLab(t, 1)
	p := l.plan()
	l.now, l.s.Hosts[0].DoNotDisrupt = p.ExecuteAfter, true
	err := l.planner().validate(t.Context(), p)
	if err == nil || err.Error() != "churn: host metal3/h-0 is no candidate for Empty any more: its annotation do-not-disrupt forbids it" {
		t.Error(err)
	}
	l.c.PreemptibleOptions = -1
	wantsField(t, l.planner().validate(t.Context(), p), "config.preemptibleOptions")
	l = newLab(t, 2)
	l.c.ConsolidateAfter = Never
	l.s.Pools[0].HostSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "1"}}
	l.s.Hosts[1].Labels = map[string]string{"rack": "1"}
	p = l.plan()
	l.now, l.s.Hosts[0].Labels = p.ExecuteAfter, l.s.Hosts[1].Labels
	field("raid", "1", "5")(&l.s.Hosts[0], nil) // it has drifted, and not as it had
	if err := l.planner().validate(t.Context(), p); told(p) != "Drift reprovision h-0" || err == nil || !strings.Contains(err.Error(), "is no candidate for Drifted any more") {
		t.Errorf("%q: %v", told(p), err)
	}
	l = used(t, 5, 5)
	for i := range l.s.Hosts {
		l.s.Hosts[i].Class = "a"
	}
	s := l.spare(399)
	s.Class, s.Capacity = "a", Resources{"cpu": "16"}
	p = l.plan()
	if told(p) != "MultiNodeConsolidation replace h-0,h-1>s-2" {
		t.Fatal(told(p))
	}
	l.now, l.s.Hosts[2].Price = p.ExecuteAfter, watts(400) // it would still save
	gone := new(Abandoned)
	if err := l.planner().validate(t.Context(), p); !errors.As(err, &gone) || gone.Class != classChurn || !strings.HasSuffix(gone.Why, "is not cheap enough any more") {
		t.Error(err)
	}
}

// TestBoundsOfAState.
func TestBoundsOfAState(t *testing.T) {
	for field, s := range map[string]State{
		"state.podDisruptionBudgets[0].name": {Budgets: make([]PodBudget, maxBudgets)}, "state.podDisruptionBudgets": {Budgets: make([]PodBudget, maxBudgets+1)},
		"state.pools[0].name": {Pools: make([]Pool, maxPools)}, "state.pools": {Pools: make([]Pool, maxPools+1)},
		"state.nodes[0].name": {Nodes: []Node{{Name: strings.Repeat("n", maxName+1)}}}, "": {Nodes: []Node{{Name: strings.Repeat("n", maxName)}}},
	} {
		err := s.check("state")
		if field == "" && err != nil {
			t.Error(err)
		} else if field != "" {
			wantsField(t, err, field)
		}
	}
	if _, err := ReadDocument(strings.NewReader(strings.Repeat("{", maxObjects+1))); err == nil || !strings.HasSuffix(err.Error(), "has more than 4000000 objects") {
		t.Error(err)
	}
	if got := (Key{Name: "a"}).String() + " " + key("a").String(); got != "a metal3/a" {
		t.Error(got)
	}
}

// TestDC6_ReportsSayWhatToDo.
func TestDC6_ReportsSayWhatToDo(t *testing.T) {
	l := newLab(t, 1)
	l.c.ConsolidateAfter = Never
	field("raid", "1", "5")(&l.s.Hosts[0], nil)
	l.s.Hosts[0].Machine.Pool, l.s.Hosts[0].Machine.PoolKind = Key{}, ""
	r := l.plan().Reports[0]
	if want := []string{`raid is "1", and should be "5"`, "nobody would make its Machine again: nothing is done"}; !slices.Equal(r.Evidence, want) || r.Saving != "nothing: nothing is done" {
		t.Errorf("%+v", r)
	}
}

// TestDC8_ADriftedHostIsLeftForWantOfAPlace.
func TestDC8_ADriftedHostIsLeftForWantOfAPlace(t *testing.T) {
	l := used(t, 5, 5)
	l.c.ConsolidateAfter = Never
	field("raid", "1", "5")(&l.s.Hosts[0], nil)
	if p := l.plan(); len(p.Later) != 1 || p.Later[0].Note != "pod default/p-0 fits on no other node" {
		t.Errorf("%+v", p.Later)
	}
}

// TestDC10_WhatHasNoClockIsATarget: a node of a pool that is not known, and one of which it is not known since when it is Ready.
func TestDC10_WhatHasNoClockIsATarget(t *testing.T) {
	for _, change := range []func(l *lab){
		func(l *lab) { l.s.Hosts[1].Machine.Pool.Name = "gone" },
		func(l *lab) { l.s.Nodes[1].FirstReady = time.Time{} },
	} {
		l := used(t, 3, 3)
		l.s.Nodes[1].LastPodEvent = noon
		change(l)
		l.wants("SingleNodeConsolidation release h-0")
	}
}

// TestDC13_AReplacementWhoseDeploymentIsNotKnown takes half an hour.
func TestDC13_AReplacementWhoseDeploymentIsNotKnown(t *testing.T) {
	l := used(t, 6)
	l.s.Throttle.DeployMinutes = 0
	l.spare(100)
	if a := l.plan().Actions[0]; a.SlotMinutes != 50 {
		t.Errorf("%+v", a)
	}
}

// TestDC28_FaultsAreSorted, each told once.
func TestDC28_FaultsAreSorted(t *testing.T) {
	l := newLab(t, 1)
	l.s.Hosts[0].Faults = []string{"b", "a", "b"}
	if p := l.plan(); !slices.Equal(p.Faults, []string{"host metal3/h-0: a", "host metal3/h-0: b"}) {
		t.Errorf("%q", p.Faults)
	}
}
