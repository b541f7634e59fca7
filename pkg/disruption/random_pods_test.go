package disruption_test

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func (m *maker) pods() {
	nodes := len(m.l.s.Nodes)
	count, used := m.IntN(31), 1+m.IntN(nodes) // most states have empty hosts
	if m.used || m.calm && !m.rarely(4) {
		count, used = nodes+m.IntN(2*nodes), nodes
	}
	if m.dense {
		count, used = 2+m.IntN(9), nodes
	}
	for i := range count {
		m.pod(i, m.IntN(used))
	}
	if m.calm { // a pod that waits takes room first, which brute force does not count
		m.l.s.Pods = slices.DeleteFunc(m.l.s.Pods, func(p disruption.Pod) bool { return p.Node == "" })
	}
	for node := range nodes {
		if m.rarely(2) {
			p := m.l.pod(fmt.Sprintf("own-%d", node), node, "100m")
			p.DaemonSet = m.rarely(2)
			p.Mirror = !p.DaemonSet && m.rarely(2)
			p.Finished = !p.DaemonSet && !p.Mirror
			if p.Owner = pick(m, p.Owner, ""); m.dense && p.DaemonSet {
				if p.Owner = pick(m, "DaemonSet/d-0", "DaemonSet/d-1"); p.Owner == "DaemonSet/d-1" {
					p.Requests["cpu"], p.Labels["app"], p.AntiAffinity = 1000, "b", apart("a", hostname)
				}
			}
		}
	}
}

// pod adds a pod where it has room by its requests, or leaves it waiting.
func (m *maker) pod(i, node int) {
	p := m.l.pod(fmt.Sprintf("p-%d", i), node, pick(m, "500m", "1", "1", "2", "3"))
	p.Labels = map[string]string{"app": pick(m, "a", "b", "c", "d")}
	if free := m.calm || m.used; !free || m.dense || m.rarely(3) {
		m.wishes(p)
	}
	if m.dense {
		m.more(p)
	}
	if free := m.calm || m.used; !free || m.rarely(4) {
		m.stuck(p)
	}
	if m.rarely(6) {
		p.Priority, p.DeletionCost = int32(m.IntN(1000)), new(int32(m.IntN(100)-50))
	}
	w := newWorld(&m.l.s, m.l.c, m.l.now)
	b := w.board(nil)
	self := w.pods[p.String()]
	at := b.at[self]
	b.take(self)
	if why := b.crowded(self, at); why != "" || b.estranged(self, at) != "" {
		p.Node = ""
	}
}

// more are wishes that hardly any two pods share.
func (m *maker) more(p *disruption.Pod) {
	p.Requests["memory"] = pick[int64](m, 0, 1<<30, 2<<30, 3<<30)
	if m.rarely(6) {
		p.Requests["gpu"] = pick[int64](m, 0, 1)
	}
	if m.rarely(4) {
		p.Namespace = "bank"
	}
	if m.rarely(5) {
		p.Labels["rev"] = pick(m, "1", "2")
	}
	for _, t := range [][]corev1.PodAffinityTerm{p.Affinity, p.AntiAffinity} {
		if len(t) > 0 && m.rarely(4) {
			t[0].Namespaces = []string{pick(m, "bank", "default")}
		} else if len(t) > 0 && m.rarely(4) {
			t[0].NamespaceSelector = &metav1.LabelSelector{}
		}
	}
	if len(p.Spread) > 0 && m.rarely(4) {
		p.Spread[0].MatchLabelKeys = []string{"rev"}
	}
}

// stuck sets what keeps a pod where it is.
func (m *maker) stuck(p *disruption.Pod) {
	if p.Terminating = (!m.calm || m.dense) && m.rarely(12); p.Terminating && m.rarely(2) {
		p.Owner = "StatefulSet/app"
	}
	p.Ready = !m.rarely(12)
	p.DoNotDisrupt = m.rarely(25)
	if m.rarely(25) {
		p.Owner = ""
	}
	if m.rarely(25) {
		p.Unmodelled = []string{"topology spread"}
	}
}

// wishes are what a pod wants of its node.
func (m *maker) wishes(p *disruption.Pod) {
	if m.rarely(8) {
		p.NodeSelector = map[string]string{"zone": pick(m, "a", "b")}
	}
	if m.rarely(8) {
		p.NodeAffinity = inZone(pick(m, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), pick(m, "a", "b"))
	}
	if m.rarely(3) {
		p.Tolerations = []corev1.Toleration{pick(m,
			corev1.Toleration{Operator: corev1.TolerationOpExists},
			corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpEqual, Value: "a", Effect: corev1.TaintEffectNoSchedule},
			corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpEqual, Value: "b"},
			corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(60))})}
	}
	if m.rarely(10) {
		p.Requests[disruption.PortOf+pick(m, "TCP/80", "TCP/80", "TCP/80", "TCP/80", "UDP/80", "TCP/443")] = 1
	}
	if m.rarely(8) {
		p.Requests[disruption.VolumesOf+pick(m, "csi", "nfs")] = 1
		if m.rarely(2) {
			p.Volumes = []*corev1.NodeSelector{inZone(corev1.NodeSelectorOpIn, pick(m, "a", "b"))}
		}
	}
	if m.rarely(8) {
		p.AntiAffinity = apart(pick(m, "a", "b"), pick(m, hostname, hostname, corev1.LabelTopologyZone, "zone"))
	}
	if m.rarely(12) {
		p.Affinity = apart(pick(m, "a", "b"), pick(m, hostname, corev1.LabelTopologyZone, corev1.LabelTopologyZone))
	}
	if m.rarely(8) {
		p.Spread = m.spread(pick(m, p.Labels["app"], "a"))
	}
}

func (m *maker) spread(app string) []corev1.TopologySpreadConstraint {
	return spreadOf(map[string]string{"app": app}, pick(m, hostname, corev1.LabelTopologyZone), int32(1+m.IntN(2)))
}

// inZone is a term of required node affinity.
func inZone(op corev1.NodeSelectorOperator, zones ...string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: op, Values: zones}},
	}}}
}

// apart are terms about pods of an app.
func apart(app, topology string) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, TopologyKey: topology,
	}}
}
