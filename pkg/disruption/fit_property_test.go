package disruption

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// fitDraw draws a small cluster in which most rules matter now and then. rapid likes small numbers: it gives the
// seed alone, or nearly every pod would be one that cannot go.
type fitDraw struct{ *rand.Rand }

func newFitDraw(rt *rapid.T) fitDraw {
	return fitDraw{rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))}
}

func (d fitDraw) often(outOf int) bool       { return d.IntN(outOf) == 0 }
func (d fitDraw) text(from ...string) string { return from[d.IntN(len(from))] }
func (d fitDraw) number(min, max int) int    { return min + d.IntN(max-min+1) }

func (d fitDraw) node(name string) Node {
	n := Node{
		Name: name, Ready: !d.often(16), Unschedulable: d.often(12), Deleting: d.often(12),
		Labels: map[string]string{"zone": d.text("x", "y"), corev1.LabelTopologyZone: d.text("x", "y", "z")},
		Allocatable: Resources{
			"cpu": d.text("2000m", "3000m", "4000m", "8000m"), "memory": d.text("2", "4", "6", "8"), "pods": d.text("2", "4", "9", "9"),
		},
	}
	if d.often(6) {
		delete(n.Labels, corev1.LabelTopologyZone)
	}
	if !d.often(6) {
		n.Labels[corev1.LabelHostname] = name
		if name == "n1" && d.often(3) {
			n.Labels[corev1.LabelHostname] = "n0"
		}
	}
	if d.often(5) {
		n.Taints = []corev1.Taint{{Key: "only", Value: d.text("db", "ml"), Effect: corev1.TaintEffect(d.text("NoSchedule", "NoExecute", "PreferNoSchedule"))}}
	}
	if d.often(3) {
		n.Allocatable["x.com/gpu"] = d.text("0", "1", "2")
	}
	if d.often(2) {
		n.VolumesLeft = map[string]int{"csi.x": d.number(-1, 2)}
	}
	return n
}

func (d fitDraw) nodes() *corev1.NodeSelector {
	s := &corev1.NodeSelector{}
	for range d.number(0, 2) {
		s.NodeSelectorTerms = append(s.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: d.text("zone", "zone", "rack"), Operator: corev1.NodeSelectorOperator(d.text("In", "NotIn", "Near")), Values: []string{d.text("x", "y")}},
		}})
	}
	return s
}

func (d fitDraw) labels() *metav1.LabelSelector {
	switch d.text("labels", "labels", "labels", "in", "bad", "all", "none") {
	case "in":
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: d.text("app", "tier"), Operator: metav1.LabelSelectorOperator(d.text("In", "NotIn")), Values: []string{d.text("a", "b")}},
		}}
	case "bad":
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near", Values: []string{"a"}}}}
	case "all":
		return &metav1.LabelSelector{}
	case "none":
		return nil
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": d.text("a", "b")}}
}

