package disruption_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// host0 changes host 0 of a state.
func host0(change func(h *disruption.Host)) func(*lab, *api.Plan) {
	return func(l *lab, _ *api.Plan) { change(&l.s.Hosts[0]) }
}

// pod0 changes the pod that moves.
func pod0(change func(p *disruption.Pod)) func(*lab, *api.Plan) {
	return func(l *lab, _ *api.Plan) { change(&l.s.Pods[0]) }
}

// node1 changes the node that it moves to.
func node1(change func(n *disruption.Node)) func(*lab, *api.Plan) {
	return func(l *lab, _ *api.Plan) { change(&l.s.Nodes[1]) }
}

func TestTheJudgeRejectsHosts(t *testing.T) {
	for _, r := range []rejection{
		{"storage", good, host0(func(h *disruption.Host) { h.Storage = true }), "law left alone"},
		{"storage node", good, func(l *lab, _ *api.Plan) { l.s.Nodes[0].Labels[storageLabels[0]] = "" }, "law left alone"},
		{"do not disrupt", drifting, host0(func(h *disruption.Host) { h.DoNotDisrupt = true }), "law left alone"},
		{"paused", good, host0(func(h *disruption.Host) { h.Paused = true }), "law left alone"},
		{"paused machine", good, host0(func(h *disruption.Host) { h.Machine.Paused = true }), "law left alone"},
		{"detached", drifting, host0(func(h *disruption.Host) { h.Detached = true }), "law left alone"},
		{"external", good, host0(func(h *disruption.Host) { h.External = true }), "law left alone"},
		{"control plane", good, host0(func(h *disruption.Host) { h.Machine.ControlPlane = true }), "law left alone"},
		{"control plane node", drifting, func(l *lab, _ *api.Plan) { l.s.Nodes[0].ControlPlane = true }, "law left alone"},
		{"another owner", good, host0(func(h *disruption.Host) { h.Machine.OtherOwner = "KubeadmControlPlane x" }), "another owner"},
		{"deleting", good, host0(func(h *disruption.Host) { h.Machine.Deleting = true }), "being disrupted"},
		{"failed", good, host0(func(h *disruption.Host) { h.Failed = true }), "has failed"},
		{"deprovisioning", good, host0(func(h *disruption.Host) { h.State = "deprovisioning" }), "not provisioned"},
		{"faults", good, host0(func(h *disruption.Host) { h.Faults = []string{"watts-busy"} }), "cannot be read"},
		{"faults of the pool", good, func(l *lab, _ *api.Plan) { l.s.Pools[0].Faults = []string{"budgets"} }, "cannot be read"},
		{"a pool that does not scale", emptying, func(l *lab, _ *api.Plan) { l.s.Pools[0].Scales = false }, "does not scale"},
		{"an unknown pool", good, func(l *lab, _ *api.Plan) { l.s.Pools = nil }, "no pool that is known"},
		{"never ready", emptying, func(l *lab, _ *api.Plan) { l.s.Nodes[3].FirstReady = time.Time{} }, "law ready once"},
		{"a nanosecond too soon", emptying, func(l *lab, _ *api.Plan) { l.s.Nodes[3].LastPodEvent = l.now.Add(-30*time.Second + 1) }, "law empty"},
		{"Never", emptying, func(l *lab, _ *api.Plan) { l.s.Pools[0].Policy.ConsolidateAfter = new(disruption.Never) }, "law empty"},
		{"not Consolidatable", good, host0(func(h *disruption.Host) { h.Machine.Consolidatable = new(false) }), "Consolidatable"},
		{"never consolidated", good, func(l *lab, _ *api.Plan) { l.c.Budgets = append(l.c.Budgets, neverConsolidated) }, "law policy"},
		{"not empty", emptying, func(l *lab, _ *api.Plan) { l.pod("d", 3, "1") }, "law empty"},
		{"not empty yet", emptying, func(l *lab, _ *api.Plan) {
			d := l.pod("d", 3, "1")
			d.Terminating, d.Owner = true, "StatefulSet/db"
		}, "law empty"},
		{"empty", good, func(l *lab, _ *api.Plan) { l.s.Pods[0].Node = "" }, "law one method"},
		{"budget", good, func(l *lab, _ *api.Plan) { l.c.Budgets = append(l.c.Budgets, budget.Budget{Nodes: "0"}) }, "law budget"},
		{"budget of the pool", good, func(l *lab, _ *api.Plan) { l.s.Pools[0].Policy.Budgets = budget.List{{Nodes: "0%"}, {MinReady: "0"}} }, "law budget"},
		{"two of a budget of 10 %", several, func(l *lab, _ *api.Plan) { l.c.Budgets = budget.List{{Nodes: "10%"}, {MinReady: "0"}} }, "law budget"},
		{"budget less not ready", good, func(l *lab, _ *api.Plan) {
			l.c.Budgets, l.s.Nodes[2].Ready = budget.List{{Nodes: "25%"}, {MinReady: "0"}}, false
		}, "law budget"},
		{"budget less disrupting", good, func(l *lab, _ *api.Plan) {
			l.c.Budgets, l.s.Hosts[2].Machine.Marked = budget.List{{Nodes: "1"}, {MinReady: "0"}}, true
		}, "law budget"},
		{"budget of the reason", good, func(l *lab, _ *api.Plan) {
			l.c.Budgets = budget.List{{Nodes: "0", Reasons: []api.PlanReason{api.PlanUnderutilized}}, {MinReady: "0"}}
		}, "law budget"},
		{"bad schedule", good, func(l *lab, _ *api.Plan) {
			l.c.Budgets = budget.List{{Nodes: "5", Schedule: "noon", Duration: "1h"}, {MinReady: "0"}}
		}, "law budget"},
		{"schedule at its start", good, func(l *lab, _ *api.Plan) {
			l.c.Budgets = budget.List{{Nodes: "0", Schedule: "0 12 * * 3", Duration: "1h"}, {MinReady: "0"}}
		}, "law budget"},
		{"four stay Ready", good, func(l *lab, _ *api.Plan) { l.s.Pools[0].Policy.Budgets = budget.List{{MinReady: "4"}} }, "must stay"},
	} {
		t.Run(r.name, r.test)
	}
}

