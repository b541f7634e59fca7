package disruption

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// demand is a term of required node affinity.
func demand(key string, operator corev1.NodeSelectorOperator, values ...string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}},
	}}
}

// TestDC10_WhatIsNotKnownOfANewNodeTakesNoPod: labels that differ among the nodes of a pool are none of
// the pool's NodeLabels, and a new node may well have them.
func TestDC10_WhatIsNotKnownOfANewNodeTakesNoPod(t *testing.T) {
	for name, row := range map[string]struct {
		affinity *corev1.NodeSelector
		selector map[string]string
		fits     bool
	}{
		"no demand":                   {fits: true},
		"NotIn of an unknown label":   {affinity: demand("zone", corev1.NodeSelectorOpNotIn, "b")},
		"an unknown label is shunned": {affinity: demand("gpu", corev1.NodeSelectorOpDoesNotExist)},
		"NotIn of a known label":      {affinity: demand("os", corev1.NodeSelectorOpNotIn, "windows"), fits: true},
		"a known label":               {selector: map[string]string{"os": "linux"}, fits: true},
		"the name of the host":        {selector: map[string]string{corev1.LabelHostname: "s-1"}},
		"not the name of a host":      {affinity: demand(corev1.LabelHostname, corev1.NodeSelectorOpNotIn, "s-1")},
		"fields of the node": {affinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"n-9"}}}},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1)
			l.s.Pools[0].NodeLabels = map[string]string{"os": "linux", corev1.LabelHostname: "s-1"}
			l.spare(100).Capacity = Resources{"cpu": "8", "pods": "9"}
			q := l.pod(0, 4)
			q.NodeAffinity, q.NodeSelector = row.affinity, row.selector
			p, err := Plan(context.Background(), &l.s, l.c, l.now)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(told(p), ">s-1"); got != row.fits {
				t.Errorf("the plan is %q, want a replacement: %v; later %+v", told(p), row.fits, p.Later)
			}
		})
	}
}

// counted is a context that is cancelled when it was asked so many times.
type counted struct {
	context.Context
	left, asked int
}

func (c *counted) Err() error {
	if c.asked++; c.asked > c.left {
		return context.Canceled
	}
	return nil
}

// TestLargeStatesEndWithTheirContext: each pod and each anti-affinity that is read looks at it.
func TestLargeStatesEndWithTheirContext(t *testing.T) {
	const n = 20
	l := newLab(t, n)
	for i := range n {
		l.pod(i, 1)
		waits := l.pod(i, 1)
		waits.Node = ""
		waits.Labels = map[string]string{"app": fmt.Sprint(i)}
		fitAvoids("zone", func(a *corev1.PodAffinityTerm) { a.LabelSelector.MatchLabels = waits.Labels })(waits)
	}
	asked := func(left int) (int, error) {
		ctx := &counted{Context: t.Context(), left: left}
		err := newPlanner(&l.s, l.c, l.now).build(ctx)
		return ctx.asked, err
	}
	all, err := asked(1 << 30)
	// Pods and their classes are read, waiting pods get a place.
	if want := 2*n + n + n; err != nil || all < want {
		t.Fatalf("the context is asked %d times, want %d at least: %v", all, want, err)
	}
	for left := range all {
		if got, err := asked(left); !errors.Is(err, context.Canceled) || got != left+1 {
			t.Fatalf("cancelled at look %d: %d looks, %v", left, got, err)
		}
	}
}