func (d fitDraw) pod(name string, nodes []Node) Pod {
	p := Pod{
		Key: Key{Namespace: d.text("shop", "shop", "bank"), Name: name}, Owner: "ReplicaSet/r", Ready: !d.often(4), Priority: int32(d.number(0, 1)),
		Labels:   map[string]string{"app": d.text("a", "b"), "pod": name},
		Requests: Resources{"cpu": d.text("0", "500m", "1000m", "1500m", "2000m"), "memory": d.text("0", "1", "2", "3")},
	}
	if !d.often(8) {
		p.Node = nodes[d.number(0, len(nodes)-1)].Name
	}
	for _, f := range []struct {
		outOf int
		do    func()
	}{
		{80, func() { p.Owner = "" }}, {80, func() { p.DoNotDisrupt = true }}, {80, func() { p.Unmodelled = []string{"pod affinity"} }},
		{8, func() { p.DaemonSet, p.Owner = true, "DaemonSet/"+name }}, {20, func() { p.Mirror = true }}, {12, func() { p.Finished = true }}, {12, func() { p.Terminating = true }}, {24, func() { p.Terminating, p.Owner = true, "StatefulSet/s" }},
		{6, func() { p.Requests["x.com/gpu"] = d.text("0", "1") }}, {5, func() { p.Labels["tier"] = d.text("a", "b") }}, {30, func() { p.Node = "unknown" }},
		{6, func() {
			p.HostPorts = []string{d.text("TCP", "UDP") + "/" + d.text("", "0.0.0.0", "10.0.0.1", "10.0.0.2") + "/80"}
		}},
		{8, func() { p.NodeSelector = map[string]string{"zone": d.text("x", "y")} }}, {8, func() { p.NodeAffinity = d.nodes() }},
		{4, func() {
			p.Tolerations = []corev1.Toleration{{Key: "only", Value: d.text("db", "ml"), Effect: corev1.TaintEffect(d.text("", "NoSchedule"))}}
		}},
		{12, func() { p.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }},
		{5, func() { p.Volumes = append(p.Volumes, Volume{Name: "v", Driver: d.text("csi.x", "csi.y", "")}) }},
		{12, func() { p.Volumes = append(p.Volumes, Volume{Name: "w", Driver: "csi.x", Nodes: d.nodes()}) }},
		{20, func() {
			p.Tolerations = append(p.Tolerations, corev1.Toleration{Key: "only", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(60))})
		}},
		{5, func() { p.AntiAffinity = append(p.AntiAffinity, d.term(d.topology())) }},
		{150, func() { p.AntiAffinity = append(p.AntiAffinity, d.term("rack")) }},
		{8, func() { p.Affinity = append(p.Affinity, d.term(d.topology())) }},
		{30, func() { p.Affinity = append(p.Affinity, d.term(d.topology())) }},
		{6, func() { p.Spread = append(p.Spread, d.spread()) }},
		{20, func() { p.Spread = append(p.Spread, d.spread()) }},
	} {
		if d.often(f.outOf) {
			f.do()
		}
	}
	return p
}

func (d fitDraw) term(topology string) corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: topology, LabelSelector: d.labels()}
	switch d.text("own", "own", "named", "any") {
	case "named":
		t.Namespaces = []string{d.text("shop", "bank")}
	case "any":
		t.NamespaceSelector = &metav1.LabelSelector{}
	}
	return t
}

func (d fitDraw) topology() string { return d.text(corev1.LabelHostname, corev1.LabelTopologyZone) }

func (d fitDraw) spread() corev1.TopologySpreadConstraint {
	t := corev1.TopologySpreadConstraint{MaxSkew: int32(d.number(1, 2)), TopologyKey: d.topology(), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: d.labels()}
	if d.often(4) {
		t.MinDomains = new(int32(d.number(1, 4)))
	}
	if d.often(4) {
		t.NodeAffinityPolicy = new(corev1.NodeInclusionPolicyIgnore)
	}
	if d.often(4) {
		t.NodeTaintsPolicy = new(corev1.NodeInclusionPolicyHonor)
	}
	if d.often(4) {
		t.MatchLabelKeys = []string{d.text("tier", "app")}
	}
	return t
}

func (d fitDraw) state() *State {
	s := &State{}
	for i := range d.number(2, 5) {
		s.Nodes = append(s.Nodes, d.node(fmt.Sprintf("n%d", i)))
	}
	for i := range d.number(2, 10) {
		s.Pods = append(s.Pods, d.pod(fmt.Sprintf("p%d", i), s.Nodes))
	}
	for i := range d.number(0, 2) {
		p := d.pod(fmt.Sprintf("ds%d", i), s.Nodes)
		p.Owner, p.Node, p.DaemonSet, p.Finished, p.Mirror, p.Terminating = "", "", true, false, false, false
		p.Volumes = nil
		s.DaemonSets = append(s.DaemonSets, p)
	}
	for i := range d.number(0, 2) {
		s.Budgets = append(s.Budgets, PodBudget{
			Key: Key{Namespace: d.text("shop", "bank"), Name: fmt.Sprint("b", i)}, Selector: d.labels(), Allowed: int32(d.number(-1, 4)), Current: !d.often(10),
			UnhealthyPodEvictionPolicy: policyv1.UnhealthyPodEvictionPolicyType(d.text("", "AlwaysAllow", "IfHealthyBudget")),
		})
	}
	return s
}

