package disruption_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// hostname is the label by which Kubernetes tells nodes apart.
const hostname = corev1.LabelHostname

// seat is a node, or a host that becomes one, with the pods on it.
type seat struct {
	cluster     disruption.Key
	name        string
	labels      map[string]string
	made        bool // it does not exist yet: other labels than these, and its name, are not known
	taints      []corev1.Taint
	room        disruption.Resources
	volumesLeft map[string]int
	pods        []*disruption.Pod
	before      map[string]bool // volumes that were there at first
	closed      string          // why no pod may be put there; "" = it may
}

// board is where all pods are while the judge, or brute force, moves them. It shares no code with
// the planner: rules of the scheduler are written here once more.
type board struct {
	seats map[string]*seat
	at    map[*disruption.Pod]*seat
	anti  []*disruption.Pod // that do not want others beside them
	needs map[*disruption.Pod]map[string]int64
	moved []*disruption.Pod
}

func newBoard() *board {
	return &board{seats: map[string]*seat{}, at: map[*disruption.Pod]*seat{}, needs: map[*disruption.Pod]map[string]int64{}}
}

// amount counts as the scheduler does: thousandths of a CPU, whole units of all else, rounded up.
func amount(name, text string) (int64, error) {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, err
	}
	if q.Sign() < 0 {
		return 0, fmt.Errorf("%s is negative", name)
	}
	if q.CmpInt64(1<<50) > 0 {
		return 1 << 60, nil // more than there is
	}
	if name == string(corev1.ResourceCPU) {
		return q.MilliValue(), nil
	}
	return q.Value(), nil
}

func amounts(r disruption.Resources) (map[string]int64, error) {
	all := map[string]int64{}
	for name, text := range r {
		n, err := amount(name, text)
		if err != nil {
			return nil, err
		}
		all[name] = n
	}
	return all, nil
}

func (b *board) needsOf(p *disruption.Pod) (map[string]int64, error) {
	if n, ok := b.needs[p]; ok {
		return n, nil
	}
	n, err := amounts(p.Requests)
	if err == nil {
		b.needs[p] = n
	}
	return n, err
}

func (b *board) put(p *disruption.Pod, to *seat) {
	to.pods = append(to.pods, p)
	b.at[p] = to
	if len(p.AntiAffinity) > 0 && !slices.Contains(b.anti, p) {
		b.anti = append(b.anti, p)
	}
}

func (b *board) take(p *disruption.Pod) {
	from := b.at[p]
	delete(b.at, p)
	i := slices.Index(from.pods, p)
	from.pods = slices.Delete(from.pods, i, i+1)
}

// refuses says why a pod cannot be put on a seat; "" = it can.
func (b *board) refuses(p *disruption.Pod, to *seat) string {
	if to.closed != "" {
		return to.closed
	}
	if to.cluster != p.Cluster {
		return "another cluster"
	}
	for _, why := range []string{admits(p.Tolerations, to), keeps(p.Tolerations, to), selects(p, to)} {
		if why != "" {
			return why
		}
	}
	if why := b.crowded(p, to); why != "" {
		return why
	}
	return b.estranged(p, to)
}

// admits says which taint keeps pods with these tolerations out, and keeps which of them drives the pods away later.
func admits(all []corev1.Toleration, to *seat) string {
	for _, t := range to.taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(all, t) {
			return "the taint " + t.Key
		}
	}
	return ""
}

func keeps(all []corev1.Toleration, to *seat) string {
	for _, t := range to.taints {
		if t.Effect == corev1.TaintEffectNoExecute && slices.ContainsFunc(all, func(o corev1.Toleration) bool {
			return o.TolerationSeconds != nil && tolerates([]corev1.Toleration{o}, t)
		}) {
			return "the taint " + t.Key + ", in the end"
		}
	}
	return ""
}

func tolerates(all []corev1.Toleration, taint corev1.Taint) bool {
	return slices.ContainsFunc(all, func(t corev1.Toleration) bool {
		if t.Effect != "" && t.Effect != taint.Effect {
			return false
		}
		switch {
		case t.Key == "":
			return t.Operator == corev1.TolerationOpExists
		case t.Key != taint.Key:
			return false
		case t.Operator == corev1.TolerationOpExists:
			return true
		}
		return (t.Operator == "" || t.Operator == corev1.TolerationOpEqual) && t.Value == taint.Value
	})
}

func selects(p *disruption.Pod, to *seat) string {
	for k, v := range p.NodeSelector {
		if got, ok := to.labels[k]; !ok || got != v {
			return "the node selector " + k
		}
	}
	if !reaches(p.NodeAffinity, to) {
		return "the node affinity"
	}
	for _, v := range p.Volumes {
		if !reaches(v.Nodes, to) {
			return "the volume " + v.Name
		}
	}
	return ""
}

// reaches tells whether one of the terms holds; nil holds everywhere, and no terms hold nowhere.
func reaches(s *corev1.NodeSelector, to *seat) bool {
	if s == nil {
		return true
	}
	return slices.ContainsFunc(s.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		if len(t.MatchExpressions)+len(t.MatchFields) == 0 {
			return false
		}
		for _, r := range t.MatchExpressions {
			v, ok := to.labels[r.Key]
			if !holds(r, v, ok) || to.made && (!ok || r.Key == hostname) {
				return false
			}
		}
		for _, r := range t.MatchFields {
			if to.made || r.Key != metav1.ObjectNameField || !holds(r, to.name, true) {
				return false
			}
		}
		return true
	})
}

