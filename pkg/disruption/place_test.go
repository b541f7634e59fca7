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
	full := []disruption.Node{at("b", has("cpu 1"))}
	p := web("p", "a")
	only := func(f ...podChange) []disruption.Pod { return []disruption.Pod{web("p", "a", f...)} }
	and := func(q disruption.Pod, f ...podChange) []disruption.Pod {
		return []disruption.Pod{web("p", "a", f...), q}
	}
	affine := func(s *corev1.NodeSelector) podChange { return func(p *disruption.Pod) { p.NodeAffinity = s } }
	nodes := func(n ...disruption.Node) []disruption.Node { return n }
	racks := func(b, c string) []disruption.Node {
		return nodes(at("b", label("rack", b)), at("c", label("rack", c)))
	}
	for _, r := range []placeRow{
		{"the fullest that fits", nodes(b, c), and(web("q", "c")), "p>c"},
		{"one of a StatefulSet needs one for its successor", one, []disruption.Pod{web("q", "a", ending, stateful)}, "q>b"},
		{"a resource that the node does not list", one, only(asks("x.com/gpu 1")), "1 too little x.com/gpu"},
		{"the one that found no place first", nodes(x, c), []disruption.Pod{
			web("p", "a", asks("cpu 3")), web("q", "a", asks("cpu 2"), picks("zone", "x"))}, "p>c q>b"},
		{"node affinity without terms matches none", one, only(affine(&corev1.NodeSelector{})), "1 other labels"},

		{"apart by rack", racks("r", "r"), and(web("q", "c", app("db")), away(apart("db", "rack"))), "2 pods that must not be beside it"},
		{"another is apart from it by rack", racks("r", "s"), and(web("q", "b", app("db"), away(apart("web", "rack")))), "p>c"},
		{"spread by rack", racks("r", "s"), and(web("q", "b"), spreads("rack")), "p>c"},
		{"spread, and all have as many", racks("r", "s"), []disruption.Pod{
			web("p", "a", spreads("rack")), web("q", "b"), web("r", "c"), web("s", "b"), web("t", "c")}, "p>b"},
		{"spread, and it has no rack", one, only(spreads("rack")), "too many of its pods for its topology spread"},
		{"one that waits has a spread", nodes(b, c), and(web("w", "", asks("cpu 9"), spreads(hostname))), "pod shop/w waits for a node, and has a topology spread"},
		{"spread with an option", two, only(spreads(zoneLabel, func(s *corev1.TopologySpreadConstraint) { s.MinDomains = new(int32(2)) })), " topology spread"},

		{"one that waits fits nowhere", full, []disruption.Pod{p, web("w", "", asks("cpu 9"))}, "p>b"},
		{"one that waits would get the node that goes", full, []disruption.Pod{web("q", "b"), p, web("w", "", asks("cpu 2"))}, "pod shop/w fits on no other node"},
		{"the one of the higher priority gets the room", nil, []disruption.Pod{web("v", "", asks("cpu 3")), web("w", "", asks("cpu 3"), func(p *disruption.Pod) { p.Priority = 1 })},
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
		"apart by zone":    away(apart("web", zoneLabel)),
		"spread by a zone": spreads(zoneLabel),
	} {
		l := around([]disruption.Node{at("b", zone("x"), has("cpu 1"))}, web("p", "a", asks("cpu 3"), change), web("q", "b"))
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
			l.s.Nodes = append(l.s.Nodes, at(fmt.Sprint("b", i), has(fmt.Sprintf("cpu %d memory 64Gi", cpu))))
		}
		for i, cpu := range row.pods {
			l.s.Pods = append(l.s.Pods, web(fmt.Sprint("p", i), "a", asks(fmt.Sprintf("cpu %d memory 1", cpu))))
		}
		if p := l.plan(t); len(p.Actions) != 1 || len(p.Actions[0].Moves) != len(row.pods) {
			t.Errorf("%v on %v: %q", row.pods, row.nodes, told(p))
		}
	}
}

// TestLargeAmounts do not wrap around.
func TestLargeAmounts(t *testing.T) {
	most := func(p *disruption.Pod) { p.Requests["memory"] = disruption.MostAmount }
	b := at("b")
	b.Allocatable = disruption.Resources{"cpu": 100_000_000, "memory": disruption.MostAmount, "pods": 10_000}
	pods := []disruption.Pod{web("p", "a", asks("memory 1"))}
	for i := range 8_000 {
		pods = append(pods, web(fmt.Sprint("q", i), "b", most))
	}
	around([]disruption.Node{b}, pods...).places(t, "too little memory")
}
