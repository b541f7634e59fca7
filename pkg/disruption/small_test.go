package disruption

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// Each test here fails with a mutant that the others let live (make mutants).

// TestDC10_TheClusterStaysAsItIs, however often is asked what would be: of a new node, one with a host name that is there
// already, and one without.
func TestDC10_TheClusterStaysAsItIs(t *testing.T) {
	unnamed := func(n *Node) { n.Labels = nil }
	empty := func(n *Node) { n.Labels = map[string]string{corev1.LabelHostname: ""} }
	for _, s := range []State{{Nodes: []Node{fitNodeOf("a"), fitNodeOf("b"), fitNodeOf("c", empty)}, Pods: []Pod{fitPodOf("p", "a")}}, {}} {
		c, err := newCluster(t.Context(), &s, nil)
		if err != nil {
			t.Fatal(err)
		}
		domains, hosts, all := len(c.domains), len(c.byHost), len(c.nodes)
		for _, spare := range []Node{fitNodeOf("new"), fitNodeOf("b"), fitNodeOf("new", unnamed), fitNodeOf("new")} {
			if _, err := c.without(t.Context(), []string{"a"}, &spare); err != nil {
				t.Fatal(err)
			}
			if len(c.domains) != domains || len(c.byHost) != hosts || len(c.nodes) != all || c.nodes[all-1].node != nil {
				t.Errorf("%d nodes, then %v: %d domains of %d, %d host names of %d", len(s.Nodes), spare.Labels, len(c.domains), domains, len(c.byHost), hosts)
			}
		}
	}
}

// TestDC10_NoDemandIsNotOneThatNothingMeets: a pod without a demand, whose volume no node reaches, is another than one whose
// own demand none meets.
func TestDC10_NoDemandIsNotOneThatNothingMeets(t *testing.T) {
	none := &corev1.NodeSelector{}
	fitRow{
		nodes: []Node{fitNodeOf("a"), fitNodeOf("b")},
		pods: []Pod{
			fitPodOf("o", "b", func(p *Pod) { p.Volumes = []Volume{{Name: "data", Nodes: none}} }),
			fitPodOf("p", "a", func(p *Pod) { p.NodeAffinity = none }),
		},
		blocked: "1 other labels",
	}.run(t)
}

// TestDC10_ExponentsOfAmounts.
func TestDC10_ExponentsOfAmounts(t *testing.T) {
	for text, want := range map[string]int64{"1e30": hugeAmount, "1E-30": 1, "1e3": 1000, "1e18": 1e18} {
		if got, err := quantity("memory", text); err != nil || got != want {
			t.Errorf("%s is %d, %v", text, got, err)
		}
	}
	if got, err := quantity("cpu", "1e30"); err != nil || got != hugeAmount {
		t.Errorf("%d, %v", got, err)
	}
	for _, text := range []string{"1e31", "1e-31"} {
		if got, err := quantity("memory", text); err == nil || err.Error() != "must have an exponent from -30 to 30" {
			t.Errorf("%s is %d, %v", text, got, err)
		}
	}
}

// TestDC14_WhatCannotSaveMoreIsNotSimulated.
func TestDC14_WhatCannotSaveMoreIsNotSimulated(t *testing.T) {
	l := used(t, 1, 1, 1, 1)
	l.s.Pods[3].DoNotDisrupt = true
	l.wants("MultiNodeConsolidation release h-0,h-1,h-2")
	if l.sim.calls != 1 {
		t.Errorf("%d sets are simulated, want the one that has all", l.sim.calls)
	}
}

// TestDC14_WorkIsUsedUp: each simulation takes one, and one for each pod, and nothing is simulated that takes more than is left.
func TestDC14_WorkIsUsedUp(t *testing.T) {
	l := used(t, 1, 1)
	p := l.planner()
	if err := p.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.work = 4
	for i, want := range []bool{true, true, false} {
		if at, err := p.simulate(t.Context(), p.hosts[:1], nil); err != nil || (at.blocked == "") != want {
			t.Errorf("simulation %d: %+v, %v", i, at, err)
		}
	}
}

