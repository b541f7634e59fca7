package disruption

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// slowWorld checks placements anew, pod by pod and pair by pair, from the state alone. It knows what fitDraw draws:
// amounts are whole numbers, selectors use In, NotIn and Exists, and Near is an operator that cannot be read.
type slowWorld struct {
	s     *State
	gone  map[string]bool
	spare *Node
	at    map[*Pod]*Node // pods that get a new place, and those that wait
}

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

// slowNodes says whether a node meets a selector of nodes.
func slowNodes(sel *corev1.NodeSelector, n *Node) bool {
	if sel == nil {
		return true
	}
	for _, t := range sel.NodeSelectorTerms {
		all := len(t.MatchExpressions) > 0
		for _, e := range t.MatchExpressions {
			v, has := n.Labels[e.Key]
			ok, _ := slowIn(string(e.Operator), e.Values, v, has)
			all = all && ok
		}
		if all {
			return true
		}
	}
	return false
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

// slowAvoids says whether a term of p is against q.
func slowAvoids(p *Pod, t corev1.PodAffinityTerm, q *Pod) bool {
	spaces := t.Namespaces
	if len(spaces) == 0 {
		spaces = []string{p.Namespace}
	}
	return (t.NamespaceSelector != nil || slices.Contains(spaces, q.Namespace)) && slowPods(t.LabelSelector, q.Labels, true)
}

// takes says whether node n takes p by itself.
func (w *slowWorld) takes(p *Pod, n *Node) bool {
	if n != w.spare && (!n.Ready || n.Unschedulable || n.Deleting || w.gone[n.Name]) {
		return false
	}
	for _, t := range n.Taints {
		tolerated := t.Effect == corev1.TaintEffectPreferNoSchedule
		for _, o := range p.Tolerations {
			tolerated = tolerated || (o.Effect == "" || o.Effect == t.Effect) &&
				(o.Operator == corev1.TolerationOpExists && (o.Key == "" || o.Key == t.Key) || o.Key == t.Key && o.Value == t.Value)
		}
		if !tolerated {
			return false
		}
	}
	for k, v := range p.NodeSelector {
		if n.Labels[k] != v {
			return false
		}
	}
	ok := slowNodes(p.NodeAffinity, n) && (n != w.spare || slowKnown(p.NodeAffinity, n))
	for _, v := range p.Volumes {
		ok = ok && slowNodes(v.Nodes, n) && (n != w.spare || slowKnown(v.Nodes, n))
	}
	return ok
}

// slowKnown says whether a node that does not exist yet has all labels that a selector names.
func slowKnown(sel *corev1.NodeSelector, n *Node) bool {
	if sel == nil {
		return true
	}
	for _, t := range sel.NodeSelectorTerms {
		for _, e := range t.MatchExpressions {
			if _, has := n.Labels[e.Key]; !has {
				return false
			}
		}
	}
	return true
}

// on lists the pods of node n in the end; those that run there now, and those that are new.
func (w *slowWorld) on(n *Node) (all, fresh []*Pod) {
	for i := range w.s.Pods {
		p := &w.s.Pods[i]
		switch {
		case p.Finished:
		case w.at[p] == n:
			all, fresh = append(all, p), append(fresh, p)
		case w.at[p] == nil && n != w.spare && !w.gone[n.Name] && p.Node == n.Name:
			all = append(all, p)
		case n == w.spare && p.DaemonSet && w.gone[p.Node]:
			all = append(all, p)
		}
	}
	return all, fresh
}

// used is how much of a resource pods of node n have.
func (w *slowWorld) used(n *Node, all []*Pod, resource string) (sum int64) {
	of := func(p *Pod) int64 {
		if resource == "pods" {
			return 1
		}
		return slowAmount(p.Requests[resource])
	}
	most, every := map[string]int64{}, map[string]int64{}
	for i := range w.s.Pods {
		if p := &w.s.Pods[i]; p.DaemonSet && !p.Finished && p.Node != "" {
			every[p.Node] += of(p)
			if w.gone[p.Node] {
				most[p.Node] += of(p)
			}
		}
	}
	if n == w.spare {
		if len(most) == 0 {
			most = every
		}
		var top int64
		for _, v := range most {
			top = max(top, v)
		}
		sum = top
	}
	for _, p := range all {
		if n != w.spare || w.at[p] == n {
			sum += of(p)
		}
	}
	return sum
}

func slowHost(n *Node) string {
	if h, ok := n.Labels[corev1.LabelHostname]; ok {
		return "host " + h
	}
	return "node " + n.Name
}

// holds says whether everything that is new fits where it is.
func (w *slowWorld) holds() bool {
	nodes := make([]*Node, 0, len(w.s.Nodes)+1)
	for i := range w.s.Nodes {
		nodes = append(nodes, &w.s.Nodes[i])
	}
	if w.spare != nil {
		nodes = append(nodes, w.spare)
	}
	for _, n := range nodes {
		all, fresh := w.on(n)
		for _, p := range fresh {
			if !w.takes(p, n) || !w.room(p, n, all, fresh) {
				return false
			}
			for _, m := range nodes {
				if slowHost(m) != slowHost(n) {
					continue
				}
				beside, _ := w.on(m)
				for _, q := range beside {
					if q != p && (slowHostTerm(p, q) || slowHostTerm(q, p)) {
						return false
					}
				}
			}
		}
	}
	return true
}

func slowHostTerm(p, q *Pod) bool {
	return slices.ContainsFunc(p.AntiAffinity, func(t corev1.PodAffinityTerm) bool {
		return t.TopologyKey == corev1.LabelHostname && slowAvoids(p, t, q)
	})
}

// room says whether n has the resources, ports and volumes for p.
func (w *slowWorld) room(p *Pod, n *Node, all, fresh []*Pod) bool {
	for r, q := range p.Requests {
		if slowAmount(q) > 0 && w.used(n, all, r) > slowAmount(n.Allocatable[r]) {
			return false
		}
	}
	if w.used(n, all, "pods") > slowAmount(n.Allocatable["pods"]) {
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
	for _, q := range all {
		for _, a := range p.HostPorts {
			for _, b := range q.HostPorts {
				if q != p && slowPortsClash(a, b) {
					return false
				}
			}
		}
	}
	return true
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
		if p.Node != "" && w.gone[p.Node] && !p.Finished && !p.DaemonSet && !p.Mirror && !p.Terminating {
			out = append(out, p)
		}
	}
	return out
}

// mayGo says whether the pods that need another place may be evicted, all of them.
func (w *slowWorld) mayGo() bool {
	evictions := map[*PodBudget]int32{}
	for _, p := range w.moving() {
		if p.Owner == "" || p.DoNotDisrupt || len(p.Unmodelled) > 0 {
			return false
		}
		for _, t := range p.AntiAffinity {
			if t.TopologyKey != corev1.LabelHostname {
				return false
			}
		}
		for i := range w.s.Pods {
			q := &w.s.Pods[i]
			for _, t := range q.AntiAffinity {
				if !q.Finished && t.TopologyKey != corev1.LabelHostname && slowAvoids(q, t, p) {
					return false
				}
			}
		}
		var mine []*PodBudget
		for i := range w.s.Budgets {
			if b := &w.s.Budgets[i]; b.Namespace == p.Namespace && slowPods(b.Selector, p.Labels, true) {
				mine = append(mine, b)
			}
		}
		counts := len(mine) == 1 && (p.Ready || mine[0].UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow)
		if len(mine) > 1 || counts && !mine[0].Current {
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

// brute says whether there is any place for all of pods, on the nodes and on spare.
func (w *slowWorld) brute(pods []*Pod) bool {
	if len(pods) == 0 {
		return true
	}
	for i := range len(w.s.Nodes) + 1 {
		n := w.spare
		if i < len(w.s.Nodes) {
			n = &w.s.Nodes[i]
		}
		if n == nil || !w.takes(pods[0], n) {
			continue
		}
		w.at[pods[0]] = n
		if w.holds() && w.brute(pods[1:]) {
			delete(w.at, pods[0])
			return true
		}
		delete(w.at, pods[0])
	}
	return false
}
