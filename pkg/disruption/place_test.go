package disruption_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// placeRow is what becomes of the pods of node a when its host goes.
type placeRow struct {
	name  string
	nodes []disruption.Node // that stay
	pods  []disruption.Pod
	want  string // their moves, as p>b; or why a cannot go
}

// around is a lab whose one host has the node a, with a reason to go.
func around(nodes []disruption.Node, pods ...disruption.Pod) *lab {
	l := newLab(1)
	l.s.Hosts[0].Node, l.s.Nodes = "a", append([]disruption.Node{at("a")}, nodes...)
	l.s.Pods = pods
	return l
}

func (r placeRow) run(t *testing.T) { around(r.nodes, r.pods...).places(t, r.want) }

func (l *lab) places(t *testing.T, want string) {
	t.Helper()
	p, e := l.plan(t), l.explain(t, "h-0")
	for _, c := range p.Later {
		e.Summary += "; " + c.Note
	}
	var moves []string
	for _, a := range p.Actions {
		for _, m := range a.Moves {
			moves = append(moves, strings.TrimPrefix(m.Pod, "shop/")+">"+m.To)
		}
	}
	if got := strings.Join(moves, " "); strings.Contains(want, " ") && !strings.Contains(want, ">") {
		if len(p.Actions) > 0 || !strings.Contains(e.Summary, want) || !strings.Contains(e.Summary, "pod shop/") {
			t.Errorf("moves %q, and it says %q", got, e.Summary)
		}
	} else if len(p.Actions) != 1 || got != want {
		t.Errorf("moves %q: %s", got, e.Summary)
	}
}

func TestPodsGoWhereTheyFit(t *testing.T) {
	b, c := at("b"), at("c", zone("y"), label("zone", "y"))
	x := at("b", zone("x"), label("zone", "x"))
	one := []disruption.Node{b}
	two := []disruption.Node{x, c}
	full := []disruption.Node{at("b", has("cpu", "1"))}
	p := web("p", "a")
	only := func(f ...podChange) []disruption.Pod { return []disruption.Pod{web("p", "a", f...)} }
	and := func(q disruption.Pod, f ...podChange) []disruption.Pod {
		return []disruption.Pod{web("p", "a", f...), q}
	}
	affine := func(s *corev1.NodeSelector) podChange { return func(p *disruption.Pod) { p.NodeAffinity = s } }
	minute := corev1.Toleration{Key: "only", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(60)), Effect: corev1.TaintEffectNoExecute}
	nodes := func(n ...disruption.Node) []disruption.Node { return n }
	for _, r := range []placeRow{
		{"no cpu", full, and(web("q", "b")), "1 too little cpu"},
		{"the fullest that fits", nodes(b, c), and(web("q", "c")), "p>c"},
		{"none is Ready", nodes(at("b", func(n *disruption.Node) { n.Ready = false })), only(), "no other node takes pods"},
		{"a terminating pod takes room", full, and(web("q", "b", ending)), "too little cpu"},
		{"one of a StatefulSet needs one for its successor", one, []disruption.Pod{web("q", "a", ending, stateful)}, "q>b"},
		{"a resource that the node does not list", one, only(asks("x.com/gpu", "1")), "1 too little x.com/gpu"},
		{"the most that a node has, and one more", nodes(at("b", has("memory", "1Ei"))), only(asks("memory", "1152921504606846977")), "too little memory"},
		{"the one that found no place first", nodes(x, c), []disruption.Pod{
			web("p", "a", asks("cpu", "3")), web("q", "a", asks("cpu", "2"), picks("zone", "x"))}, "p>c q>b"},
		{"taint NoSchedule", nodes(at("b", tainted(corev1.TaintEffectNoSchedule))), only(), "1 a taint"},
		{"NoExecute tolerated for a minute", nodes(at("b", tainted(corev1.TaintEffectNoExecute))), only(bears(minute)), "1 a taint"},
		{"node affinity without terms matches none", one, only(affine(&corev1.NodeSelector{})), "1 other labels"},
		{"node affinity that cannot be read", nodes(x), only(affine(inZone("Near", "x"))), "1 other labels"},
		{"volume elsewhere", nodes(x), only(disk("y")), "1 no way to its volumes"},
		{"no more volumes", nodes(at("b", func(n *disruption.Node) { n.VolumesLeft = map[string]int{"csi": 1} })), only(disk(""), disk("x")), "1 too little room for volumes of csi"},
		{"host port of all addresses", one, and(web("q", "b", port("TCP/10.0.0.1/80")), port("TCP/::/80")), "too little room on host port TCP80"},

		{"apart from another", one, and(web("q", "b"), away(term(hostname, "web"))), "1 pods that must not be beside it"},
		{"apart in any namespace", one, and(web("q", "b", space("bank")), away(term(hostname, "web", teamX))), "must not be beside"},
		{"apart from what it cannot read", one, and(web("q", "b"), away(term(hostname, "db", unreadable))), "must not be beside"},
		{"apart by rack", one, only(away(term("rack", "db"))), "which is not simulated"},
		{"another is apart from it by rack", two, and(web("q", "c", app("db"), away(term("rack", "web")))), "kept away by another pod's anti-affinity"},
		{"nobody is there", two, only(near(term(zoneLabel, "db"))), "2 no pods beside which it must be"},
		{"near one of namespaces with a label", two, and(web("q", "c", app("db")), near(term(zoneLabel, "db", teamX))), "requires affinity by"},
		{"near one by rack", two, and(web("q", "c", app("db")), near(term("rack", "db"))), `requires affinity by "rack"`},
		{"near what it cannot read", two, and(web("q", "c", app("db")), near(term(hostname, "db", unreadable))), "no pods beside which"},

		{"spread, and no room where fewer are", nodes(x, at("c", zone("y"), has("cpu", "1"))), and(web("q", "b"), spreads(zoneLabel), asks("cpu", "2")),
			"1 too many of its pods for its topology spread"},
		{"spread by rack", two, only(spreads("rack")), `requires topology spread by "rack"`},
		{"spread that cannot be read", two, only(spreads(zoneLabel, func(s *corev1.TopologySpreadConstraint) { s.LabelSelector = unread })), " topology spread"},
		{"one without a spread is counted too", two, []disruption.Pod{
			web("p", "a", spreads(zoneLabel, func(s *corev1.TopologySpreadConstraint) { s.MinDomains = new(int32(2)) }), asks("cpu", "2")),
			web("q", "a", asks("cpu", "3"), picks("zone", "x"))}, "p>c q>b"},

		{"not modelled", one, only(func(p *disruption.Pod) { p.Unmodelled = []string{"resource claims"} }), "requires resource claims, which is not simulated"},

		{"one that waits fits nowhere", full, []disruption.Pod{p, web("w", "", asks("cpu", "9"))}, "p>b"},
		{"one that waits would get the node that goes", full, []disruption.Pod{web("q", "b"), p, web("w", "", asks("cpu", "2"))}, "pod shop/w fits on no other node"},
		{"the one of the higher priority gets the room", nil, []disruption.Pod{web("v", "", asks("cpu", "3")), web("w", "", asks("cpu", "3"), func(p *disruption.Pod) { p.Priority = 1 })},
			"shop/w has nowhere to go"},
	} {
		t.Run(r.name, r.run)
	}
}