// TestDC14_OfManyTheFirstThatCanGoes, by saving per cost; of few, the one that saves the most.
func TestDC14_OfManyTheFirstThatCanGoes(t *testing.T) {
	for hosts, want := range map[int]string{maxExact: "h-1", maxExact + 1: "h-0"} {
		l := newLab(t, hosts+1)
		l.c.Budgets = budget.List{{Nodes: "1"}, {MinReady: "0"}}
		for i := range hosts {
			l.pod(i, 1)
		}
		l.pod(hosts, 1).DoNotDisrupt = true
		l.s.Hosts[1].Price = watts(440) // saves the most, and costs even more
		l.s.Pods[1].Priority = math.MaxInt32
		l.wants("SingleNodeConsolidation release " + want)
	}
}

// TestDC14_APoolOfItsOwn: hosts of one pool alone can have a replacement, so each pool is tried besides all of them.
func TestDC14_APoolOfItsOwn(t *testing.T) {
	for _, row := range []struct {
		own    int // hosts of the pool that can be replaced together
		watts  float64
		prefix string
		suffix string
	}{
		{maxExact, 800, "MultiNodeConsolidation replace h-0,h-1,", ",h-9>s-p"},
		{2, 500, "MultiNodeConsolidation replace h-0,h-1", ">s-p"},
		{maxExact, 8000, "SingleNodeConsolidation replace ", " h-10>s-b"}, // which saves more
	} {
		l := newLab(t, 0)
		of := func(pool string, q *Pool) {
			q.HostSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": pool}}
		}
		add := func(pool string) *Host {
			h := l.host()
			h.Labels = map[string]string{"pool": pool}
			l.pod(len(l.s.Hosts)-1, 5)
			return h
		}
		of("p", &l.s.Pools[0])
		for range row.own {
			add("p")
		}
		of("b", l.pool("b"))
		for range maxExact - row.own {
			add("b")
		}
		add("b").Price = watts(row.watts) // the best of all, with a replacement of its own
		for pool, cpu := range map[string]int{"p": 5 * row.own, "b": 5} {
			s := l.spare(100)
			s.Name, s.Labels, s.Capacity = "s-"+pool, map[string]string{"pool": pool}, Resources{"cpu": strconv.Itoa(cpu)}
		}
		if got := told(l.plan()); !strings.HasPrefix(got, row.prefix) || !strings.HasSuffix(got, row.suffix) {
			t.Errorf("%+v: the plan is %q", row, got)
		}
	}
}

// TestDC10_WhoGetsTheRoomOfAPodThatWaits: the one of the higher priority, then the larger one. The others wait on.
func TestDC10_WhoGetsTheRoomOfAPodThatWaits(t *testing.T) {
	waits := func(name, cpu string, priority int32) Pod {
		return fitPodOf(name, "", fitAsks("cpu", cpu), func(p *Pod) { p.Priority = priority })
	}
	for want, pods := range map[string][]Pod{
		"w2": {waits("w1", "3", 0), waits("w2", "3", 1)},
		"w3": {waits("w1", "4", 0), waits("w2", "4", 0), waits("w3", "1", 1), waits("w4", "4", 0)},
		"w4": {waits("w1", "3", 0), waits("w4", "4", 0)},
		"w5": {waits("w5", "3", 0), waits("w6", "3", 0)},
	} {
		fitRow{nodes: []Node{fitNodeOf("a")}, pods: pods, blocked: "shop/" + want + ", which waits for a node"}.run(t)
	}
}

