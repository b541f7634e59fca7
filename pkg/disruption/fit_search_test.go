package disruption

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWaitingPodsComeFirst(t *testing.T) {
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
		{name: "its anti-affinity by zone does not matter", nodes: []Node{a, fitNodeOf("b", small("2"))}, pods: []Pod{fitPodOf("p", "a", func(p *Pod) { p.Labels = nil }), fitPodOf("q", "b"), waits(fitAvoids("zone"))}, blocked: "pod shop/p fits on no other node"},
		{name: "a daemon that waits for the node", nodes: []Node{fitNodeOf("a", fitZone("x")), fitNodeOf("b", small("1"))}, pods: []Pod{p, waits(func(p *Pod) {
			p.DaemonSet = true
			p.NodeSelector = map[string]string{"zone": "x"}
		})}, moves: []string{"p>b"}},
		{name: "what is not simulated does not matter to it", nodes: []Node{a, fitNodeOf("b", small("1"))}, pods: []Pod{p, waits(func(p *Pod) { p.Unmodelled = []string{"pod affinity"} })}, blocked: "fits on no other node"},
	} {
		t.Run(r.name, r.run)
	}
}

// Pods are moved to targets alone. Those without a node may get any node that is Ready and schedulable.
func TestTargetsAreThoseThatMayBe(t *testing.T) {
	s := &State{Nodes: []Node{fitNodeOf("a"), fitNodeOf("b"), fitNodeOf("c", fitZone("x"))}, Pods: []Pod{
		fitPodOf("p", "a"), fitPodOf("q", "b"), fitPodOf("v", "", func(p *Pod) { p.NodeSelector = map[string]string{"zone": "x"} }), fitPodOf("w", "", fitAsks("cpu", "3")),
	}}
	c, err := newSimulator(t.Context(), s, func(n *Node) bool { return n.Name == "c" })
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.without(t.Context(), fitNamed(s, "a"), nil)
	if err != nil || got.blocked != "pod shop/p fits on no other node: of those that take pods, have 1 too little cpu" {
		t.Errorf("got %+v, %v", got, err)
	}
	for i, want := range []bool{false, false, true} { // v and w would get c
		if got := c.waits(&s.Nodes[i]); got != want {
			t.Errorf("%s waits: %v", s.Nodes[i].Name, got)
		}
	}
	if got, _ = c.without(t.Context(), fitNamed(s, "c"), nil); !strings.Contains(got.blocked, "pod shop/v, which waits for a node, fits on no other node") {
		t.Errorf("got %+v", got)
	}
	s.Pods = s.Pods[:2]
	s.Pods = append(s.Pods, fitPodOf("w", "", fitAsks("cpu", "3")))
	if c, err = newSimulator(t.Context(), s, func(n *Node) bool { return n.Name == "c" }); err != nil {
		t.Fatal(err)
	}
	if got, _ = c.without(t.Context(), fitNamed(s, "c"), nil); got.blocked != "" { // w gets a or b, though they are no targets
		t.Errorf("got %+v", got)
	}
}

func TestOneNewNodeAtMost(t *testing.T) {
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

// The pods of DaemonSets on a node that does not exist yet: of those that demand what is known of it, or run in its pool.
func TestDaemonSetsOfTheNewNode(t *testing.T) {
	of := func(node, pool string) Host {
		return Host{Key: key("h-" + node), Node: node, Machine: &Machine{Key: key("m-" + node), Pool: key(pool), PoolKind: PoolMachineDeployment}}
	}
	set := func(change ...func(*Pod)) Pod {
		p := fitPodOf("gpu-driver", "", append([]func(*Pod){fitAsks("cpu", "2"), func(p *Pod) { p.DaemonSet, p.Owner = true, "" }}, change...)...)
		return p
	}
	runs := func(node string) Pod {
		return fitPodOf("gpu-driver-x", node, func(p *Pod) {
			p.DaemonSet, p.Owner, p.Requests = true, "DaemonSet/gpu-driver", Resources{"cpu": "100m"}
			p.NodeAffinity = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}
		})
	}
	gpus := func(p *Pod) { p.NodeSelector = map[string]string{"gpu": "yes"} }
	tolerates := func(p *Pod) { p.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }
	spare := func(change ...func(*Node)) *Node {
		n := fitNodeOf("new", change...)
		return &n
	}
	gpu := func(value string) func(*Node) { return func(n *Node) { n.Labels["gpu"] = value } }
	full := fitNodeOf("b", func(n *Node) { n.Allocatable["cpu"] = "100m" })
	nodes, hosts := []Node{fitNodeOf("a"), full}, []Host{of("a", "cpus"), of("b", "gpus")}
	p := fitPodOf("p", "a", fitAsks("cpu", "3"))
	for _, r := range []fitRow{
		{name: "one that runs everywhere", sets: []Pod{set()}, spare: spare(), blocked: "too little cpu"},
		{name: "one for other labels", sets: []Pod{set(gpus)}, spare: spare(gpu("no")), moves: []string{"p>new"}},
		{name: "one for these labels", sets: []Pod{set(gpus)}, spare: spare(gpu("yes")), blocked: "too little cpu"},
		{name: "one for labels that are not known, of another pool", sets: []Pod{set(gpus)}, spare: spare(), pods: []Pod{runs("b")}, moves: []string{"p>new"}},
		{name: "one for labels that are not known, of this pool", sets: []Pod{set(gpus)}, spare: spare(), pods: []Pod{runs("a")}, blocked: "too little cpu"},
		{name: "one that does not tolerate the taints", sets: []Pod{set()}, spare: spare(fitTaint(corev1.TaintEffectNoSchedule)), moves: []string{"p>new"}},
		{name: "one that tolerates them", sets: []Pod{set(tolerates)}, spare: spare(fitTaint(corev1.TaintEffectNoSchedule)), blocked: "too little cpu"},
		{name: "one that is not in the list, of this pool", spare: spare(func(n *Node) { n.Allocatable["cpu"] = "3" }), pods: []Pod{runs("a")}, blocked: "too little cpu"},
	} {
		tolerates(&p)
		r.nodes, r.hosts, r.pods = nodes, hosts, append(r.pods, p)
		t.Run(r.name, r.run)
	}
}

