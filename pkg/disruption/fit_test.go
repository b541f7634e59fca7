package disruption

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
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
	// moves are POD>NODE; blocked is a part of the sentence.
	moves   []string
	blocked string
}

func (r fitRow) run(t *testing.T) {
	t.Helper()
	c, err := newCluster(&State{Nodes: r.nodes, Pods: r.pods, Budgets: r.pdbs}, nil)
	if err != nil {
		t.Fatal(err)
	}
	gone := r.gone
	if gone == nil {
		gone = []string{"a"}
	}
	got, err := c.without(t.Context(), gone, r.spare)
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

func TestDC10_PodsGoWhereTheyFit(t *testing.T) {
	small := func(n *Node) { n.Allocatable = Resources{"cpu": "1", "memory": "8Gi", "pods": "10"} }
	port := func(p string) func(*Pod) { return func(q *Pod) { q.HostPorts = []string{p} } }
	tolerate := func(p *Pod) {
		p.Tolerations = []corev1.Toleration{{Key: "only", Operator: corev1.TolerationOpEqual, Value: "db"}}
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
		{name: "node selector", nodes: []Node{a, fitNodeOf("b", fitZone("x")), fitNodeOf("c", fitZone("y"))}, pods: []Pod{fitPodOf("p", "a", wants("y"))}, moves: []string{"p>c"}},
		{name: "node selector, none", nodes: []Node{a, fitNodeOf("b", fitZone("x"))}, pods: []Pod{fitPodOf("p", "a", wants("y"))}, blocked: "1 other labels"},
		{name: "node affinity", nodes: []Node{a, fitNodeOf("b", fitZone("x")), fitNodeOf("c", fitZone("y"))}, pods: []Pod{fitPodOf("p", "a", affine(fitSelector("zone", "y")))}, moves: []string{"p>c"}},
		{name: "node affinity without terms matches none", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{fitPodOf("p", "a", affine(&corev1.NodeSelector{}))}, blocked: "1 other labels"},
		{name: "node affinity that cannot be read", nodes: []Node{a, fitNodeOf("b", fitZone("x"))}, pods: []Pod{fitPodOf("p", "a", affine(broken))}, blocked: "1 other labels"},
		{name: "volume elsewhere", nodes: []Node{a, fitNodeOf("b", fitZone("x"))}, pods: []Pod{fitPodOf("p", "a", disk("", fitSelector("zone", "y")))}, blocked: "1 no way to its volumes"},
		{name: "volume reached", nodes: []Node{a, fitNodeOf("b", fitZone("x")), fitNodeOf("c", fitZone("y"))}, pods: []Pod{fitPodOf("p", "a", disk("", fitSelector("zone", "y")))}, moves: []string{"p>c"}},
		{name: "volume selector that cannot be read", nodes: []Node{a, fitNodeOf("b", fitZone("x"))}, pods: []Pod{fitPodOf("p", "a", disk("", broken))}, blocked: "1 no way to its volumes"},
		{name: "no more volumes", nodes: []Node{a, fitNodeOf("b", left(1))}, pods: []Pod{fitPodOf("p", "a", disk("csi.x", nil)), fitPodOf("q", "a", disk("csi.x", nil))}, blocked: "no room"},
		{name: "two volumes of one pod", nodes: []Node{a, fitNodeOf("b", left(1))}, pods: []Pod{fitPodOf("p", "a", disk("csi.x", nil), disk("csi.x", nil))}, blocked: "1 too little room for volumes of csi.x"},
		{name: "a negative number of volumes", nodes: []Node{a, fitNodeOf("b", left(-1))}, pods: []Pod{fitPodOf("p", "a", disk("csi.x", nil))}, blocked: "room for volumes"},
		{name: "enough volumes", nodes: []Node{a, fitNodeOf("b", left(2))}, pods: []Pod{fitPodOf("p", "a", disk("csi.x", nil)), fitPodOf("q", "a", disk("csi.x", nil))}, moves: []string{"p>b", "q>b"}},
		{name: "a driver without limit", nodes: []Node{a, fitNodeOf("b", left(0))}, pods: []Pod{fitPodOf("p", "a", disk("csi.y", nil))}, moves: []string{"p>b"}},
		{name: "host port taken", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{fitPodOf("p", "a", port("TCP//80")), fitPodOf("q", "b", port("TCP/0.0.0.0/80"))}, blocked: "1 its host port taken"},
		{name: "host port of another address", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{fitPodOf("p", "a", port("TCP/10.0.0.1/80")), fitPodOf("q", "b", port("TCP/10.0.0.2/80"))}, moves: []string{"p>b"}},
		{name: "host port of all addresses", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{fitPodOf("p", "a", port("TCP/10.0.0.1/80")), fitPodOf("q", "b", port("TCP/::/80"))}, blocked: "host port"},
		{name: "host port of another protocol", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{fitPodOf("p", "a", port("TCP//80")), fitPodOf("q", "b", port("UDP//80"))}, moves: []string{"p>b"}},
		{name: "two that move want one port", nodes: []Node{a, fitNodeOf("b")}, pods: []Pod{fitPodOf("p", "a", port("TCP//80")), fitPodOf("q", "c", port("//80"))}, gone: []string{"a", "c"}, blocked: "no room"},
	} {
		t.Run(r.name, r.run)
	}
}

func TestDC10_AntiAffinity(t *testing.T) {
	const host, zone = corev1.LabelHostname, corev1.LabelTopologyZone
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
		{name: "its own, by zone", nodes: []Node{a, b}, pods: []Pod{fitPodOf("p", "a", fitAvoids(zone))}, blocked: "which is not simulated"},
		{name: "another's", nodes: []Node{a, b}, pods: []Pod{p, fitPodOf("q", "b", other, avoids)}, blocked: "must not be beside"},
		{name: "another's, of another namespace", nodes: []Node{a, b}, pods: []Pod{p, fitPodOf("q", "b", other, away, avoids)}, moves: []string{"p>b"}},
		{name: "another's, that names the namespace", nodes: []Node{a, b}, pods: []Pod{p, fitPodOf("q", "b", other, away, fitAvoids(host, named))}, blocked: "must not be beside"},
		{name: "another's, that cannot be read", nodes: []Node{a, b}, pods: []Pod{p, fitPodOf("q", "b", other, fitAvoids(host, bad))}, blocked: "must not be beside"},
		{name: "a daemon's", nodes: []Node{a, b}, pods: []Pod{p, fitPodOf("q", "b", other, avoids, func(p *Pod) { p.DaemonSet = true })}, blocked: "must not be beside"},
		{name: "a finished pod's", nodes: []Node{a, b}, pods: []Pod{p, fitPodOf("q", "b", other, avoids, func(p *Pod) { p.Finished = true })}, moves: []string{"p>b"}},
		{name: "another's, by zone, wherever it is", nodes: []Node{a, b, fitNodeOf("c")}, pods: []Pod{p, fitPodOf("q", "c", other, fitAvoids(zone))}, blocked: "kept away by another pod's anti-affinity"},
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

func TestDC10_PodsThatCannotBeEvicted(t *testing.T) {
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
		{name: "not ready, AlwaysAllow", nodes: nodes, pods: []Pod{p, fitPodOf("q", "a", sick)}, pdbs: []PodBudget{fitBudget("x", 1, always)}, moves: two},
		{name: "not ready, IfHealthyBudget", nodes: nodes, pods: []Pod{p, fitPodOf("q", "a", sick)}, pdbs: []PodBudget{fitBudget("x", 1, healthy)}, blocked: "allows 1, and 2"},
		{name: "not ready, no policy", nodes: nodes, pods: []Pod{p, fitPodOf("q", "a", sick)}, pdbs: []PodBudget{fitBudget("x", 1)}, blocked: "allows 1, and 2"},
		{name: "a terminating pod is not evicted", nodes: nodes, pods: []Pod{p, fitPodOf("q", "a", func(p *Pod) { p.Terminating = true; p.DoNotDisrupt = true })}, pdbs: []PodBudget{fitBudget("x", 1)}, moves: []string{"p>b"}},
	} {
		t.Run(r.name, func(t *testing.T) {
			r.run(t)
			c, err := newCluster(&State{Nodes: r.nodes, Pods: r.pods, Budgets: r.pdbs}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.stuck("a"); r.gone == nil && (got != "") != (r.blocked != "") {
				t.Errorf("stuck says %q", got)
			}
		})
	}
}

func TestDC10_WaitingPodsComeFirst(t *testing.T) {
	waits := func(change ...func(*Pod)) Pod { return fitPodOf("w", "", change...) }
	small := func(cpu string) func(*Node) {
		return func(n *Node) { n.Allocatable = Resources{"cpu": cpu, "memory": "8Gi", "pods": "10"} }
	}
	a := fitNodeOf("a", small("1"))
	p := fitPodOf("p", "a")
	for _, r := range []fitRow{
		{name: "no room is left", nodes: []Node{a, fitNodeOf("b", small("1"))}, pods: []Pod{p, waits()}, blocked: "pod shop/p fits on no other node"},
		{name: "room for both", nodes: []Node{a, fitNodeOf("b", small("2"))}, pods: []Pod{p, waits()}, moves: []string{"p>b"}},
		{name: "it would get the node that goes", nodes: []Node{fitNodeOf("a"), fitNodeOf("b", small("1"))}, pods: []Pod{fitPodOf("q", "b"), waits()}, blocked: "pod shop/w, which waits for a node, fits on no other node"},
		{name: "it finds another", nodes: []Node{fitNodeOf("a", small("2")), fitNodeOf("b", small("2"))}, pods: []Pod{fitPodOf("q", "a"), waits()}, moves: []string{"q>b"}},
		{name: "it fits nowhere today", nodes: []Node{a, fitNodeOf("b", small("1"))}, pods: []Pod{p, waits(fitAsks("cpu", "9"))}, moves: []string{"p>b"}},
		{name: "finished", nodes: []Node{a, fitNodeOf("b", small("1"))}, pods: []Pod{p, waits(func(p *Pod) { p.Finished = true })}, moves: []string{"p>b"}},
		{name: "terminating", nodes: []Node{a, fitNodeOf("b", small("1"))}, pods: []Pod{p, waits(func(p *Pod) { p.Terminating = true })}, moves: []string{"p>b"}},
		{name: "its anti-affinity by zone does not matter", nodes: []Node{a, fitNodeOf("b", small("2"))}, pods: []Pod{p, fitPodOf("q", "b"), waits(fitAvoids("zone"), func(p *Pod) { p.Labels = nil })}, blocked: "pod shop/p"},
		{name: "a daemon that waits for the node", nodes: []Node{fitNodeOf("a", fitZone("x")), fitNodeOf("b", small("1"))}, pods: []Pod{p, waits(func(p *Pod) {
			p.DaemonSet = true
			p.NodeSelector = map[string]string{"zone": "x"}
		})}, moves: []string{"p>b"}},
		{name: "what is not simulated does not matter to it", nodes: []Node{a, fitNodeOf("b", small("1"))}, pods: []Pod{p, waits(func(p *Pod) { p.Unmodelled = []string{"pod affinity"} })}, blocked: "fits on no other node"},
	} {
		t.Run(r.name, r.run)
	}
}

func TestDC10_TargetsAreThoseThatMayBe(t *testing.T) {
	s := &State{Nodes: []Node{fitNodeOf("a"), fitNodeOf("b"), fitNodeOf("c")}, Pods: []Pod{fitPodOf("p", "a"), fitPodOf("q", "b"), fitPodOf("w", "", fitAsks("cpu", "3"))}}
	c, err := newCluster(s, func(n *Node) bool { return n.Name == "c" })
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.without(t.Context(), []string{"a"}, nil)
	if err != nil || got.blocked != "" || len(got.moves) != 1 || got.moves[0].To != "c" {
		t.Errorf("got %+v, %v", got, err)
	}
	// w waits, and would get c; with c gone there is no node that may take it, though b has room.
	if got, _ = c.without(t.Context(), []string{"c"}, nil); !strings.Contains(got.blocked, "pod shop/w") {
		t.Errorf("got %+v", got)
	}
	// v would get a, which takes waiting pods, though none may be moved there; with a gone it has no place.
	s.Nodes[0] = fitNodeOf("a", fitZone("x"))
	s.Pods = append(s.Pods, fitPodOf("v", "", func(p *Pod) { p.NodeSelector = map[string]string{"zone": "x"} }))
	if c, err = newCluster(s, func(n *Node) bool { return n.Name == "c" }); err != nil {
		t.Fatal(err)
	}
	if got, _ = c.without(t.Context(), []string{"a"}, nil); !strings.Contains(got.blocked, "pod shop/v") {
		t.Errorf("got %+v", got)
	}
}

func TestDC11_OneNewNodeAtMost(t *testing.T) {
	big := func(name, cpu string) *Node {
		n := fitNodeOf(name, func(n *Node) { n.Ready = false; n.Allocatable = Resources{"cpu": cpu, "memory": "64Gi", "pods": "4"} })
		return &n
	}
	daemon := func(p *Pod) { p.DaemonSet = true; p.HostPorts = []string{"TCP//9100"} }
	nodes := []Node{fitNodeOf("a"), fitNodeOf("b"), fitNodeOf("c", func(n *Node) { n.Allocatable = Resources{"cpu": "1", "memory": "8Gi", "pods": "10"} })}
	pods := []Pod{fitPodOf("p", "a", fitAsks("cpu", "3")), fitPodOf("q", "b", fitAsks("cpu", "3")), fitPodOf("r", "b")}
	both := []string{"a", "b"}
	daemons := append([]Pod{fitPodOf("d1", "a", daemon, fitAsks("cpu", "500m")), fitPodOf("d2", "b", daemon, fitAsks("cpu", "250m"))}, pods...)
	for _, r := range []fitRow{
		{name: "one is enough", nodes: nodes, pods: pods, gone: both, spare: big("new", "6"), moves: []string{"p>new", "q>new", "r>c"}},
		{name: "one is not enough", nodes: nodes, pods: pods, gone: both, spare: big("new", "5"), blocked: "no room"},
		{name: "none", nodes: nodes, pods: pods, gone: both, blocked: "fits on no other node"},
		{name: "not where it is not needed", nodes: nodes, pods: pods, gone: []string{"a"}, spare: big("new", "64"), blocked: "", moves: []string{"p>b"}},
		{name: "daemons run there too", nodes: nodes, pods: daemons, gone: both, spare: big("new", "6"), blocked: "no room"},
		{name: "the largest of the daemons", nodes: nodes, pods: daemons, gone: both, spare: big("new", "6500m"), moves: []string{"p>new", "q>new", "r>c"}},
		{name: "daemons of others, where those that go have none", nodes: nodes, gone: []string{"b"}, pods: []Pod{fitPodOf("d", "a", daemon, fitAsks("cpu", "2")), fitPodOf("q", "b", fitAsks("cpu", "3"))}, spare: big("new", "4"), blocked: "too little cpu"},
		{name: "ports of daemons", nodes: nodes, gone: []string{"b"}, pods: []Pod{fitPodOf("d", "b", daemon), fitPodOf("q", "b", fitAsks("cpu", "4"), func(p *Pod) { p.HostPorts = []string{"TCP//9100"} }), fitPodOf("x", "a", daemon)}, spare: big("new", "64"), blocked: "1 its host port taken"},
		{name: "taints of the new one", nodes: nodes, pods: pods, gone: both, spare: func() *Node { n := big("new", "6"); fitTaint(corev1.TaintEffectNoSchedule)(n); return n }(), blocked: "1 a taint"},
	} {
		t.Run(r.name, func(t *testing.T) {
			if r.name == "not where it is not needed" {
				r.pods = pods[:1]
			}
			r.run(t)
		})
	}
}

// First fit finds no place for the last of 6, 5, 4, 4 and 4 on nodes of 12 and 11. Going back does.
func TestDC10_ASearchGoesBack(t *testing.T) {
	size := func(cpu string) func(*Node) {
		return func(n *Node) { n.Allocatable = Resources{"cpu": cpu, "memory": "64Gi", "pods": "10"} }
	}
	asks := func(name, cpu string) Pod { return fitPodOf(name, "a", fitAsks("cpu", cpu), fitAsks("memory", "1")) }
	r := fitRow{
		nodes: []Node{fitNodeOf("a", size("64")), fitNodeOf("b", size("12")), fitNodeOf("c", size("11"))},
		pods:  []Pod{asks("p1", "6"), asks("p2", "5"), asks("p3", "4"), asks("p4", "4"), asks("p5", "4")},
		moves: []string{"p1>c", "p2>c", "p3>b", "p4>b", "p5>b"},
	}
	r.run(t)
	fitRow{ // beginning anew with the pod that found no place is not enough here
		nodes: []Node{fitNodeOf("a", size("64")), fitNodeOf("b", size("10")), fitNodeOf("c", size("11")), fitNodeOf("d", size("12"))},
		pods:  []Pod{asks("p0", "5"), asks("p1", "3"), asks("p2", "3"), asks("p3", "7"), asks("p4", "7"), asks("p5", "6"), asks("p6", "2")},
		moves: []string{"p0>d", "p1>b", "p2>c", "p3>b", "p4>d", "p5>c", "p6>c"},
	}.run(t)
	c, err := newCluster(&State{Nodes: r.nodes, Pods: r.pods}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.call++
	c.nodes[0].gone = c.call
	items := c.toPlace([]int32{0})
	for _, want := range []struct{ back, failed int }{{0, 4}, {looksBack, -1}, {0, 4}} {
		if failed, err := c.search(t.Context(), items, c.order, want.back); err != nil || failed != want.failed {
			t.Errorf("with %d looks back, item %d found no place, %v; want %d", want.back, failed, err, want.failed)
		}
	}
}

func TestClusterRefusesWhatCannotBe(t *testing.T) {
	many := fitPodOf("p", "a")
	many.Requests = Resources{}
	for i := range maxResources + 1 {
		many.Requests[fmt.Sprintf("x.com/r%03d", i)] = "1"
	}
	port := func(text string) State {
		return State{Pods: []Pod{fitPodOf("p", "a", func(p *Pod) { p.HostPorts = []string{"TCP//80", text} })}}
	}
	amount := func(text string) State { return State{Pods: []Pod{fitPodOf("p", "a", fitAsks("memory", text))}} }
	for _, r := range []struct {
		name  string
		state State
		field string
	}{
		{"request", amount("1 GB"), "pods[shop/p].requests.memory"},
		{"negative request", amount("-1"), "pods[shop/p].requests.memory"},
		{"empty request", amount(""), "pods[shop/p].requests.memory"},
		{"a very large exponent", amount("0e1000000000"), "pods[shop/p].requests.memory"},
		{"a very small exponent", amount("1e-1000000000"), "pods[shop/p].requests.memory"},
		{"an exponent that is no number", amount("1e99999999999999999999"), "pods[shop/p].requests.memory"},
		{"a long number", amount(strings.Repeat("9", 1000)), "pods[shop/p].requests.memory"},
		{"allocatable", State{Nodes: []Node{fitNodeOf("a", func(n *Node) { n.Allocatable["cpu"] = "four" })}}, "nodes[a].allocatable.cpu"},
		{"node twice", State{Nodes: []Node{fitNodeOf("a"), fitNodeOf("a")}}, "nodes"},
		{"node without name", State{Nodes: []Node{fitNodeOf("")}}, "nodes.name"},
		{"pod twice", State{Pods: []Pod{fitPodOf("p", "a"), fitPodOf("p", "b")}}, "pods"},
		{"port", port("TCP/80"), "pods[shop/p].hostPorts[1]"},
		{"port 0", port("TCP//0"), "pods[shop/p].hostPorts[1]"},
		{"port 65536", port("TCP//65536"), "pods[shop/p].hostPorts[1]"},
		{"port 080", port("TCP//080"), "pods[shop/p].hostPorts[1]"},
		{"too many resources", State{Pods: []Pod{many}}, "pods[shop/p].requests"},
	} {
		t.Run(r.name, func(t *testing.T) {
			_, err := newCluster(&r.state, nil)
			var field *api.FieldError
			if !errors.As(err, &field) || field.Field != r.field || len(err.Error()) > 300 {
				t.Errorf("error is %v, want one of %s", err, r.field)
			}
		})
	}
	c, err := newCluster(&State{Nodes: []Node{fitNodeOf("a")}, Pods: []Pod{fitPodOf("p", "a")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	spare := fitNodeOf("new", func(n *Node) { n.Allocatable["memory"] = "much" })
	if _, err = c.without(t.Context(), []string{"a"}, &spare); err == nil || !strings.Contains(err.Error(), "replacement.allocatable.memory") {
		t.Errorf("error is %v", err)
	}
}

// Amounts that no machine has neither wrap around nor fit.
func TestClusterHugeAmounts(t *testing.T) {
	huge := func(n *Node) { n.Allocatable = Resources{"cpu": "9e18", "memory": "7Ei", "pods": "9e18"} }
	for _, asks := range []string{"2Ei", "7Ei", "9e18", "1e30"} {
		fitRow{nodes: []Node{fitNodeOf("a"), fitNodeOf("b", huge)}, pods: []Pod{fitPodOf("p", "a", fitAsks("memory", asks))}, blocked: "too little memory"}.run(t)
	}
	var pods []Pod
	for i := range 20 {
		pods = append(pods, fitPodOf(fmt.Sprintf("q%02d", i), "b", fitAsks("memory", "1Ei")))
	}
	fitRow{nodes: []Node{fitNodeOf("a"), fitNodeOf("b", huge)}, pods: append(pods, fitPodOf("p", "a", fitAsks("memory", "1"))), blocked: "too little memory"}.run(t)
}

func TestResidents(t *testing.T) {
	s := &State{Nodes: []Node{fitNodeOf("a")}, Pods: []Pod{
		fitPodOf("z", "a"), fitPodOf("t", "a", func(p *Pod) { p.Terminating = true }), fitPodOf("d", "a", func(p *Pod) { p.DaemonSet = true }),
		fitPodOf("m", "a", func(p *Pod) { p.Mirror = true }), fitPodOf("f", "a", func(p *Pod) { p.Finished = true }), fitPodOf("w", ""), fitPodOf("o", "unknown"),
	}}
	c, err := newCluster(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	for node, want := range map[string]string{"a": "t z", "unknown": "o", "": "", "nobody": ""} {
		var names []string
		for _, p := range c.residents(node) {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("residents of %q are %q, want %q", node, got, want)
		}
	}
	if c.stuck("nobody") != "" || c.stuck("unknown") != "" {
		t.Error("a node without pods that hold it is stuck")
	}
}

// The order of the state's lists, and what was asked before, do not change an answer (DC-28).
func TestDC28_PlacementsDoNotDependOnOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := fitFleet(rng, 30, 300)
	spare := fitNodeOf("spare")
	ask := func(c *cluster, i int) placement {
		p, err := c.without(t.Context(), []string{s.Nodes[i].Name, s.Nodes[(i*7+1)%30].Name}, &spare)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	c, err := newCluster(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 30)
	want := make([]placement, 30)
	for i := range want {
		want[i], names[i] = ask(c, i), s.Nodes[i].Name
	}
	shuffled := *s
	shuffled.Nodes, shuffled.Pods = append([]Node(nil), s.Nodes...), append([]Pod(nil), s.Pods...)
	rng.Shuffle(30, func(i, j int) { shuffled.Nodes[i], shuffled.Nodes[j] = shuffled.Nodes[j], shuffled.Nodes[i] })
	rng.Shuffle(300, func(i, j int) { shuffled.Pods[i], shuffled.Pods[j] = shuffled.Pods[j], shuffled.Pods[i] })
	c, err = newCluster(&shuffled, nil)
	if err != nil {
		t.Fatal(err)
	}
	moved := 0
	for k := range 60 {
		i := (k * 13) % 30
		got := ask(c, i)
		moved += len(got.moves)
		if diff := cmp.Diff(want[i], got, cmp.AllowUnexported(placement{})); diff != "" {
			t.Fatalf("without %s (-first +again):\n%s", names[i], diff)
		}
	}
	if moved == 0 {
		t.Fatal("no pod moved at all")
	}
}

func TestWithoutStopsWhenItIsCancelled(t *testing.T) {
	c, err := newCluster(&State{Nodes: []Node{fitNodeOf("a"), fitNodeOf("b")}, Pods: []Pod{fitPodOf("p", "a")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = c.without(ctx, []string{"a"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
