package disruption

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Whatever is written as a quantity, a port or a selector: no panic, an error that names a field, and no pod where it does
// not fit.
func FuzzSimulator(f *testing.F) {
	f.Add("1Gi", "2Gi", "TCP//80", "zone", "In", "x")
	f.Add("1e3", "0e999999999", "/::/1", "", "Exists", "")
	f.Add("0.5n", "1E", "TCP/0.0.0.0/65535", "a b", "Gt", "1")
	f.Add("9223372036854775807", "7Ei", "//", "zone", "NotIn", "\xff")
	f.Add("1e-9", "1e30", "SCTP/fe80::1/9", "zone", "Lt", "99999999999999999999")
	f.Fuzz(func(t *testing.T, asks, has, port, key, op, value string) {
		values := []string{value}
		term := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{
			MatchLabels:      map[string]string{key: value},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOperator(op), Values: values}},
		}}
		match := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOperator(op), Values: values}},
		}}}
		s := &State{
			Nodes: []Node{fitNodeOf("a"), fitNodeOf("b", func(n *Node) {
				n.Labels[key] = value
				n.Allocatable["memory"] = has
				n.Taints = []corev1.Taint{{Key: key, Value: value, Effect: corev1.TaintEffect(op)}}
			})},
			Pods: []Pod{
				fitPodOf("p", "a", fitAsks("memory", asks), func(p *Pod) {
					p.HostPorts = []string{port}
					p.NodeAffinity = match
					p.Tolerations = []corev1.Toleration{{Key: key, Operator: corev1.TolerationOperator(op), Value: value}, {Operator: corev1.TolerationOpExists}}
					p.Volumes = []Volume{{Driver: key, Nodes: match}}
				}),
				fitPodOf("q", "b", fitAsks("memory", "0"), func(p *Pod) { p.AntiAffinity = []corev1.PodAffinityTerm{term} }),
			},
			Budgets: []PodBudget{fitBudget("x", 1, func(b *PodBudget) { b.Selector = term.LabelSelector })},
		}
		c, err := newSimulator(t.Context(), s, nil)
		if err != nil {
			var field *api.FieldError
			if !errors.As(err, &field) || field.Field == "" || field.Rule == "" || len(field.Value) > 80 {
				t.Fatalf("error is %v", err)
			}
			return
		}
		got, err := c.without(t.Context(), fitNamed(s, "a"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if (got.blocked == "") != (len(got.moves) == 1) {
			t.Fatalf("got %+v", got)
		}
		if got.blocked == "" {
			want, room := resource.MustParse(asks), resource.MustParse(has)
			if want.Sign() > 0 && want.Cmp(*resource.NewQuantity(room.Value(), resource.DecimalSI)) > 0 {
				t.Fatalf("a pod that wants %s is on a node that has %s", asks, has)
			}
		}
	})
}
