package disruption

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// slowWorld checks placements pod by pod and pair by pair, from the state alone. It knows what fitDraw draws: amounts
// are whole numbers, selectors use In, NotIn and Exists, and Near is an operator that cannot be read.
type slowWorld struct {
	s     *State
	gone  map[string]bool
	spare *Node
	at    map[*Pod]*Node // pods that get another place, and those that wait
	steps int
	// strict: affinity and spread hold for pods that wait too, though their order may break that
	strict bool
}

// slowSteps bounds a search.
const slowSteps = 20_000

func slowAmount(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(s, "m"), 10, 64)
	if err != nil {
		return 0 // absent
	}
	return n
}

func slowIn(op string, values []string, got string, has bool) (ok, readable bool) {
	switch op {
	case "In":
		return has && slices.Contains(values, got), true
	case "NotIn":
		return !has || !slices.Contains(values, got), true
	case "Exists":
		return has, true
	}
	return false, false
}

// slowNodes says whether a node meets a selector of nodes. Labels of one that does not exist yet may not be known.
func (w *slowWorld) slowNodes(sel *corev1.NodeSelector, n *Node) (meets, known bool) {
	if sel == nil {
		return true, true
	}
	known = true
	for _, t := range sel.NodeSelectorTerms {
		all := len(t.MatchExpressions) > 0
		for _, e := range t.MatchExpressions {
			v, has := n.Labels[e.Key]
			ok, _ := slowIn(string(e.Operator), e.Values, v, has)
			all, known = all && ok, known && (has || n != w.spare)
		}
		meets = meets || all
	}
	return meets, known
}

// slowPods says whether a selector matches a pod's labels. bad is the answer where it cannot be read.
func slowPods(sel *metav1.LabelSelector, labels map[string]string, bad bool) bool {
	if sel == nil {
		return false
	}
	all := true
	for k, v := range sel.MatchLabels {
		got, has := labels[k]
		all = all && has && got == v
	}
	for _, e := range sel.MatchExpressions {
		got, has := labels[e.Key]
		ok, readable := slowIn(string(e.Operator), e.Values, got, has)
		if !readable {
			return bad
		}
		all = all && ok
	}
	return all
}

// slowAbout says whether a term of p is about q.
func slowAbout(p *Pod, t corev1.PodAffinityTerm, q *Pod, bad bool) bool {
	spaces := t.Namespaces
	if len(spaces) == 0 {
		spaces = []string{p.Namespace}
	}
	return (t.NamespaceSelector != nil || slices.Contains(spaces, q.Namespace)) && slowPods(t.LabelSelector, q.Labels, bad)
}

// lets says whether taints let p in, and whether they let it stay.
func (w *slowWorld) lets(p *Pod, n *Node) (in, stay bool) {
	in, stay = true, true
	for _, t := range n.Taints {
		tolerated := t.Effect == corev1.TaintEffectPreferNoSchedule
		for _, o := range p.Tolerations {
			if (o.Effect == "" || o.Effect == t.Effect) && (o.Operator == corev1.TolerationOpExists && (o.Key == "" || o.Key == t.Key) || o.Key == t.Key && o.Value == t.Value) {
				tolerated, stay = true, stay && (t.Effect != corev1.TaintEffectNoExecute || o.TolerationSeconds == nil)
			}
		}
		in = in && tolerated
	}
	return in, stay
}

// chosen says whether the labels of n are as p demands.
func (w *slowWorld) chosen(p *Pod, n *Node) (ok, known bool) {
	ok, known = w.slowNodes(p.NodeAffinity, n)
	for k, v := range p.NodeSelector {
		got, has := n.Labels[k]
		ok, known = ok && got == v, known && (has || n != w.spare)
	}
	return ok, known
}

// takes says whether node n takes p by itself.
func (w *slowWorld) takes(p *Pod, n *Node) bool {
	if n != w.spare && (!n.Ready || n.Unschedulable || n.Deleting || w.gone[n.Name]) {
		return false
	}
	in, stay := w.lets(p, n)
	ok, known := w.chosen(p, n)
	for _, v := range p.Volumes {
		one, sure := w.slowNodes(v.Nodes, n)
		ok, known = ok && one, known && sure
	}
	return in && stay && ok && known
}

// on lists the pods of node n in the end; and those that are new there.
func (w *slowWorld) on(n *Node) (all, fresh []*Pod) {
	for i := range w.s.Pods {
		p := &w.s.Pods[i]
		switch {
		case p.Finished:
		case w.at[p] == n:
			all, fresh = append(all, p), append(fresh, p)
		case w.at[p] == nil && n != w.spare && !w.gone[n.Name] && p.Node == n.Name:
			all = append(all, p)
		case n == w.spare && p.DaemonSet:
			all = append(all, p)
		}
	}
	for i := range w.s.DaemonSets {
		d := &w.s.DaemonSets[i]
		in, _ := w.lets(d, n)
		if ok, known := w.chosen(d, n); n == w.spare && in && ok && known {
			all = append(all, d)
		}
	}
	return all, fresh
}

