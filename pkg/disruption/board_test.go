package disruption_test

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// hostname is the label by which Kubernetes tells nodes apart.
const hostname = corev1.LabelHostname

// seat is a node, or a host that becomes one, with the pods on it.
type seat struct {
	cluster disruption.Key
	name    string
	labels  map[string]string
	made    bool // it does not exist yet: other labels than these, and its name, are not known
	taints  []corev1.Taint
	room    disruption.Resources
	pods    []*disruption.Pod
	closed  string // why no pod may be put there; "" = it may
}

// board is where all pods are while the judge, or brute force, moves them. It shares no code with
// the planner: rules of the scheduler are written here once more, but for those that component-helpers has.
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

// needsOf are the requests of a pod, and that it is one.
func (b *board) needsOf(p *disruption.Pod) map[string]int64 {
	if b.needs[p] == nil {
		b.needs[p] = map[string]int64{"pods": 1}
		maps.Copy(b.needs[p], p.Requests)
	}
	return b.needs[p]
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
		if t.Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(all, tolerates(t)) {
			return "the taint " + t.Key
		}
	}
	return ""
}

func keeps(all []corev1.Toleration, to *seat) string {
	for _, t := range to.taints {
		if t.Effect == corev1.TaintEffectNoExecute && slices.ContainsFunc(all, func(o corev1.Toleration) bool { return o.TolerationSeconds != nil && tolerates(t)(o) }) {
			return "the taint " + t.Key + ", in the end"
		}
	}
	return ""
}

func tolerates(taint corev1.Taint) func(corev1.Toleration) bool {
	return func(o corev1.Toleration) bool { return o.ToleratesTaint(klog.Logger{}, &taint, false) }
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
		if !reaches(v, to) {
			return "a volume"
		}
	}
	return ""
}

// reaches tells whether one of the terms holds; nil holds everywhere, and no terms hold nowhere. What is not known of a node
// that does not exist yet holds in none.
func reaches(s *corev1.NodeSelector, to *seat) bool {
	if s == nil {
		return true
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: to.name, Labels: to.labels}}
	return slices.ContainsFunc(s.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		unknown := to.made && (len(t.MatchFields) > 0 || slices.ContainsFunc(t.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			_, ok := to.labels[r.Key]
			return !ok || r.Key == hostname
		}))
		ok, err := schedule.MatchNodeSelectorTerms(node, &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{t}})
		return ok && err == nil && !unknown
	})
}

// crowded looks at what there is only so much of: resources, pods, ports and volumes.
func (b *board) crowded(p *disruption.Pod, to *seat) string {
	for name, n := range b.needsOf(p) {
		room, known := to.room[name]
		if n == 0 || !known && strings.HasPrefix(name, disruption.VolumesOf) {
			continue
		}
		if !known && strings.HasPrefix(name, disruption.PortOf) {
			room = 1
		}
		for _, other := range to.pods {
			room -= b.needsOf(other)[name]
		}
		if n > room {
			return "too little " + name
		}
	}
	return ""
}

// matches tells whether a selector takes labels; nil takes none, and so does one that cannot be read.
func matches(s *metav1.LabelSelector, have map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(have))
}

// addSpare adds the node that a host would become in a pool, with the pods of DaemonSets that run on another node of the pool.
func (b *board) addSpare(w *world, h *disruption.Host, pool *disruption.Pool, of disruption.Key) {
	made := maps.Clone(pool.NodeLabels)
	if made == nil {
		made = map[string]string{}
	}
	if _, ok := made[hostname]; !ok {
		made[hostname] = h.String()
	}
	to := &seat{cluster: of, name: h.String(), made: true, labels: made, taints: pool.NodeTaints, room: h.Capacity}
	b.seats[in(of, h.String())] = to
	sets := map[string]bool{}
	for i := range w.s.Pods {
		p, set := &w.s.Pods[i], w.s.Pods[i].Namespace+"/"+w.s.Pods[i].Owner
		at := w.hostOf[in(of, p.Node)]
		if p.DaemonSet && !p.Finished && p.Cluster == of && at != nil && w.pools[poolOf(at)] == pool && !sets[set] {
			sets[set] = true
			again := *p
			again.Node = "" // not there yet
			b.put(&again, to)
		}
	}
}
