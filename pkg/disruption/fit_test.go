package disruption

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fitNodeOf is a node that takes pods, with room for 4 CPUs.
func fitNodeOf(name string, change ...func(*Node)) Node {
	n := Node{
		Name: name, Ready: true, Labels: map[string]string{corev1.LabelHostname: name},
		Allocatable: Resources{"cpu": "4", "memory": "8Gi", "pods": "10"},
	}
	for _, f := range change {
		f(&n)
	}
	return n
}

// fitPodOf is a pod of a Deployment that wants 1 CPU.
func fitPodOf(name, node string, change ...func(*Pod)) Pod {
	p := Pod{
		Key: Key{Namespace: "shop", Name: name}, Node: node, Owner: "ReplicaSet/web", Ready: true,
		Labels: map[string]string{"app": "web"}, Requests: Resources{"cpu": "1", "memory": "1Gi"},
	}
	for _, f := range change {
		f(&p)
	}
	return p
}

func fitAsks(name, amount string) func(*Pod) {
	return func(p *Pod) {
		p.Requests = map[string]string{"memory": p.Requests["memory"], "cpu": p.Requests["cpu"], name: amount}
	}
}

func fitAvoids(topology string, change ...func(*corev1.PodAffinityTerm)) func(*Pod) {
	return func(p *Pod) {
		t := corev1.PodAffinityTerm{TopologyKey: topology, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}
		for _, f := range change {
			f(&t)
		}
		p.AntiAffinity = append(p.AntiAffinity, t)
	}
}

func fitTaint(effect corev1.TaintEffect) func(*Node) {
	return func(n *Node) {
		n.Taints = append(n.Taints, corev1.Taint{Key: "only", Value: "db", Effect: effect})
	}
}

func fitSelector(key, value string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
	}}}}
}

func fitZone(zone string) func(*Node) {
	return func(n *Node) { n.Labels["zone"] = zone }
}

func fitBudget(name string, allowed int32, change ...func(*PodBudget)) PodBudget {
	b := PodBudget{
		Key: Key{Namespace: "shop", Name: name}, Allowed: allowed, Current: true,
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}
	for _, f := range change {
		f(&b)
	}
	return b
}

// fitRow is a state, and what becomes of its node a when that goes.
type fitRow struct {
	name  string
	nodes []Node
	pods  []Pod
	pdbs  []PodBudget
	gone  []string // a, if it is nil
	spare *Node
	sets  []Pod // DaemonSets
	hosts []Host
	// moves are POD>NODE; blocked is a part of the sentence.
	moves   []string
	blocked string
}

// fitNamed are nodes of a state by their names.
func fitNamed(s *State, names ...string) (all []*Node) {
	for _, name := range names {
		all = append(all, &s.Nodes[slices.IndexFunc(s.Nodes, func(n Node) bool { return n.Name == name })])
	}
	return all
}