// nodes are those that stay, and the spare.
func (w *slowWorld) nodes() (all []*Node) {
	for i := range w.s.Nodes {
		if !w.gone[w.s.Nodes[i].Name] {
			all = append(all, &w.s.Nodes[i])
		}
	}
	if w.spare != nil {
		all = append(all, w.spare)
	}
	return all
}

// holds says whether everything that is new fits where it is.
func (w *slowWorld) holds() bool {
	for _, n := range w.nodes() {
		all, fresh := w.on(n)
		for _, p := range fresh {
			if !w.takes(p, n) || !w.room(p, n, all, fresh) || (w.strict || p.Node != "") && !w.related(p, n) {
				return false
			}
		}
	}
	return true
}

// room says whether n has the resources, ports and volumes for p.
func (w *slowWorld) room(p *Pod, n *Node, all, fresh []*Pod) bool {
	used := func(r string) (sum int64) {
		for _, q := range all {
			sum += slowAmount(q.Requests[r])
		}
		return sum
	}
	for r, q := range p.Requests {
		if slowAmount(q) > 0 && used(r) > slowAmount(n.Allocatable[r]) {
			return false
		}
	}
	if int64(len(all)) > slowAmount(n.Allocatable["pods"]) {
		return false
	}
	for _, v := range p.Volumes {
		count := 0
		for _, q := range fresh {
			for _, o := range q.Volumes {
				if o.Driver == v.Driver {
					count++
				}
			}
		}
		if left, ok := n.VolumesLeft[v.Driver]; ok && v.Driver != "" && count > max(left, 0) {
			return false
		}
	}
	return !slices.ContainsFunc(all, func(q *Pod) bool {
		return q != p && slices.ContainsFunc(p.HostPorts, func(a string) bool {
			return slices.ContainsFunc(q.HostPorts, func(b string) bool { return slowPortsClash(a, b) })
		})
	})
}

func slowPortsClash(a, b string) bool {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	wild := func(ip string) bool { return ip == "" || ip == "0.0.0.0" }
	return x[0] == y[0] && x[2] == y[2] && (x[1] == y[1] || wild(x[1]) || wild(y[1]))
}

// moving lists the pods that need another place.
func (w *slowWorld) moving() (out []*Pod) {
	for i := range w.s.Pods {
		p := &w.s.Pods[i]
		if w.gone[p.Node] && !p.Finished && !p.DaemonSet && !p.Mirror && (!p.Terminating || p.Owner == "StatefulSet/s") {
			out = append(out, p)
		}
	}
	return out
}

// mayGo says whether the pods that need another place may be evicted, all of them.
func (w *slowWorld) mayGo() bool {
	evictions := map[*PodBudget]int32{}
	odd := func(t corev1.PodAffinityTerm) bool { return t.TopologyKey == "rack" }
	for _, p := range w.moving() {
		if len(p.Unmodelled) > 0 || slices.ContainsFunc(p.AntiAffinity, odd) {
			return false
		}
		if slices.ContainsFunc(slices.Concat(w.s.Pods, w.s.DaemonSets), func(q Pod) bool {
			return !q.Finished && slices.ContainsFunc(q.AntiAffinity, func(t corev1.PodAffinityTerm) bool { return odd(t) && slowAbout(&q, t, p, true) })
		}) {
			return false
		}
		if p.Terminating {
			continue
		}
		var mine []*PodBudget
		for i := range w.s.Budgets {
			if b := &w.s.Budgets[i]; b.Namespace == p.Namespace && slowPods(b.Selector, p.Labels, true) {
				mine = append(mine, b)
			}
		}
		counts := len(mine) == 1 && (p.Ready || mine[0].UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow)
		if p.Owner == "" || p.DoNotDisrupt || len(mine) > 1 || counts && !mine[0].Current {
			return false
		}
		if counts {
			evictions[mine[0]]++
		}
	}
	for b, n := range evictions {
		if n > b.Allowed {
			return false
		}
	}
	return true
}

// fits says whether a node takes p, with all others where they are.
func (w *slowWorld) fits(p *Pod) bool {
	return slices.ContainsFunc(w.nodes(), func(n *Node) bool {
		w.at[p] = n
		defer delete(w.at, p)
		all, fresh := w.on(n)
		return w.takes(p, n) && w.room(p, n, all, fresh) && w.related(p, n)
	})
}

// brute says whether there is any place for all of pods, on the nodes and on spare.
func (w *slowWorld) brute(pods []*Pod) bool {
	if len(pods) == 0 {
		return w.holds()
	}
	for _, n := range w.nodes() {
		if !w.takes(pods[0], n) {
			continue
		}
		w.at[pods[0]] = n
		w.steps++
		all, fresh := w.on(n)
		done := w.steps < slowSteps && w.room(pods[0], n, all, fresh) && w.brute(pods[1:])
		delete(w.at, pods[0])
		if done {
			return true
		}
	}
	return false
}