// First fit finds no place for the last of 6, 5, 4, 4 and 4 on nodes of 12 and 11. Going back does.
func TestASearchGoesBack(t *testing.T) {
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
	f, err := newSimulator(t.Context(), &State{Nodes: r.nodes, Pods: r.pods}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := f[Key{}]
	going := c.nodes[:1]
	c.keeps(going)
	c.show(going, -1)
	items := toPlace(going)
	for _, want := range []struct{ back, failed int }{{0, 4}, {looksBack, -1}, {0, 4}} {
		if failed, err := c.search(t.Context(), items, want.back); err != nil || failed != want.failed {
			t.Errorf("with %d looks back, item %d found no place, %v; want %d", want.back, failed, err, want.failed)
		}
	}
}

// The order of the state's lists, and what was asked before, do not change an answer.
func TestPlacementsDoNotDependOnOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := fitFleet(rng, 30, 300)
	spare := fitNodeOf("spare")
	ask := func(c fleetSim, of *State, i int) string {
		p, err := c.without(t.Context(), fitNamed(of, s.Nodes[i].Name, s.Nodes[(i*7+1)%30].Name), &spare)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(p.planMoves(), p.usedSpare, p.blocked)
	}
	c, err := newSimulator(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 30)
	want := make([]string, 30)
	for i := range want {
		want[i], names[i] = ask(c, s, i), s.Nodes[i].Name
	}
	shuffled := *s
	shuffled.Nodes, shuffled.Pods = append([]Node(nil), s.Nodes...), append([]Pod(nil), s.Pods...)
	rng.Shuffle(30, func(i, j int) { shuffled.Nodes[i], shuffled.Nodes[j] = shuffled.Nodes[j], shuffled.Nodes[i] })
	rng.Shuffle(300, func(i, j int) { shuffled.Pods[i], shuffled.Pods[j] = shuffled.Pods[j], shuffled.Pods[i] })
	c, err = newSimulator(t.Context(), &shuffled, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 60 {
		i := (k * 13) % 30
		if got := ask(c, &shuffled, i); got != want[i] {
			t.Fatalf("without %s: %s, and then %s", names[i], want[i], got)
		}
	}
	if !strings.Contains(strings.Join(want, ""), "app-") {
		t.Fatal("no pod moved at all")
	}
}

// fitFleet is a fleet of nodes and pods as Deployments make them: most want CPU and memory alone, a tenth does not
// want its like beside it, a tenth selects nodes, and one pod in a hundred waits.
func fitFleet(rng *rand.Rand, nodes, pods int) *State {
	s := &State{}
	for i := range nodes {
		s.Nodes = append(s.Nodes, fitNodeOf(fmt.Sprintf("node-%04d", i), fitZone(fmt.Sprint(i%3)), func(n *Node) {
			n.Allocatable = Resources{"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "400Gi"}
		}))
	}
	free := make([]int, nodes)
	for i := range pods {
		app := rng.IntN(max(pods/40, 1))
		size := 250 * (1 + app%8)
		n := rng.IntN(nodes)
		for free[n]+size > 30000 {
			n = (n + 1) % nodes
		}
		p := Pod{
			Key: Key{Namespace: fmt.Sprintf("team-%02d", app%50), Name: fmt.Sprintf("app-%d-%05d", app, i)}, Node: s.Nodes[n].Name,
			Owner: fmt.Sprintf("ReplicaSet/app-%d", app), Ready: true,
			Labels:   map[string]string{"app": fmt.Sprint(app), "pod": fmt.Sprint(i)},
			Requests: Resources{"cpu": fmt.Sprintf("%dm", size), "memory": fmt.Sprintf("%dMi", size*3)},
		}
		switch app % 10 {
		case 0:
			p.AntiAffinity = []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint(app)}},
			}}
		case 1:
			p.NodeSelector = map[string]string{"zone": fmt.Sprint(n % 3)}
		}
		if i%100 == 99 {
			p.Node = ""
		} else {
			free[n] += size
		}
		s.Pods = append(s.Pods, p)
	}
	for i := range max(pods/40, 1) {
		s.Budgets = append(s.Budgets, PodBudget{
			Key: Key{Namespace: fmt.Sprintf("team-%02d", i%50), Name: fmt.Sprintf("app-%d", i)}, Allowed: 1000, Current: true,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint(i)}},
		})
	}
	return s
}