func (r fitRow) run(t *testing.T) {
	t.Helper()
	s := &State{Nodes: r.nodes, Pods: r.pods, Budgets: r.pdbs, DaemonSets: r.sets, Hosts: r.hosts}
	c, err := newSimulator(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	gone := r.gone
	if gone == nil {
		gone = []string{"a"}
	}
	got, err := c.without(t.Context(), fitNamed(s, gone...), r.spare)
	if err != nil {
		t.Fatal(err)
	}
	if r.blocked != "" {
		if !strings.Contains(got.blocked, r.blocked) || !strings.Contains(got.blocked, "pod shop/") {
			t.Errorf("blocked is %q, want a sentence with %q that names the pod", got.blocked, r.blocked)
		}
		return
	}
	var moves []string
	for _, m := range got.moves {
		moves = append(moves, strings.TrimPrefix(m.Pod, "shop/")+">"+m.To)
	}
	if got.blocked != "" || cmp.Diff(r.moves, moves) != "" {
		t.Errorf("blocked %q, moves %v, want %v", got.blocked, moves, r.moves)
	}
}

func TestPodsGoWhereTheyFit(t *testing.T) {
	small := func(n *Node) { n.Allocatable = Resources{"cpu": "1", "memory": "8Gi", "pods": "10"} }
	port := func(p string) func(*Pod) { return func(q *Pod) { q.HostPorts = []string{p} } }
	tolerate := func(p *Pod) {
		p.Tolerations = []corev1.Toleration{{Key: "only", Operator: corev1.TolerationOpEqual, Value: "db"}}
	}
	aMinute := func(p *Pod) {
		p.Tolerations = append(p.Tolerations, corev1.Toleration{Key: "only", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(60))})
	}
	wants := func(zone string) func(*Pod) { return func(p *Pod) { p.NodeSelector = map[string]string{"zone": zone} } }
	affine := func(s *corev1.NodeSelector) func(*Pod) { return func(p *Pod) { p.NodeAffinity = s } }
	disk := func(driver string, s *corev1.NodeSelector) func(*Pod) {
		return func(p *Pod) { p.Volumes = append(p.Volumes, Volume{Name: "data", Driver: driver, Nodes: s}) }
	}
	left := func(n int) func(*Node) { return func(node *Node) { node.VolumesLeft = map[string]int{"csi.x": n} } }
	terminating := func(p *Pod) { p.Terminating = true }
	daemon := func(p *Pod) { p.DaemonSet = true; p.Owner = "DaemonSet/d" }
	broken := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "zone", Operator: "Near", Values: []string{"x"}},
	}}}}
	gpus := func(n string) func(*Node) {
		return func(node *Node) {
			node.Allocatable = Resources{"cpu": "4", "memory": "8Gi", "pods": "10", "x.com/gpu": n}
		}
	}
	a, one := fitNodeOf("a"), fitPodOf("p", "a")
	for _, r := range []fitRow{
		{name: "room", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{one}, moves: []string{"p>b"}},
		{name: "exactly room", nodes: []Node{a, fitNodeOf("b", small)}, pods: []Pod{one}, moves: []string{"p>b"}},
		{name: "the fullest that fits", nodes: []Node{a, fitNodeOf("b"), fitNodeOf("c")}, pods: []Pod{one, fitPodOf("q", "c")}, moves: []string{"p>c"}},
		{name: "equally full: by name", nodes: []Node{fitNodeOf("c"), a, fitNodeOf("b")}, pods: []Pod{one}, moves: []string{"p>b"}},
		{name: "no cpu", nodes: []Node{a, fitNodeOf("b", small)}, pods: []Pod{one, fitPodOf("q", "b")}, blocked: "1 too little cpu"},
		{name: "a finished pod takes no room", nodes: []Node{a, fitNodeOf("b", small)}, pods: []Pod{one, fitPodOf("q", "b", func(p *Pod) { p.Finished = true })}, moves: []string{"p>b"}},
		{name: "a terminating pod takes room", nodes: []Node{a, fitNodeOf("b", small)}, pods: []Pod{one, fitPodOf("q", "b", terminating)}, blocked: "too little cpu"},
		{name: "a daemon takes room", nodes: []Node{a, fitNodeOf("b", small)}, pods: []Pod{one, fitPodOf("q", "b", daemon)}, blocked: "too little cpu"},
		{name: "a terminating pod of a StatefulSet needs one for its successor", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{fitPodOf("q", "a", terminating, func(p *Pod) { p.Owner, p.DoNotDisrupt = "StatefulSet/db", true })}, moves: []string{"q>b"}},
		{name: "and finds none", nodes: []Node{a, fitNodeOf("b", small)}, pods: []Pod{fitPodOf("q", "a", terminating, fitAsks("cpu", "2"), func(p *Pod) { p.Owner = "StatefulSet/db" })}, blocked: "1 too little cpu"},
		{name: "a terminating pod needs no place", nodes: []Node{a}, pods: []Pod{fitPodOf("q", "a", terminating)}},
		{name: "a daemon, a mirror and a finished pod need no place", nodes: []Node{a}, pods: []Pod{
			fitPodOf("d", "a", daemon), fitPodOf("m", "a", func(p *Pod) { p.Mirror = true }), fitPodOf("f", "a", func(p *Pod) { p.Finished = true }),
		}},
		{name: "number of pods", nodes: []Node{a, fitNodeOf("b", func(n *Node) { n.Allocatable = Resources{"cpu": "4", "memory": "8Gi", "pods": "1"} })}, pods: []Pod{one, fitPodOf("q", "b")}, blocked: "1 too little pods"},
		{name: "a node without number of pods takes none", nodes: []Node{a, fitNodeOf("b", func(n *Node) { n.Allocatable = Resources{"cpu": "4", "memory": "8Gi"} })}, pods: []Pod{one}, blocked: "1 too little pods"},
		{name: "a resource that the node does not list", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{fitPodOf("p", "a", fitAsks("x.com/gpu", "1"))}, blocked: "1 too little x.com/gpu"},
		{name: "none of a resource that the node does not list", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{fitPodOf("p", "a", fitAsks("x.com/gpu", "0"))}, moves: []string{"p>b"}},
		{name: "an extended resource", nodes: []Node{a, fitNodeOf("b", gpus("1")), fitNodeOf("c", gpus("2"))}, pods: []Pod{fitPodOf("p", "a", fitAsks("x.com/gpu", "2"))}, moves: []string{"p>c"}},
		{name: "not ready", nodes: []Node{a, fitNodeOf("b", func(n *Node) { n.Ready = false })}, pods: []Pod{one}, blocked: "no other node takes pods"},
		{name: "unschedulable", nodes: []Node{a, fitNodeOf("b", func(n *Node) { n.Unschedulable = true })}, pods: []Pod{one}, blocked: "no other node takes pods"},
		{name: "deleting", nodes: []Node{a, fitNodeOf("b", func(n *Node) { n.Deleting = true })}, pods: []Pod{one}, blocked: "no other node takes pods"},
		{name: "goes too", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{one}, gone: []string{"a", "b"}, blocked: "no other node takes pods"},
		{name: "both find room", nodes: []Node{a, fitNodeOf("b"), fitNodeOf("c")}, pods: []Pod{one, fitPodOf("q", "b")}, gone: []string{"b", "a", "b"}, moves: []string{"p>c", "q>c"}},
		{name: "taint NoSchedule", nodes: []Node{a, fitNodeOf("b", fitTaint(corev1.TaintEffectNoSchedule))}, pods: []Pod{one}, blocked: "1 a taint"},
		{name: "taint NoExecute", nodes: []Node{a, fitNodeOf("b", fitTaint(corev1.TaintEffectNoExecute))}, pods: []Pod{one}, blocked: "1 a taint"},
		{name: "taint PreferNoSchedule", nodes: []Node{a, fitNodeOf("b", fitTaint(corev1.TaintEffectPreferNoSchedule))}, pods: []Pod{one}, moves: []string{"p>b"}},
		{name: "taint tolerated", nodes: []Node{a, fitNodeOf("b", fitTaint(corev1.TaintEffectNoExecute))}, pods: []Pod{fitPodOf("p", "a", tolerate)}, moves: []string{"p>b"}},
		{name: "NoExecute tolerated for a minute", nodes: []Node{a, fitNodeOf("b", fitTaint(corev1.TaintEffectNoExecute))}, pods: []Pod{fitPodOf("p", "a", aMinute)}, blocked: "1 a taint"},
		{name: "NoExecute tolerated, and by another for a minute", nodes: []Node{a, fitNodeOf("b", fitTaint(corev1.TaintEffectNoExecute))}, pods: []Pod{fitPodOf("p", "a", tolerate, aMinute)}, blocked: "1 a taint"},
		{name: "another taint tolerated for a minute", nodes: []Node{a, fitNodeOf("b", fitTaint(corev1.TaintEffectNoSchedule))}, pods: []Pod{fitPodOf("p", "a", tolerate, aMinute)}, moves: []string{"p>b"}},
		{name: "node selector", nodes: []Node{a, fitNodeOf("b", fitZone("x")), fitNodeOf("c", fitZone("y"))}, pods: []Pod{fitPodOf("p", "a", wants("y"))}, moves: []string{"p>c"}},
		{name: "node selector, none", nodes: []Node{a, fitNodeOf("b", fitZone("x"))}, pods: []Pod{fitPodOf("p", "a", wants("y"))}, blocked: "1 other labels"},
		{name: "node affinity", nodes: []Node{a, fitNodeOf("b", fitZone("x")), fitNodeOf("c", fitZone("y"))}, pods: []Pod{fitPodOf("p", "a", affine(fitSelector("zone", "y")))}, moves: []string{"p>c"}},
		{name: "the one that wants the larger share first", nodes: []Node{a, fitNodeOf("b"), fitNodeOf("c")}, pods: []Pod{
			fitPodOf("p", "a", fitAsks("cpu", "2"), fitAsks("memory", "1Gi")), fitPodOf("q", "a", fitAsks("cpu", "3"), fitAsks("memory", "1")),
		}, moves: []string{"p>c", "q>b"}},
		{name: "the one that found no place first", nodes: []Node{a, fitNodeOf("b", fitZone("x")), fitNodeOf("c")}, pods: []Pod{
			fitPodOf("p", "a", fitAsks("cpu", "3")), fitPodOf("q", "a", fitAsks("cpu", "2"), wants("x")),
		}, moves: []string{"p>c", "q>b"}},
		{name: "a node that lists no cpu is an empty one", nodes: []Node{a, fitNodeOf("b"), fitNodeOf("c", func(n *Node) { delete(n.Allocatable, "cpu") })}, pods: []Pod{
			fitPodOf("p", "a", func(p *Pod) { p.Requests = nil }), fitPodOf("q", "b"),
		}, moves: []string{"p>b"}},
		{name: "the most that a node has", nodes: []Node{a, fitNodeOf("b", func(n *Node) { n.Allocatable["memory"] = "1Ei" })}, pods: []Pod{fitPodOf("p", "a", fitAsks("memory", "1Ei"))}, moves: []string{"p>b"}},
		{name: "and one more", nodes: []Node{a, fitNodeOf("b", func(n *Node) { n.Allocatable["memory"] = "1Ei" })}, pods: []Pod{fitPodOf("p", "a", fitAsks("memory", "1152921504606846977"))}, blocked: "too little memory"},
		{name: "node affinity without terms matches none", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{fitPodOf("p", "a", affine(&corev1.NodeSelector{}))}, blocked: "1 other labels"},
		{name: "node affinity that cannot be read", nodes: []Node{a, fitNodeOf("b", fitZone("x"))}, pods: []Pod{fitPodOf("p", "a", affine(broken))}, blocked: "1 other labels"},
		{name: "volume elsewhere", nodes: []Node{a, fitNodeOf("b", fitZone("x"))}, pods: []Pod{fitPodOf("p", "a", disk("", fitSelector("zone", "y")))}, blocked: "1 no way to its volumes"},
		{name: "volume reached", nodes: []Node{a, fitNodeOf("b", fitZone("x")), fitNodeOf("c", fitZone("y"))}, pods: []Pod{fitPodOf("p", "a", disk("", fitSelector("zone", "y")))}, moves: []string{"p>c"}},
		{name: "volume selector that cannot be read", nodes: []Node{a, fitNodeOf("b", fitZone("x"))}, pods: []Pod{fitPodOf("p", "a", disk("", broken))}, blocked: "1 no way to its volumes"},
		{name: "no more volumes", nodes: []Node{a, fitNodeOf("b", left(1))}, pods: []Pod{fitPodOf("p", "a", disk("csi.x", nil)), fitPodOf("q", "a", disk("csi.x", nil))}, blocked: "no room"},
		{name: "two volumes of one pod", nodes: []Node{a, fitNodeOf("b", left(1))}, pods: []Pod{fitPodOf("p", "a", disk("csi.x", nil), disk("csi.x", fitSelector(corev1.LabelHostname, "b")))}, blocked: "1 too little room for volumes of csi.x"},
		{name: "a negative number of volumes", nodes: []Node{a, fitNodeOf("b", left(-1))}, pods: []Pod{fitPodOf("p", "a", disk("csi.x", nil))}, blocked: "room for volumes"},
		{name: "enough volumes", nodes: []Node{a, fitNodeOf("b", left(2))}, pods: []Pod{fitPodOf("p", "a", disk("csi.x", nil)), fitPodOf("q", "a", disk("csi.x", nil))}, moves: []string{"p>b", "q>b"}},
		{name: "a driver without limit", nodes: []Node{a, fitNodeOf("b", left(0))}, pods: []Pod{fitPodOf("p", "a", disk("csi.y", nil))}, moves: []string{"p>b"}},
		{name: "host port taken", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{fitPodOf("p", "a", port("TCP//80")), fitPodOf("q", "b", port("TCP/0.0.0.0/80"))}, blocked: "1 its host port taken"},
		{name: "host port of another address", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{fitPodOf("p", "a", port("TCP/10.0.0.1/80")), fitPodOf("q", "b", port("TCP/10.0.0.2/80"))}, moves: []string{"p>b"}},
		{name: "host port of all addresses", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{fitPodOf("p", "a", port("TCP/10.0.0.1/80")), fitPodOf("q", "b", port("TCP/::/80"))}, blocked: "host port"},
		{name: "host port of another protocol", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{fitPodOf("p", "a", port("TCP//80")), fitPodOf("q", "b", port("UDP//80"))}, moves: []string{"p>b"}},
		{name: "two that move want one port", nodes: []Node{a, fitNodeOf("b"), fitNodeOf("c")}, pods: []Pod{fitPodOf("p", "a", port("TCP//80")), fitPodOf("q", "c", port("//80"))}, gone: []string{"a", "c"}, blocked: "no room"},
	} {
		t.Run(r.name, r.run)
	}
}

