package disruption

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestWhoGetsTheRoomOfAPodThatWaits: the one of the higher priority, then the larger one. The others wait on.
func TestWhoGetsTheRoomOfAPodThatWaits(t *testing.T) {
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

// TestASimulationEndsWithItsContext, wherever it is.
func TestASimulationEndsWithItsContext(t *testing.T) {
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

// TestWhatIsNotKnownOfANewNodeTakesNoPod: labels that differ among the nodes of a pool are none of
// the pool's NodeLabels, and a new node may well have them.
func TestWhatIsNotKnownOfANewNodeTakesNoPod(t *testing.T) {
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