// TestPodDisruptionBudgets of two pods that move.
func TestPodDisruptionBudgets(t *testing.T) {
	sick := func(l *lab) { l.s.Pods[1].Ready = false }
	for _, row := range []struct {
		name    string
		allowed int32
		change  func(l *lab, b *disruption.PodBudget)
		want    string
	}{
		{"that cannot be read", 0, func(_ *lab, b *disruption.PodBudget) { b.Selector = unread }, "allows 0"},
		{"that is not current", 9, func(_ *lab, b *disruption.PodBudget) { b.Current = false }, "status is not current"},
		{"two", 9, func(l *lab, _ *disruption.PodBudget) {
			l.budget("web", 9).Key = disruption.Key{Namespace: "shop", Name: "x"}
		}, "two PodDisruptionBudgets"},
		{"not ready, AlwaysAllow", 1, func(l *lab, b *disruption.PodBudget) { sick(l); b.UnhealthyPodEvictionPolicy = policyv1.AlwaysAllow }, "p>b q>b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := around([]disruption.Node{at("b")}, web("p", "a"), web("q", "a"))
			b := l.budget("web", row.allowed)
			if b.Namespace = "shop"; row.change != nil {
				row.change(l, b)
			}
			l.places(t, row.want)
		})
	}
}

// TestANewNode: a pod of 3 CPUs fits on no node that there is, but on a free host that would become one of 4 CPUs. What
// is not known of that node takes no pod.
func TestANewNode(t *testing.T) {
	type change = func(l *lab, p *disruption.Pod)
	of := func(f podChange) change { return func(_ *lab, p *disruption.Pod) { f(p) } }
	affine := func(key string, op corev1.NodeSelectorOperator, values ...string) change {
		return of(func(p *disruption.Pod) {
			p.NodeAffinity = inZone(op, values...)
			p.NodeAffinity.NodeSelectorTerms[0].MatchExpressions[0].Key = key
		})
	}
	daemons := func(listed, runs bool, change ...podChange) func(l *lab, p *disruption.Pod) {
		d := web("d", "", append([]podChange{asks("cpu", "2"), func(p *disruption.Pod) { p.DaemonSet, p.Owner = true, "" }}, change...)...)
		return func(l *lab, _ *disruption.Pod) {
			if listed {
				l.s.DaemonSets = []disruption.Pod{d}
			}
			if runs {
				d := web("d-x", "a", asks("cpu", "900m"), func(p *disruption.Pod) { p.DaemonSet, p.Owner = true, "DaemonSet/d" })
				l.s.Pods = append(l.s.Pods, d)
			}
		}
	}
	for _, row := range []struct {
		name   string
		change []change
		fits   bool
	}{
		{"it takes the pod", nil, true},
		{"NotIn of one that is not", []change{affine("rack", corev1.NodeSelectorOpNotIn, "b")}, false},
		{"a label that is shunned", []change{affine("rack", corev1.NodeSelectorOpDoesNotExist)}, false},
		{"apart by a zone that is not", []change{of(away(term(zoneLabel, "web")))}, false},
		{"another is apart from it by zone", []change{func(l *lab, _ *disruption.Pod) { l.s.Pods[1].AntiAffinity = apart("web", zoneLabel) }}, false},
		{"spread by a zone that is not known", []change{of(spreads(zoneLabel))}, false},
		{"a DaemonSet", []change{daemons(true, false)}, false},
		{"a DaemonSet for labels that are not known", []change{daemons(true, false, picks("gpu", "yes"))}, true},
		{"a DaemonSet that shuns a label that is not known", []change{daemons(true, false, func(p *disruption.Pod) {
			p.NodeAffinity = inZone(corev1.NodeSelectorOpNotIn, "b")
		})}, true},
		{"a DaemonSet for them that runs in this pool", []change{daemons(true, true, picks("gpu", "yes"))}, false},
		{"a DaemonSet that is not listed, and runs in this pool", []change{daemons(false, true), of(asks("cpu", "3200m"))}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := around([]disruption.Node{at("b", zone("x"), has("cpu", "1"))}, web("p", "a", asks("cpu", "3")), web("q", "b"))
			l.s.Pools[0].NodeLabels = map[string]string{"os": "linux"}
			l.spare(100).Capacity["cpu"] = "4"
			for _, f := range row.change {
				f(l, &l.s.Pods[0])
			}
			want := "no free host of MachineDeployment metal3/p-0 is cheaper and takes them"
			if row.fits {
				want = "p>metal3/s-1"
			}
			l.places(t, want)
		})
	}
}

