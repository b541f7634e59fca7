package disruption_test

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// zoneLabel is the zone by which Kubernetes spreads pods; "zone" is a label like any other.
const zoneLabel = corev1.LabelTopologyZone

type (
	nodeChange = func(*disruption.Node)
	podChange  = func(*disruption.Pod)
)

// at is a node of 4 CPUs that takes pods. It is on none of our hosts.
func at(name string, change ...nodeChange) disruption.Node {
	n := disruption.Node{
		Name: name, Ready: true, Labels: map[string]string{hostname: name}, FirstReady: noon.Add(-time.Hour),
		Allocatable: amounts("cpu 4 memory 8Gi pods 10"),
	}
	for _, f := range change {
		f(&n)
	}
	return n
}

// web is a pod of a Deployment that wants one CPU.
func web(name, node string, change ...podChange) disruption.Pod {
	p := disruption.Pod{
		Key: disruption.Key{Namespace: "shop", Name: name}, Node: node, Owner: "ReplicaSet/web", Ready: true,
		Labels: map[string]string{"app": "web"}, Requests: amounts("cpu 1 memory 1Gi"),
	}
	for _, f := range change {
		f(&p)
	}
	return p
}

func has(resource, amount string) nodeChange {
	return func(n *disruption.Node) { maps.Copy(n.Allocatable, amounts(resource+" "+amount)) }
}
func label(key, value string) nodeChange { return func(n *disruption.Node) { n.Labels[key] = value } }
func zone(value string) nodeChange       { return label(zoneLabel, value) }
func asks(resource, amount string) podChange {
	return func(p *disruption.Pod) { maps.Copy(p.Requests, amounts(resource+" "+amount)) }
}
func app(name string) podChange { return func(p *disruption.Pod) { p.Labels["app"] = name } }
func picks(key, value string) podChange {
	return func(p *disruption.Pod) { p.NodeSelector = map[string]string{key: value} }
}

// term is about pods of an app.
func term(topology, app string, change ...func(*corev1.PodAffinityTerm)) corev1.PodAffinityTerm {
	t := apart(app, topology)[0]
	for _, f := range change {
		f(&t)
	}
	return t
}

func near(t ...corev1.PodAffinityTerm) podChange { return func(p *disruption.Pod) { p.Affinity = t } }
func away(t ...corev1.PodAffinityTerm) podChange {
	return func(p *disruption.Pod) { p.AntiAffinity = t }
}

func spreads(topology string, change ...func(*corev1.TopologySpreadConstraint)) podChange {
	return func(p *disruption.Pod) {
		p.Spread = spreadOf(map[string]string{"app": "web"}, topology, 1)
		for _, f := range change {
			f(&p.Spread[0])
		}
	}
}

func ending(p *disruption.Pod)   { p.Terminating = true }
func stateful(p *disruption.Pod) { p.Owner = "StatefulSet/db" }
func finished(p *disruption.Pod) { p.Finished = true }
func teamX(t *corev1.PodAffinityTerm) {
	t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
}

// unread is a selector with an operator that nobody knows.
var unread = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}

func unreadable(t *corev1.PodAffinityTerm) { t.LabelSelector = unread }
