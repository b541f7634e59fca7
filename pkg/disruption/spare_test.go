package disruption

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// demand is a term of required node affinity.
func demand(key string, operator corev1.NodeSelectorOperator, values ...string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}},
	}}
}

// TestDC10_WhatIsNotKnownOfANewNodeTakesNoPod: labels that differ among the nodes of a pool are none of
// the pool's NodeLabels, and a new node may well have them.
func TestDC10_WhatIsNotKnownOfANewNodeTakesNoPod(t *testing.T) {
	for name, row := range map[string]struct {
		affinity *corev1.NodeSelector
		selector map[string]string
		fits     bool
	}{
		"no demand":                   {fits: true},
		"NotIn of an unknown label":   {affinity: demand("zone", corev1.NodeSelectorOpNotIn, "b")},
		"an unknown label is shunned": {affinity: demand("gpu", corev1.NodeSelectorOpDoesNotExist)},
		"NotIn of a known label":      {affinity: demand("os", corev1.NodeSelectorOpNotIn, "windows"), fits: true},
		"a known label":               {selector: map[string]string{"os": "linux"}, fits: true},
		"the name of the host":        {selector: map[string]string{corev1.LabelHostname: "s-1"}},
		"not the name of a host":      {affinity: demand(corev1.LabelHostname, corev1.NodeSelectorOpNotIn, "s-1")},
		"fields of the node": {affinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"n-9"}}}},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1)
			l.s.Pools[0].NodeLabels = map[string]string{"os": "linux", corev1.LabelHostname: "s-1"}
			l.spare(100).Capacity = Resources{"cpu": "8", "pods": "9"}
			q := l.pod(0, 4)
			q.NodeAffinity, q.NodeSelector = row.affinity, row.selector
			p, err := Plan(context.Background(), &l.s, l.c, l.now)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(told(p), ">s-1"); got != row.fits {
				t.Errorf("the plan is %q, want a replacement: %v; later %+v", told(p), row.fits, p.Later)
			}
		})
	}
}