// TestASearchGoesBack: putting each pod on the first node that takes it, once and beginning with another one, finds no
// place for all of these.
func TestASearchGoesBack(t *testing.T) {
	for _, row := range []struct{ nodes, pods []int }{
		{[]int{12, 11}, []int{6, 5, 4, 4, 4}}, {[]int{10, 11, 12}, []int{5, 3, 3, 7, 7, 6, 2}},
	} {
		l := around(nil)
		for i, cpu := range row.nodes {
			l.s.Nodes = append(l.s.Nodes, at(fmt.Sprint("b", i), has("cpu", fmt.Sprint(cpu)), has("memory", "64Gi")))
		}
		for i, cpu := range row.pods {
			l.s.Pods = append(l.s.Pods, web(fmt.Sprint("p", i), "a", asks("cpu", fmt.Sprint(cpu)), asks("memory", "1")))
		}
		if p := l.plan(t); len(p.Actions) != 1 || len(p.Actions[0].Moves) != len(row.pods) {
			t.Errorf("%v on %v: %q", row.pods, row.nodes, told(p))
		}
	}
}

// TestClustersDoNotMeet, though names are equal: pods stay in their own, and so do budgets and terms.
func TestClustersDoNotMeet(t *testing.T) {
	for want, room := range map[string]disruption.Key{"q>b": other, "no other node takes pods": {}} {
		l := around([]disruption.Node{at("b")}, web("p", "b", away(term(hostname, "web"))), web("q", "a"))
		l.budget("web", 0).Namespace = "shop"
		more := at("b", func(n *disruption.Node) { n.Cluster = room })
		if room == (disruption.Key{}) {
			more.Name = "c"
		}
		l.s.Nodes = append(l.s.Nodes, more)
		l.s.Nodes[0].Cluster, l.s.Hosts[0].Cluster, l.s.Pods[1].Cluster = other, other, other
		l.s.Clusters = []disruption.Cluster{{Key: other}}
		l.places(t, want)
	}
}

// TestAmountsAndPortsThatCannotBeRead move no pod, whether they are refused or not simulated. Large ones neither wrap
// around nor fit.
func TestAmountsAndPortsThatCannotBeRead(t *testing.T) {
	memory := func(text string) podChange { return asks("memory", text) }
	for _, f := range []podChange{
		memory("1 GB"), memory("-1"), memory(""), memory("0e1000000000"), asks("gpu", "1"),
	} {
		l := around([]disruption.Node{at("b", has("gpu", "four"))}, web("p", "a", f))
		if p, err := disruption.Plan(t.Context(), &l.s, l.c, l.now); err == nil && len(p.Actions) > 0 {
			t.Errorf("%+v moves: %q", l.s.Pods, told(p))
		}
	}
	huge := []disruption.Node{at("b", has("cpu", "9e18"), has("memory", "7Ei"), has("pods", "9e18"))}
	for _, amount := range []string{"2Ei", "9e18", "1e30"} {
		around(huge, web("p", "a", memory(amount))).places(t, "too little memory")
	}
	pods := []disruption.Pod{web("p", "a", memory("1"))}
	for i := range 20 {
		pods = append(pods, web(fmt.Sprint("q", i), "b", memory("1Ei")))
	}
	around(huge, slices.Clip(pods)...).places(t, "too little memory")
}
