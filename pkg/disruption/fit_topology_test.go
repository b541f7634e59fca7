package disruption

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fitIn puts a node into a zone of the scheduler's topology.
func fitIn(zone string) func(*Node) {
	return func(n *Node) { n.Labels[corev1.LabelTopologyZone] = zone }
}

// fitWants makes a pod want those of an app beside it.
func fitWants(topology, app string, change ...func(*corev1.PodAffinityTerm)) func(*Pod) {
	return func(p *Pod) {
		t := corev1.PodAffinityTerm{TopologyKey: topology, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
		for _, f := range change {
			f(&t)
		}
		p.Affinity = append(p.Affinity, t)
	}
}

func fitSpreads(topology string, change ...func(*corev1.TopologySpreadConstraint)) func(*Pod) {
	return func(p *Pod) {
		t := corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: topology, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}
		for _, f := range change {
			f(&t)
		}
		p.Spread = append(p.Spread, t)
	}
}

func TestAffinity(t *testing.T) {
	const host, zone = corev1.LabelHostname, corev1.LabelTopologyZone
	a, b, c := fitNodeOf("a", fitIn("x")), fitNodeOf("b", fitIn("x")), fitNodeOf("c", fitIn("y"))
	db := func(p *Pod) { p.Labels = map[string]string{"app": "db"} }
	away := func(p *Pod) { p.Namespace = "bank" }
	ends := func(p *Pod) { p.Terminating = true }
	p := func(change ...func(*Pod)) Pod { return fitPodOf("p", "a", change...) }
	nodes := []Node{a, b, c}
	for _, r := range []fitRow{
		{name: "beside one on its node", nodes: nodes, pods: []Pod{p(fitWants(host, "db")), fitPodOf("q", "c", db)}, moves: []string{"p>c"}},
		{name: "beside one in its zone", nodes: nodes, pods: []Pod{p(fitWants(zone, "db")), fitPodOf("q", "c", db), fitPodOf("r", "b", fitAsks("cpu", "2"))}, moves: []string{"p>c"}},
		{name: "nobody is there", nodes: nodes, pods: []Pod{p(fitWants(zone, "db"))}, blocked: "2 no pods beside which it must be"},
		{name: "one of another namespace", nodes: nodes, pods: []Pod{p(fitWants(zone, "db")), fitPodOf("q", "c", db, away)}, blocked: "no pods beside which"},
		{name: "of any namespace", nodes: nodes, pods: []Pod{p(fitWants(zone, "db", func(t *corev1.PodAffinityTerm) { t.NamespaceSelector = &metav1.LabelSelector{} })), fitPodOf("q", "c", db, away)}, moves: []string{"p>c"}},
		{name: "of namespaces with a label", nodes: nodes, pods: []Pod{p(fitWants(zone, "db", func(t *corev1.PodAffinityTerm) {
			t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
		})), fitPodOf("q", "c", db)}, blocked: "which is not simulated"},
		{name: "by rack", nodes: nodes, pods: []Pod{p(fitWants("rack", "db")), fitPodOf("q", "c", db)}, blocked: `requires affinity by "rack"`},
		{name: "one that terminates is no company", nodes: nodes, pods: []Pod{p(fitWants(zone, "db")), fitPodOf("q", "c", db, ends)}, blocked: "no pods beside which"},
		{name: "one that waits is no company", nodes: nodes, pods: []Pod{p(fitWants(zone, "db")), fitPodOf("q", "", db)}, blocked: "no pods beside which"},
		{name: "the first of its kind goes anywhere", nodes: nodes, pods: []Pod{p(fitWants(host, "web"))}, moves: []string{"p>b"}},
		{name: "the second of its kind does not", nodes: nodes, pods: []Pod{p(fitWants(host, "web")), fitPodOf("q", "c")}, moves: []string{"p>c"}},
		{name: "both terms take the same pod", nodes: nodes, pods: []Pod{p(fitWants(zone, "db"), fitWants(host, "db")), fitPodOf("q", "c", db)}, moves: []string{"p>c"}},
		{name: "two terms that no pod meets", nodes: nodes, pods: []Pod{p(fitWants(zone, "db"), fitWants(zone, "web")), fitPodOf("q", "b", db), fitPodOf("r", "b")}, blocked: "no pods beside which"},
		{name: "a node without a zone", nodes: []Node{a, fitNodeOf("b"), c}, pods: []Pod{p(fitWants(zone, "db")), fitPodOf("q", "b", db)}, blocked: "no pods beside which"},
		{name: "both go, the one that is wanted first", nodes: nodes, gone: []string{"a"}, pods: []Pod{p(fitWants(host, "db"), fitAsks("cpu", "2")), fitPodOf("q", "a", db)}, moves: []string{"p>b", "q>b"}},
		{name: "who selects what it cannot read wants nobody", nodes: nodes, pods: []Pod{p(fitWants(zone, "db", func(t *corev1.PodAffinityTerm) {
			t.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
		})), fitPodOf("q", "b", db)}, blocked: "no pods beside which"},
		{name: "apart by zone", nodes: nodes, pods: []Pod{p(fitAvoids(zone)), fitPodOf("q", "b")}, moves: []string{"p>c"}},
		{name: "kept out of a zone", nodes: nodes, pods: []Pod{p(), fitPodOf("q", "b", db, fitAvoids(zone))}, moves: []string{"p>c"}},
		{name: "apart by zone, of a node without one", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{p(fitAvoids(zone)), fitPodOf("q", "b")}, moves: []string{"p>b"}},
	} {
		t.Run(r.name, r.run)
	}
}