// TestDC10_WhoWantsTheLargerShareIsPlacedFirst, of what the cluster has of each resource.
func TestDC10_WhoWantsTheLargerShareIsPlacedFirst(t *testing.T) {
	fitRow{
		nodes: []Node{fitNodeOf("a"), fitNodeOf("b"), fitNodeOf("c")},
		pods:  []Pod{fitPodOf("p", "a", fitAsks("cpu", "2"), fitAsks("memory", "1Gi")), fitPodOf("q", "a", fitAsks("cpu", "3"), fitAsks("memory", "1"))},
		moves: []string{"p>c", "q>b"},
	}.run(t)
}

// TestDC10_OfTwoPodsTheOneThatFoundNoPlaceGoesFirst.
func TestDC10_OfTwoPodsTheOneThatFoundNoPlaceGoesFirst(t *testing.T) {
	picky := func(p *Pod) { p.NodeSelector = map[string]string{"zone": "x"} }
	fitRow{
		nodes: []Node{fitNodeOf("a"), fitNodeOf("b", fitZone("x")), fitNodeOf("c")},
		pods:  []Pod{fitPodOf("p", "a", fitAsks("cpu", "3")), fitPodOf("q", "a", fitAsks("cpu", "2"), picky)},
		moves: []string{"p>c", "q>b"},
	}.run(t)
}

// TestDC10_OfManyNodesOneIsLeft: rules are kept as bits, 64 in a word.
func TestDC10_OfManyNodesOneIsLeft(t *testing.T) {
	for left := range 130 {
		r := fitRow{nodes: []Node{fitNodeOf("a")}, pods: []Pod{fitPodOf("p", "a")}, moves: []string{fmt.Sprintf("p>n%03d", left)}}
		for i := range 130 {
			r.nodes = append(r.nodes, fitNodeOf(fmt.Sprintf("n%03d", i)))
			if i != left {
				fitTaint(corev1.TaintEffectNoSchedule)(&r.nodes[i+1])
			}
		}
		r.run(t)
	}
}

// TestDC10_TheMostThatANodeHasCanBeAskedFor, and not one more.
func TestDC10_TheMostThatANodeHasCanBeAskedFor(t *testing.T) {
	nodes := []Node{fitNodeOf("a"), fitNodeOf("b", func(n *Node) { n.Allocatable["memory"] = "1Ei" })}
	fitRow{nodes: nodes, pods: []Pod{fitPodOf("p", "a", fitAsks("memory", "1Ei"))}, moves: []string{"p>b"}}.run(t)
	fitRow{nodes: nodes, pods: []Pod{fitPodOf("p", "a", fitAsks("memory", "1152921504606846977"))}, blocked: "too little memory"}.run(t)
}

// TestDC10_LabelsOfOneValueAreNotAlike: a budget selects by name and value.
func TestDC10_LabelsOfOneValueAreNotAlike(t *testing.T) {
	label := func(name string) func(*Pod) { return func(p *Pod) { p.Labels = map[string]string{name: "1"} } }
	selects := func(name string) func(*PodBudget) {
		return func(b *PodBudget) { b.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{name: "1"}} }
	}
	fitRow{
		nodes: []Node{fitNodeOf("a"), fitNodeOf("b")}, pods: []Pod{fitPodOf("o", "b", label("x")), fitPodOf("p", "a", label("y"))},
		pdbs: []PodBudget{fitBudget("x", 0, selects("x")), fitBudget("y", 1, selects("y"))}, moves: []string{"p>b"},
	}.run(t)
}

// TestDC10_ANodeThatNobodyKnowsHoldsNothing, whatever the first one does.
func TestDC10_ANodeThatNobodyKnowsHoldsNothing(t *testing.T) {
	c, err := newCluster(t.Context(), &State{Nodes: []Node{fitNodeOf("a")}, Pods: []Pod{fitPodOf("p", "a", func(p *Pod) { p.Owner = "" })}}, nil)
	if err != nil || c.stuck("a") == "" || c.stuck("nobody") != "" {
		t.Errorf("%v: a is stuck by %q, nobody by %q", err, c.stuck("a"), c.stuck("nobody"))
	}
}