// Whatever the simulation says is checked by another way: a placement holds in every rule, and where it
// finds none, trying all finds none. A new node is used only where the others are not enough.
func TestPlacementsHoldAndNoneIsMissed(t *testing.T) {
	moved := 0
	rapid.Check(t, func(rt *rapid.T) {
		d := newFitDraw(rt)
		for range 50 {
			s := d.state()
			c, err := newSimulator(context.Background(), s, nil)
			if err != nil {
				rt.Fatal(err)
			}
			for range 2 { // a second answer must not depend on the first
				gone := map[string]bool{}
				var names []string
				for _, n := range s.Nodes {
					if d.often(2) {
						gone[n.Name], names = true, append(names, n.Name)
					}
				}
				var spare *Node
				if d.often(2) {
					n := d.node("spare")
					spare = &n
				}
				got, err := c.without(rt.Context(), fitNamed(s, names...), spare)
				if err != nil {
					rt.Fatal(err)
				}
				fitCompare(rt, c, s, gone, spare, got)
				moved += len(got.moves)
			}
		}
	})
	t.Logf("%d pods moved; %d placements hold, and %d were missed", moved, fitPlaced, fitMissed)
	if moved == 0 || fitMissed > fitPlaced/20 {
		t.Error("too few pods moved")
	}
}

// fitCompare checks an answer by the slow way.
func fitCompare(rt *rapid.T, c fleetSim, s *State, gone map[string]bool, spare *Node, got placement) {
	w := &slowWorld{s: s, gone: gone, spare: spare, at: map[*Pod]*Node{}}
	again := fitWaiting(rt, c, w)
	pods := slices.Concat(again, w.moving())
	fail := func(format string, args ...any) {
		text, _ := json.Marshal(map[string]any{"state": s, "gone": gone, "spare": spare})
		rt.Fatalf("%s\n%s", text, fmt.Sprintf(format, args...))
	}
	if got.blocked != "" {
		if !strings.Contains(got.blocked, "pod ") || len(got.moves) > 0 || got.usedSpare {
			fail("a placement that is none: %+v", got)
		}
		if w.strict = true; w.mayGo() && w.brute(pods) {
			fitMissed++
			if !slices.ContainsFunc(pods, func(p *Pod) bool { return len(p.Affinity)+len(p.Spread) > 0 }) {
				fail("blocked is %q, and trying all places finds one", got.blocked)
			}
		}
		return
	}
	if !w.mayGo() || len(got.moves) != len(w.moving()) {
		fail("%d pods have a place, want %d", len(got.moves), len(w.moving()))
	}
	used := false
	for _, m := range got.moves {
		w.at[m.pod] = spare
		if i := slices.IndexFunc(s.Nodes, func(n Node) bool { return n.Name == m.To }); i >= 0 {
			w.at[m.pod] = &s.Nodes[i]
		}
		used = used || w.at[m.pod] == spare
	}
	if used && !got.usedSpare {
		fail("it says that the new node is not used: %+v", got)
	}
	if !got.usedSpare {
		w.spare = nil
	}
	if w.steps = 0; !w.brute(again) && w.steps < slowSteps {
		fail("the placement does not hold: %+v", got)
	}
	fitPlaced++
	for _, p := range pods {
		delete(w.at, p)
	}
	if w.steps, w.spare, w.strict = 0, nil, true; used && w.brute(pods) && !slices.ContainsFunc(pods, func(p *Pod) bool { return len(p.Affinity)+len(p.Spread) > 0 }) {
		fail("the new node is used, though the others are enough")
	}
}

// fitPlaced and fitMissed count what is placed, and what only trying all places finds.
var fitPlaced, fitMissed int

// fitWaiting checks where waiting pods would get room today, and puts those into w that keep it. It returns the others, which
// need another place.
func fitWaiting(rt *rapid.T, f fleetSim, w *slowWorld) (again []*Pod) {
	today := &slowWorld{s: w.s, gone: map[string]bool{}, at: map[*Pod]*Node{}}
	c := f[Key{}]
	for _, n := range c.nodes {
		for _, p := range n.waiting {
			today.at[p.Pod] = n.Node
		}
	}
	if !today.holds() {
		rt.Fatal("a waiting pod is where it does not fit")
	}
	for i := range w.s.Pods {
		p := &w.s.Pods[i]
		n := today.at[p]
		if n == nil && p.Node == "" && !p.Finished && !p.Terminating && !p.Mirror && today.fits(p) {
			rt.Fatalf("pod %s waits, fits, and gets no room", p.Key)
		}
		switch {
		case n == nil:
		case !w.gone[n.Name]:
			w.at[p] = n
		case !p.DaemonSet:
			again = append(again, p)
		}
	}
	return again
}
