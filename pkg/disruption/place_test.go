package disruption_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

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
	nodes := func(n ...disruption.Node) []disruption.Node { return n }
	for _, r := range []placeRow{
		{"the fullest that fits", nodes(b, c), and(web("q", "c")), "p>c"},
		{"one of a StatefulSet needs one for its successor", one, []disruption.Pod{web("q", "a", ending, stateful)}, "q>b"},
		{"a resource that the node does not list", one, only(asks("x.com/gpu", "1")), "1 too little x.com/gpu"},
		{"the one that found no place first", nodes(x, c), []disruption.Pod{
			web("p", "a", asks("cpu", "3")), web("q", "a", asks("cpu", "2"), picks("zone", "x"))}, "p>c q>b"},
		{"node affinity without terms matches none", one, only(affine(&corev1.NodeSelector{})), "1 other labels"},

		{"apart from what it cannot read", one, and(web("q", "b"), away(term(hostname, "db", unreadable))), "must not be beside"},
		{"apart by rack", one, only(away(term("rack", "db"))), "which is not simulated"},
		{"another is apart from it by rack", two, and(web("q", "c", app("db"), away(term("rack", "web")))), "kept away by another pod's anti-affinity"},
		{"near one of namespaces with a label", two, and(web("q", "c", app("db")), near(term(zoneLabel, "db", teamX))), "requires affinity by"},
		{"near one by rack", two, and(web("q", "c", app("db")), near(term("rack", "db"))), `requires affinity by "rack"`},
		{"near what it cannot read", two, and(web("q", "c", app("db")), near(term(hostname, "db", unreadable))), "no pods beside which"},

		{"spread by rack", two, only(spreads("rack")), `requires topology spread by "rack"`},
		{"spread that cannot be read", two, only(spreads(zoneLabel, func(s *corev1.TopologySpreadConstraint) { s.LabelSelector = unread })), " topology spread"},
		{"spread with an option", two, only(spreads(zoneLabel, func(s *corev1.TopologySpreadConstraint) { s.MinDomains = new(int32(2)) })), " topology spread"},

		{"one that waits fits nowhere", full, []disruption.Pod{p, web("w", "", asks("cpu", "9"))}, "p>b"},
		{"one that waits would get the node that goes", full, []disruption.Pod{web("q", "b"), p, web("w", "", asks("cpu", "2"))}, "pod shop/w fits on no other node"},
		{"the one of the higher priority gets the room", nil, []disruption.Pod{web("v", "", asks("cpu", "3")), web("w", "", asks("cpu", "3"), func(p *disruption.Pod) { p.Priority = 1 })},
			"shop/w has nowhere to go"},
	} {
		t.Run(r.name, r.run)
	}
}

// TestANewNode: a pod of 3 CPUs fits on a free host alone, and what is not known of its node takes no pod that looks at it.
func TestANewNode(t *testing.T) {
	affine := func(op corev1.NodeSelectorOperator, values ...string) podChange {
		return func(p *disruption.Pod) { p.NodeAffinity = inZone(op, values...) }
	}
	for name, change := range map[string]podChange{
		"":                 func(*disruption.Pod) {},
		"NotIn":            affine(corev1.NodeSelectorOpNotIn, "b"),
		"DoesNotExist":     affine(corev1.NodeSelectorOpDoesNotExist),
		"apart by zone":    away(term(zoneLabel, "web")),
		"spread by a zone": spreads(zoneLabel),
	} {
		l := around([]disruption.Node{at("b", zone("x"), has("cpu", "1"))}, web("p", "a", asks("cpu", "3"), change), web("q", "b"))
		l.s.Pools[0].NodeLabels = map[string]string{"os": "linux"}
		l.spare(100).Capacity["cpu"] = 4000
		if got := len(l.plan(t).Actions); (got == 1) != (name == "") {
			t.Errorf("%s: %d actions", name, got)
		}
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