func holds(r corev1.NodeSelectorRequirement, v string, ok bool) bool {
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		return ok && slices.Contains(r.Values, v)
	case corev1.NodeSelectorOpNotIn:
		return !ok || !slices.Contains(r.Values, v)
	case corev1.NodeSelectorOpExists:
		return ok
	case corev1.NodeSelectorOpDoesNotExist:
		return !ok
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if !ok || len(r.Values) != 1 {
			return false
		}
		have, err1 := strconv.ParseInt(v, 10, 64)
		want, err2 := strconv.ParseInt(r.Values[0], 10, 64)
		if err1 != nil || err2 != nil {
			return false
		}
		return r.Operator == corev1.NodeSelectorOpGt && have > want || r.Operator == corev1.NodeSelectorOpLt && have < want
	}
	return false
}

// crowded looks at what there is only so much of: resources, pods, ports and volumes.
func (b *board) crowded(p *disruption.Pod, to *seat) string {
	needs, err := b.needsOf(p)
	if err != nil {
		return "its requests cannot be read: " + err.Error()
	}
	for name, n := range needs {
		if n == 0 {
			continue
		}
		room, err := amount(name, to.room[name])
		if err != nil {
			return "no " + name
		}
		for _, other := range to.pods {
			used, err := b.needsOf(other)
			if err != nil {
				return "requests of " + other.String() + " cannot be read"
			}
			room -= used[name]
		}
		if n > room {
			return "too little " + name
		}
	}
	if text, ok := to.room[string(corev1.ResourcePods)]; ok {
		if most, err := amount("pods", text); err != nil || int64(len(to.pods))+1 > most {
			return "too many pods"
		}
	}
	for _, other := range to.pods {
		for _, port := range p.HostPorts {
			if slices.ContainsFunc(other.HostPorts, func(taken string) bool { return samePort(port, taken) }) {
				return "the port " + port
			}
		}
	}
	return to.attached(p)
}

// samePort tells whether two ports, each PROTOCOL/ADDRESS/PORT, cannot be on one node: without an address they are on all.
func samePort(a, b string) bool {
	one, two := strings.Split(a, "/"), strings.Split(b, "/")
	if len(one) != 3 || len(two) != 3 {
		return a == b
	}
	every := func(address string) bool { return address == "" || address == "0.0.0.0" || address == "::" }
	return one[0] == two[0] && one[2] == two[2] && (one[1] == two[1] || every(one[1]) || every(two[1]))
}

// attached tells whether the volumes of a pod can be attached besides those that have come before.
func (to *seat) attached(p *disruption.Pod) string {
	more := map[string]map[string]bool{} // by driver: volumes that were not there at first
	for _, q := range append(slices.Clone(to.pods), p) {
		for _, v := range q.Volumes {
			if v.Driver == "" || to.before[v.Name] {
				continue
			}
			if more[v.Driver] == nil {
				more[v.Driver] = map[string]bool{}
			}
			more[v.Driver][v.Name] = true
		}
	}
	for _, v := range p.Volumes {
		if left, ok := to.volumesLeft[v.Driver]; ok && len(more[v.Driver]) > left {
			return "no more volumes of " + v.Driver
		}
	}
	return ""
}

// matches tells whether a selector takes labels; nil takes none, and so does one that cannot be read.
func matches(s *metav1.LabelSelector, have map[string]string) bool {
	if s == nil {
		return false
	}
	if len(s.MatchExpressions) == 0 {
		for k, v := range s.MatchLabels {
			if got, ok := have[k]; !ok || got != v {
				return false
			}
		}
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(have))
}

// addSpare adds the node that a host would become in a pool, with the pods of DaemonSets that would run there: of those
// that demand what is known of it, and of those that run on another node of the pool.
func (b *board) addSpare(w *world, h *disruption.Host, pool *disruption.Pool, of disruption.Key) *seat {
	made := maps.Clone(pool.NodeLabels)
	if made == nil {
		made = map[string]string{}
	}
	if _, ok := made[hostname]; !ok {
		made[hostname] = h.String()
	}
	to := &seat{cluster: of, name: h.String(), made: true, labels: made, taints: pool.NodeTaints, room: h.Capacity}
	b.seats[in(of, h.String())] = to
	for i := range w.s.DaemonSets {
		d := &w.s.DaemonSets[i]
		runs := slices.ContainsFunc(w.s.Pods, func(q disruption.Pod) bool {
			at := w.hostOf[in(of, q.Node)]
			return q.DaemonSet && q.Cluster == of && q.Namespace == d.Namespace && q.Owner == "DaemonSet/"+d.Name && at != nil && w.pools[poolOf(at)] == pool
		})
		if d.Cluster == of && (runs || selects(d, to) == "" && admits(d.Tolerations, to) == "") {
			b.put(d, to)
		}
	}
	return to
}