func TestTopologySpread(t *testing.T) {
	const host, zone = corev1.LabelHostname, corev1.LabelTopologyZone
	a, b, c := fitNodeOf("a", fitIn("x")), fitNodeOf("b", fitIn("x")), fitNodeOf("c", fitIn("y"))
	small := func(n *Node) { n.Allocatable = Resources{"cpu": "1", "memory": "8Gi", "pods": "10"} }
	waits := func(p *Pod) { p.Owner, p.Requests = "ReplicaSet/other", Resources{"cpu": "0"} }
	policy := func(of corev1.NodeInclusionPolicy) *corev1.NodeInclusionPolicy { return &of }
	least := func(n int32) func(*corev1.TopologySpreadConstraint) {
		return func(t *corev1.TopologySpreadConstraint) { t.MinDomains = &n }
	}
	p := func(change ...func(*Pod)) Pod { return fitPodOf("p", "a", change...) }
	zoned := func(p *Pod) { p.NodeSelector = map[string]string{zone: "x"} }
	nodes := []Node{a, b, c}
	for _, r := range []fitRow{
		{name: "where fewer are", nodes: nodes, pods: []Pod{p(fitSpreads(zone)), fitPodOf("q", "b")}, moves: []string{"p>c"}},
		{name: "as many everywhere", nodes: nodes, pods: []Pod{p(fitSpreads(zone)), fitPodOf("q", "b"), fitPodOf("r", "c")}, moves: []string{"p>b"}},
		{name: "the node that goes is no domain", nodes: nodes, pods: []Pod{p(fitSpreads(host)), fitPodOf("q", "b"), fitPodOf("r", "c")}, moves: []string{"p>b"}},
		{name: "no room where fewer are", nodes: []Node{a, b, fitNodeOf("c", fitIn("y"), small)}, pods: []Pod{p(fitSpreads(zone), fitAsks("cpu", "2")), fitPodOf("q", "b")}, blocked: "1 too many of its pods for its topology spread"},
		{name: "a skew of two", nodes: nodes, pods: []Pod{p(fitSpreads(zone, func(t *corev1.TopologySpreadConstraint) { t.MaxSkew = 2 })), fitPodOf("q", "b")}, moves: []string{"p>b"}},
		{name: "too few domains", nodes: nodes, pods: []Pod{p(fitSpreads(zone, least(3))), fitPodOf("q", "b"), fitPodOf("r", "c")}, blocked: "2 too many of its pods"},
		{name: "enough domains", nodes: nodes, pods: []Pod{p(fitSpreads(zone, least(2))), fitPodOf("q", "b"), fitPodOf("r", "c")}, moves: []string{"p>b"}},
		{name: "zones that it may not be in do not count", nodes: nodes, pods: []Pod{p(fitSpreads(zone), zoned), fitPodOf("q", "b")}, moves: []string{"p>b"}},
		{name: "zones that it may not be in count", nodes: nodes, pods: []Pod{p(zoned, fitSpreads(zone, func(t *corev1.TopologySpreadConstraint) {
			t.NodeAffinityPolicy = policy(corev1.NodeInclusionPolicyIgnore)
		})), fitPodOf("q", "b")}, blocked: "1 too many of its pods"},
		{name: "tainted nodes count", nodes: []Node{a, b, fitNodeOf("c", fitIn("y"), fitTaint(corev1.TaintEffectNoSchedule))}, pods: []Pod{p(fitSpreads(zone)), fitPodOf("q", "b")}, blocked: "too many of its pods"},
		{name: "tainted nodes do not count", nodes: []Node{a, b, fitNodeOf("c", fitIn("y"), fitTaint(corev1.TaintEffectNoSchedule))}, pods: []Pod{p(fitSpreads(zone, func(t *corev1.TopologySpreadConstraint) { t.NodeTaintsPolicy = policy(corev1.NodeInclusionPolicyHonor) })), fitPodOf("q", "b")}, moves: []string{"p>b"}},
		{name: "pods that terminate do not count where the fewest are", nodes: nodes, pods: []Pod{p(fitSpreads(zone)), fitPodOf("q", "b"), fitPodOf("r", "c", func(p *Pod) { p.Terminating = true }), fitPodOf("s", "c", fitAsks("cpu", "3"), func(p *Pod) { p.Labels = nil })}, blocked: "too many of its pods"},
		{name: "pods that wait do not count where the fewest are", nodes: nodes, pods: []Pod{p(fitSpreads(zone), fitAsks("cpu", "3")), fitPodOf("q", "b"), fitPodOf("w", "", fitAsks("cpu", "2"), waits, func(p *Pod) { p.NodeSelector = map[string]string{zone: "y"} })}, blocked: "too many of its pods"},
		{name: "only pods of this revision count", nodes: nodes, pods: []Pod{p(func(p *Pod) { p.Labels["rev"] = "2" }, fitSpreads(zone, func(t *corev1.TopologySpreadConstraint) { t.MatchLabelKeys = []string{"rev"} })), fitPodOf("q", "b", func(p *Pod) { p.Labels["rev"] = "1" })}, moves: []string{"p>b"}},
		{name: "only pods of its namespace count", nodes: nodes, pods: []Pod{p(fitSpreads(zone)), fitPodOf("q", "b", func(p *Pod) { p.Namespace = "bank" })}, moves: []string{"p>b"}},
		{name: "ScheduleAnyway", nodes: nodes, pods: []Pod{p(fitSpreads(zone, func(t *corev1.TopologySpreadConstraint) { t.WhenUnsatisfiable = corev1.ScheduleAnyway })), fitPodOf("q", "b")}, moves: []string{"p>b"}},
		{name: "a node without a zone", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{p(fitSpreads(zone))}, blocked: "1 too many of its pods"},
		{name: "by rack", nodes: nodes, pods: []Pod{p(fitSpreads("rack"))}, blocked: `requires topology spread by "rack"`},
		{name: "a selector that cannot be read", nodes: nodes, pods: []Pod{p(fitSpreads(zone, func(t *corev1.TopologySpreadConstraint) {
			t.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
		}))}, blocked: "2 too many of its pods"},
		{name: "three go, one to each", nodes: []Node{a, b, c, fitNodeOf("d", fitIn("z"))}, pods: []Pod{p(fitSpreads(host)), fitPodOf("q", "a", fitSpreads(host)), fitPodOf("r", "a", fitSpreads(host))}, moves: []string{"p>b", "q>c", "r>d"}},
		{name: "one without a spread is counted too", nodes: nodes, pods: []Pod{p(fitSpreads(zone, least(2)), fitAsks("cpu", "2")), fitPodOf("q", "a", fitAsks("cpu", "3"), func(p *Pod) { p.NodeSelector = map[string]string{zone: "x"} })}, moves: []string{"p>c", "q>b"}},
	} {
		t.Run(r.name, r.run)
	}
}