func TestAntiAffinity(t *testing.T) {
	const host, zone = corev1.LabelHostname, "rack"
	avoids, a, b := fitAvoids(host), fitNodeOf("a"), fitNodeOf("b")
	other := func(p *Pod) { p.Labels = map[string]string{"app": "db"} }
	away := func(p *Pod) { p.Namespace = "bank" }
	bad := func(t *corev1.PodAffinityTerm) {
		t.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	}
	anywhere := func(t *corev1.PodAffinityTerm) {
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
	}
	named := func(t *corev1.PodAffinityTerm) { t.Namespaces = []string{"shop"} }
	nobody := func(t *corev1.PodAffinityTerm) { t.LabelSelector = nil }
	p := fitPodOf("p", "a")
	for _, r := range []fitRow{
		{name: "its own, beside another", nodes: []Node{a, b}, pods: []Pod{fitPodOf("p", "a", avoids), fitPodOf("q", "b")}, blocked: "1 pods that must not be beside it"},
		{name: "its own, elsewhere", nodes: []Node{a, b, fitNodeOf("c")}, pods: []Pod{fitPodOf("p", "a", avoids), fitPodOf("q", "b")}, moves: []string{"p>c"}},
		{name: "its own, another label", nodes: []Node{a, b}, pods: []Pod{fitPodOf("p", "a", avoids), fitPodOf("q", "b", other)}, moves: []string{"p>b"}},
		{name: "its own, another namespace", nodes: []Node{a, b}, pods: []Pod{fitPodOf("p", "a", avoids), fitPodOf("q", "b", away)}, moves: []string{"p>b"}},
		{name: "its own, any namespace", nodes: []Node{a, b}, pods: []Pod{fitPodOf("p", "a", fitAvoids(host, anywhere)), fitPodOf("q", "b", away)}, blocked: "must not be beside"},
		{name: "its own, without selector", nodes: []Node{a, b}, pods: []Pod{fitPodOf("p", "a", fitAvoids(host, nobody)), fitPodOf("q", "b")}, moves: []string{"p>b"}},
		{name: "its own, that cannot be read", nodes: []Node{a, b}, pods: []Pod{fitPodOf("p", "a", fitAvoids(host, bad)), fitPodOf("q", "b", other)}, blocked: "must not be beside"},
		{name: "its own, by rack", nodes: []Node{a, b}, pods: []Pod{fitPodOf("p", "a", fitAvoids(zone))}, blocked: "which is not simulated"},
		{name: "another's", nodes: []Node{a, b}, pods: []Pod{p, fitPodOf("q", "b", other, avoids)}, blocked: "must not be beside"},
		{name: "another's, of another namespace", nodes: []Node{a, b}, pods: []Pod{p, fitPodOf("q", "b", other, away, avoids)}, moves: []string{"p>b"}},
		{name: "another's, that names the namespace", nodes: []Node{a, b}, pods: []Pod{p, fitPodOf("q", "b", other, away, fitAvoids(host, named))}, blocked: "must not be beside"},
		{name: "another's, that cannot be read", nodes: []Node{a, b}, pods: []Pod{p, fitPodOf("q", "b", other, fitAvoids(host, bad))}, blocked: "must not be beside"},
		{name: "a daemon's", nodes: []Node{a, b}, pods: []Pod{p, fitPodOf("q", "b", other, avoids, func(p *Pod) { p.DaemonSet = true })}, blocked: "must not be beside"},
		{name: "a finished pod's", nodes: []Node{a, b}, pods: []Pod{p, fitPodOf("q", "b", other, avoids, func(p *Pod) { p.Finished = true })}, moves: []string{"p>b"}},
		{name: "another's, by rack, wherever it is", nodes: []Node{a, b, fitNodeOf("c")}, pods: []Pod{p, fitPodOf("q", "c", other, fitAvoids(zone))}, blocked: "kept away by another pod's anti-affinity"},
		{name: "of a node that goes too", nodes: []Node{a, b, fitNodeOf("c")}, gone: []string{"a", "b"}, pods: []Pod{fitPodOf("p", "a", avoids), fitPodOf("q", "b")}, blocked: "no room"},
		{name: "each on its own", nodes: []Node{a, b, fitNodeOf("c"), fitNodeOf("d")}, gone: []string{"a", "b"}, pods: []Pod{fitPodOf("p", "a", avoids), fitPodOf("q", "b", avoids)}, moves: []string{"p>c", "q>d"}},
		{
			name: "two nodes of one host name", nodes: []Node{a, b, fitNodeOf("c", func(n *Node) { n.Labels = map[string]string{host: "b"} })},
			pods: []Pod{fitPodOf("p", "a", avoids), fitPodOf("q", "b")}, blocked: "2 pods that must not be beside it",
		},
	} {
		t.Run(r.name, r.run)
	}
}