// TestDC12_OneSizeIsSimulatedOnce, however many hosts have it.
func TestDC12_OneSizeIsSimulatedOnce(t *testing.T) {
	l := used(t, 6)
	for range 3 {
		l.spare(100).Capacity = Resources{"cpu": "4"}
	}
	l.explain("h-0")
	if l.sim.calls != 2 {
		t.Errorf("%d simulations, want one without a new host and one with it", l.sim.calls)
	}
}

// TestDC15_BlockersAreSkippedWithinBounds.
func TestDC15_BlockersAreSkippedWithinBounds(t *testing.T) {
	for blockers, want := range map[int]string{maxSkips - 1: "MultiNodeConsolidation", maxSkips: "SingleNodeConsolidation"} {
		l := newLab(t, blockers+3)
		for i := range blockers {
			l.pod(i, 8)
			l.s.Hosts[i].Price = watts(4000)
		}
		l.pod(blockers, 1)
		l.pod(blockers+1, 1)
		l.pod(blockers+2, 1).DoNotDisrupt = true
		if p := l.plan(); string(p.Method) != want {
			t.Errorf("behind %d blockers the plan is %q", blockers, told(p))
		}
	}
}

// TestWhatNoPlanIsMadeOf.
func TestWhatNoPlanIsMadeOf(t *testing.T) {
	for field, change := range map[string]func(l *lab){
		"config.consolidateAfter":                  func(l *lab) { l.c.ConsolidateAfter = -2 },
		"config.maxPayback":                        func(l *lab) { l.c.MaxPayback = -2 },
		"config.preemptibleOptions":                func(l *lab) { l.c.PreemptibleOptions = -1 },
		"state.throttle.waiting":                   func(l *lab) { l.s.Throttle.Waiting = -1 },
		"state.throttle.deployMinutes":             func(l *lab) { l.s.Throttle.DeployMinutes = math.NaN() },
		"state.pools[1].name":                      func(l *lab) { l.pool("p") },
		"state.pools[0].policy.consolidateAfter":   func(l *lab) { l.s.Pools[0].Policy.ConsolidateAfter = new(Span(-2)) },
		"state.pools[0].policy.preemptibleOptions": func(l *lab) { l.s.Pools[0].Policy.PreemptibleOptions = new(-1) },
		"state.hosts[0].machine.name":              func(l *lab) { l.s.Hosts[0].Machine.Name = "" },
		"state.podDisruptionBudgets[1].name":       func(l *lab) { l.s.Budgets = []PodBudget{fitBudget("x", 1), fitBudget("x", 1)} },
	} {
		l := newLab(t, 1)
		change(l)
		_, err := l.planner().plan(t.Context())
		wantsField(t, err, field)
	}
}

// TestReplicasAreANumberOfMachines.
func TestReplicasAreANumberOfMachines(t *testing.T) {
	for replicas, ok := range map[int]bool{-1: false, 0: true, math.MaxInt32: true, math.MaxInt32 + 1: false} {
		l := newLab(t, 0)
		l.s.Pools[0].Replicas = replicas
		_, err := l.planner().plan(context.Background())
		if ok && err != nil {
			t.Error(err)
		}
		if !ok {
			wantsField(t, err, "state.pools[0].replicas")
		}
	}
}

// TestADocumentIsForPeople: what they wrote stands there as they wrote it.
func TestADocumentIsForPeople(t *testing.T) {
	var text strings.Builder
	d := Document{Version: DocumentVersion, Config: Default(), State: State{Nodes: []Node{{Name: "n", Labels: map[string]string{"a": "<b> & c"}}}}}
	if err := d.Write(&text); err != nil || !slices.Contains(strings.Split(text.String(), "\n"), `     "a": "<b> & c"`) {
		t.Errorf("%v\n%s", err, &text)
	}
}