// The node that does not exist yet: its host name is new, and its zone may not be known.
func TestTopologyOfANewNode(t *testing.T) {
	const host, zone = corev1.LabelHostname, corev1.LabelTopologyZone
	unzoned, zoned := fitNodeOf("new"), fitNodeOf("new", fitIn("x"))
	full := fitNodeOf("b", fitIn("x"), func(n *Node) { n.Allocatable["cpu"] = "1" })
	a, q := fitNodeOf("a", fitIn("x")), fitPodOf("q", "b")
	p := func(change ...func(*Pod)) Pod { return fitPodOf("p", "a", change...) }
	for _, r := range []fitRow{
		{name: "its host is its own", spare: &unzoned, pods: []Pod{p(fitAvoids(host)), q}, moves: []string{"p>new"}},
		{name: "nobody is there", spare: &unzoned, pods: []Pod{p(fitWants(host, "web")), q}, blocked: "1 no pods beside which it must be"},
		{name: "its zone is that of others", spare: &zoned, pods: []Pod{p(fitWants(zone, "web")), q}, moves: []string{"p>new"}},
		{name: "its zone is taken", spare: &zoned, pods: []Pod{p(fitAvoids(zone)), q}, blocked: "1 pods that must not be beside it"},
		{name: "its zone is not known: apart", spare: &unzoned, pods: []Pod{p(fitAvoids(zone)), q}, blocked: "1 other labels"},
		{name: "its zone is not known: kept out", spare: &unzoned, pods: []Pod{p(), fitPodOf("q", "b", fitAvoids(zone))}, blocked: "1 other labels"},
		{name: "its zone is not known: beside", spare: &unzoned, pods: []Pod{p(fitWants(zone, "web")), q}, blocked: "1 other labels"},
		{name: "its zone is not known: spread", spare: &unzoned, pods: []Pod{p(fitSpreads(zone)), q}, blocked: "1 other labels"},
		{name: "its zone is not known: counted", spare: &unzoned, pods: []Pod{p(), fitPodOf("q", "b", fitSpreads(zone))}, blocked: "1 other labels"},
		{name: "spread by host", spare: &unzoned, pods: []Pod{p(fitSpreads(host)), q}, moves: []string{"p>new"}},
	} {
		r.nodes = []Node{a, full}
		t.Run(r.name, r.run)
	}
}