func TestTheJudgeRejectsMoves(t *testing.T) {
	for _, r := range []rejection{
		{"no place", good, func(_ *lab, p *api.Plan) { p.Actions[0].Moves = nil }, "without a place"},
		{"no pod", good, func(_ *lab, p *api.Plan) { p.Actions[0].Moves[0].Pod = "default/x" }, "which is no pod"},
		{"twice", good, func(_ *lab, p *api.Plan) { p.Actions[0].Moves = append(p.Actions[0].Moves, p.Actions[0].Moves[0]) }, "moves twice"},
		{"of another host", good, func(_ *lab, p *api.Plan) { p.Actions[0].Moves[0].Pod = "default/c" }, "not on its hosts"},
		{"of a daemon set", good, func(_ *lab, p *api.Plan) {
			p.Actions[0].Moves = append(p.Actions[0].Moves, api.PlanMove{Pod: "kube-system/ds", To: "n-1"})
		}, "of its node"},
		{"to no node", good, func(_ *lab, p *api.Plan) { p.Actions[0].Moves[0].To = "n-9" }, "which is no node"},
		{"to itself", good, func(_ *lab, p *api.Plan) { p.Actions[0].Moves[0].To = "n-0" }, "which goes too"},
		{"to one that goes", several, func(_ *lab, p *api.Plan) { p.Actions[0].Moves[0].To = "n-3" }, "which goes too"},
		{"to one without room", good, func(_ *lab, p *api.Plan) { p.Actions[0].Moves[0].To = "n-2" }, "too little cpu"},
		{"together too much", several, func(l *lab, _ *api.Plan) { l.s.Pods[4].Requests["cpu"] = "1500m" }, "too little cpu"},
		{"too many pods", good, node1(func(n *disruption.Node) { n.Allocatable["pods"] = "1" }), "too many pods"},
		{"not ready", good, node1(func(n *disruption.Node) { n.Ready = false }), "not Ready"},
		{"unschedulable", good, node1(func(n *disruption.Node) { n.Unschedulable = true }), "unschedulable"},
		{"disrupting", good, func(l *lab, _ *api.Plan) { l.s.Hosts[1].Machine.Marked = true }, "being disrupted"},
		{"busy with its own pods", good, node1(func(n *disruption.Node) { n.LastPodEvent = noon.Add(-time.Second) }), "its own consolidateAfter"},
		{"taint", good, node1(func(n *disruption.Node) {
			n.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoExecute}}
		}), "the taint gpu"},
		{"selector", good, pod0(func(p *disruption.Pod) { p.NodeSelector = map[string]string{"zone": "b"} }), "selector zone"},
		{"affinity", good, pod0(func(p *disruption.Pod) { p.NodeAffinity = inZone(corev1.NodeSelectorOpNotIn, "a") }), "node affinity"},
		{"volume elsewhere", good, pod0(func(p *disruption.Pod) {
			p.Volumes = []disruption.Volume{{Name: "v", Nodes: inZone(corev1.NodeSelectorOpIn, "b")}}
		}), "volume v"},
		{"too many volumes", good, func(l *lab, _ *api.Plan) {
			l.s.Pods[0].Volumes, l.s.Nodes[1].VolumesLeft = []disruption.Volume{{Name: "v", Driver: "csi"}}, map[string]int{"csi": 0}
		}, "no more volumes"},
		{"port", good, func(l *lab, _ *api.Plan) {
			l.s.Pods[0].HostPorts, l.s.Pods[1].HostPorts = []string{"TCP//80"}, []string{"TCP/10.0.0.1/80"}
		}, "port TCP//80"},
		{"its anti-affinity", good, pod0(func(p *disruption.Pod) { p.AntiAffinity = apart("b", hostname) }), "does not want default/b"},
		{"another's anti-affinity", good, func(l *lab, _ *api.Plan) { l.s.Pods[2].AntiAffinity = apart("a", "zone") }, "default/c does not want"},
		{"do not disrupt", good, pod0(func(p *disruption.Pod) { p.DoNotDisrupt = true }), "must not be disrupted"},
		{"no owner", good, pod0(func(p *disruption.Pod) { p.Owner = "" }), "nobody would replace it"},
		{"unmodelled", drifting, pod0(func(p *disruption.Pod) { p.Unmodelled = []string{"pod affinity"} }), "not modelled"},
		{"PDB", good, func(l *lab, _ *api.Plan) { l.budget("a", 0) }, "budget default/pdb-a"},
		{"PDB over a batch", several, func(l *lab, _ *api.Plan) {
			l.s.Pods[4].Labels["app"] = "a"
			l.budget("a", 1)
		}, "budget default/pdb-a allows 1, and 2"},
		{"PDB not ready", good, func(l *lab, _ *api.Plan) { l.s.Pods[0].Ready = false; l.budget("a", 0) }, "budget default/pdb-a"},
		{"old PDB", good, func(l *lab, _ *api.Plan) { l.budget("a", 3).Current = false }, "not current"},
		{"two PDBs", good, func(l *lab, _ *api.Plan) { l.budget("a", 3); l.budget("a", 3).Name = "other" }, "cannot be evicted"},
		{"replacement too dear", replacing, func(l *lab, _ *api.Plan) {
			l.s.Hosts[4].Price.WattsIdle, l.s.Hosts[4].Price.WattsBusy = new(400.0), new(400.0)
		}, "law price"},
		{"replacement of unknown price", replacing, func(l *lab, _ *api.Plan) { l.s.Hosts[4].Price = disruption.Price{} }, "law price"},
		{"replacement in use", replacing, func(l *lab, _ *api.Plan) { l.s.Hosts[4].Consumer = "x" }, "somebody has it"},
		{"replacement without room", replacing, func(l *lab, _ *api.Plan) { l.s.Hosts[4].Capacity["cpu"] = "1" }, "too little cpu"},
		{"replacement not chosen", replacing, func(l *lab, _ *api.Plan) {
			l.s.Pools[0].HostSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"size": "big"}}
		}, "does not choose it"},
		{"replacement of one class", replacing, func(l *lab, _ *api.Plan) {
			l.s.Hosts[0].Class, l.s.Hosts[4].Class = "a", "a"
			l.s.Hosts[4].Price = l.s.Hosts[0].Price
		}, "law class"},
		{"two decisions", replacing, func(_ *lab, p *api.Plan) { p.Actions[0].Decision = api.PlanRelease }, "law one replacement"},
	} {
		t.Run(r.name, r.test)
	}
}

func inZone(op corev1.NodeSelectorOperator, zones ...string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: op, Values: zones}},
	}}}
}

// apart are terms that do not want pods of an app beside them.
func apart(app, topology string) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, TopologyKey: topology,
	}}
}