func TestPodsThatCannotBeEvicted(t *testing.T) {
	a, b := fitNodeOf("a"), fitNodeOf("b", func(n *Node) { n.Allocatable = Resources{"cpu": "64", "memory": "64Gi", "pods": "100"} })
	sick := func(p *Pod) { p.Ready = false }
	always := func(b *PodBudget) { b.UnhealthyPodEvictionPolicy = policyv1.AlwaysAllow }
	healthy := func(b *PodBudget) { b.UnhealthyPodEvictionPolicy = policyv1.IfHealthyBudget }
	stale := func(b *PodBudget) { b.Current = false }
	elsewhere := func(b *PodBudget) { b.Namespace = "bank" }
	bad := func(b *PodBudget) {
		b.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: "Near"}}}
	}
	none := func(b *PodBudget) { b.Selector = nil }
	all := func(b *PodBudget) { b.Selector = &metav1.LabelSelector{} }
	p, q := fitPodOf("p", "a"), fitPodOf("q", "a")
	pods, two := []Pod{p, q}, []string{"p>b", "q>b"}
	nodes := []Node{a, b, fitNodeOf("c")}
	for _, r := range []fitRow{
		{name: "no owner", nodes: nodes, pods: []Pod{fitPodOf("p", "a", func(p *Pod) { p.Owner = "" })}, blocked: "has no controller"},
		{name: "do not disrupt", nodes: nodes, pods: []Pod{fitPodOf("p", "a", func(p *Pod) { p.DoNotDisrupt = true })}, blocked: "forbids to disrupt"},
		{name: "not modelled", nodes: nodes, pods: []Pod{fitPodOf("p", "a", func(p *Pod) { p.Unmodelled = []string{"topology spread"} })}, blocked: "requires topology spread, which is not simulated"},
		{name: "budget of exactly two", nodes: nodes, pods: pods, pdbs: []PodBudget{fitBudget("x", 2)}, moves: two},
		{name: "budget of one", nodes: nodes, pods: pods, pdbs: []PodBudget{fitBudget("x", 1)}, blocked: "PodDisruptionBudget shop/x allows 1, and 2 of its pods would move"},
		{name: "budget over both nodes", nodes: nodes, gone: []string{"a", "c"}, pods: []Pod{p, fitPodOf("q", "c")}, pdbs: []PodBudget{fitBudget("x", 1)}, blocked: "allows 1, and 2 of its pods"},
		{name: "budget of another namespace", nodes: nodes, pods: pods, pdbs: []PodBudget{fitBudget("x", 0, elsewhere)}, moves: two},
		{name: "budget without selector", nodes: nodes, pods: pods, pdbs: []PodBudget{fitBudget("x", 0, none)}, moves: two},
		{name: "budget of all pods", nodes: nodes, pods: pods, pdbs: []PodBudget{fitBudget("x", 0, all)}, blocked: "allows 0"},
		{name: "budget that cannot be read", nodes: nodes, pods: pods, pdbs: []PodBudget{fitBudget("x", 0, bad)}, blocked: "allows 0"},
		{name: "two budgets", nodes: nodes, pods: pods, pdbs: []PodBudget{fitBudget("x", 9), fitBudget("y", 9)}, blocked: "two PodDisruptionBudgets, shop/x and shop/y"},
		{name: "budget not current", nodes: nodes, pods: pods, pdbs: []PodBudget{fitBudget("x", 9, stale)}, blocked: "status is not current"},
		{name: "budget not current, AlwaysAllow, ready", nodes: nodes, pods: pods, pdbs: []PodBudget{fitBudget("x", 9, stale, always)}, blocked: "status is not current"},
		{
			name: "budget not current, AlwaysAllow, not ready", nodes: nodes, pods: []Pod{fitPodOf("p", "a", sick), fitPodOf("q", "a", sick)},
			pdbs: []PodBudget{fitBudget("x", 0, stale, always)}, moves: two,
		},
		{name: "two budgets, AlwaysAllow, not ready", nodes: nodes, pods: []Pod{fitPodOf("p", "a", sick)}, pdbs: []PodBudget{fitBudget("x", 9, always), fitBudget("y", 9, always)}, blocked: "two PodDisruptionBudgets"},
		{name: "not ready, AlwaysAllow", nodes: nodes, pods: []Pod{p, fitPodOf("q", "a", sick)}, pdbs: []PodBudget{fitBudget("x", 1, always)}, moves: two},
		{name: "not ready, IfHealthyBudget", nodes: nodes, pods: []Pod{p, fitPodOf("q", "a", sick)}, pdbs: []PodBudget{fitBudget("x", 1, healthy)}, blocked: "allows 1, and 2"},
		{name: "not ready, no policy", nodes: nodes, pods: []Pod{p, fitPodOf("q", "a", sick)}, pdbs: []PodBudget{fitBudget("x", 1)}, blocked: "allows 1, and 2"},
		{name: "a terminating pod is not evicted", nodes: nodes, pods: []Pod{p, fitPodOf("q", "a", func(p *Pod) { p.Terminating = true; p.DoNotDisrupt = true })}, pdbs: []PodBudget{fitBudget("x", 1)}, moves: []string{"p>b"}},
	} {
		t.Run(r.name, func(t *testing.T) {
			r.run(t)
			s := &State{Nodes: r.nodes, Pods: r.pods, Budgets: r.pdbs}
			c, err := newSimulator(t.Context(), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.stuck(&s.Nodes[0]); r.gone == nil && (got != "") != (r.blocked != "") {
				t.Errorf("stuck says %q", got)
			}
		})
	}
}