// Clusters with equal names: pods stay in their own, and so do budgets, terms and DaemonSets.
func TestClustersDoNotMeet(t *testing.T) {
	x, y := Key{Namespace: "metal3", Name: "x"}, Key{Namespace: "metal3", Name: "y"}
	s := &State{}
	for _, k := range []Key{x, y} {
		in := func(n *Node) { n.Cluster = k }
		s.Nodes = append(s.Nodes, fitNodeOf("a", in), fitNodeOf("b", in))
		s.Pods = append(s.Pods, fitPodOf("p", "a", func(p *Pod) { p.Cluster = k }))
	}
	s.Pods[1].AntiAffinity = []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{}}}
	s.Nodes[3].Allocatable["cpu"] = "1"
	s.Budgets = []PodBudget{fitBudget("x", 0, func(b *PodBudget) { b.Cluster = Key{} })} // of a third
	f, err := newSimulator(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.without(t.Context(), []*Node{&s.Nodes[0], &s.Nodes[2]}, nil)
	if err != nil || len(got.moves) != 2 || got.moves[0].pod != &s.Pods[0] || got.moves[1].pod != &s.Pods[1] || got.moves[0].To != "b" {
		t.Errorf("%+v, %v", got, err)
	}
	s.Nodes[3].Unschedulable = true
	spare := fitNodeOf("new", func(n *Node) { n.Cluster = x })
	if f, err = newSimulator(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	if got, _ := f.without(t.Context(), []*Node{&s.Nodes[2]}, &spare); !strings.Contains(got.blocked, "no other node takes pods") {
		t.Errorf("a pod of y goes to a node of x: %+v", got)
	}
	spare.Cluster = y
	if got, err := f.without(t.Context(), []*Node{&s.Nodes[0], &s.Nodes[2]}, &spare); err != nil || !got.usedSpare || got.moves[1].To != "new" {
		t.Errorf("%+v, %v", got, err)
	}
}
