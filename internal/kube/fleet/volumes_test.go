package fleet

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// TestVolumesOfPods: which volumes a pod has, where they can be, and how many more a node takes.
func TestVolumesOfPods(t *testing.T) {
	a := newAPI(t)
	a.add(nodesPath, named(readyNode, "n1"), named(readyNode, "n2"))
	add := func(pod, node, phase string, claims ...string) {
		volumes := ""
		for i, c := range claims {
			volumes += fmt.Sprintf(`,{"name":"v%d","persistentVolumeClaim":{"claimName":%q}}`, i, c)
		}
		a.add(podsPath, fmt.Sprintf(`{"metadata":{"namespace":"ns","name":%q,"uid":%q},"spec":{"nodeName":%q,"volumes":[{"name":"e","emptyDir":{}}%s]},"status":{"phase":%q}}`, pod, pod, node, volumes, phase))
	}
	add("plain", "n1", "Running")
	add("bound", "n1", "Running", "csi", "local")
	add("waits", "", "Pending", "pending")
	add("lost", "n1", "Running", "lost", "missing")
	add("one", "n2", "Running", "shared")
	add("two", "n2", "Running", "shared", "many")
	add("three", "n2", "Running", "many")
	add("done", "n2", "Succeeded", "csi")
	for claim, text := range map[string]string{
		"csi": `"Bound"},"spec":{"volumeName":"pv-csi","accessModes":["ReadWriteOnce"]}`, "local": `"Bound"},"spec":{"volumeName":"pv-local","accessModes":["ReadWriteOnce"]}`,
		"pending": `"Pending"},"spec":{}`, "lost": `"Bound"},"spec":{"volumeName":"pv-gone"}`, "shared": `"Bound"},"spec":{"volumeName":"pv-shared","accessModes":["ReadWriteOnce"]}`,
		"many": `"Bound"},"spec":{"volumeName":"pv-many","accessModes":["ReadWriteOnce","ReadWriteMany"]}`, "nobodys": `"Bound"},"spec":{"volumeName":"pv-x"}`,
	} {
		a.add("/api/v1/persistentvolumeclaims", fmt.Sprintf(`{"metadata":{"namespace":"ns","name":%q},"status":{"phase":%s}`, claim, text))
	}
	a.add("/api/v1/persistentvolumes", `{"metadata":{"name":"pv-csi"},"spec":{"csi":{"driver":"d","volumeHandle":"1"}}}`,
		`{"metadata":{"name":"pv-local"},"spec":{"local":{"path":"/x"},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}}}}`,
		`{"metadata":{"name":"pv-shared"},"spec":{"csi":{"driver":"d","volumeHandle":"2"}}}`, `{"metadata":{"name":"pv-many"},"spec":{"csi":{"driver":"d","volumeHandle":"3"}}}`, `{"metadata":{"name":"pv-x"},"spec":{}}`)
	a.add("/apis/storage.k8s.io/v1/csinodes", `{"metadata":{"name":"n1"},"spec":{"drivers":[{"name":"d","nodeID":"1","allocatable":{"count":5}},{"name":"free","nodeID":"1"}]}}`,
		`{"metadata":{"name":"n2"},"spec":{"drivers":[{"name":"d","nodeID":"2","allocatable":{"count":1}}]}}`)
	s := a.read(Options{})
	n1 := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n1"}}}}}}
	csi := func(name string) disruption.Volume { return disruption.Volume{Name: name, Driver: "d"} }
	const together = ", which it shares with another pod at its node"
	want := map[string]struct {
		volumes []disruption.Volume
		words   []string
	}{
		"plain": {}, "bound": {volumes: []disruption.Volume{csi("pv-csi"), {Name: "pv-local", Nodes: n1}}}, "waits": {words: []string{"unbound claim pending"}},
		"lost": {words: []string{"claim lost, whose volume pv-gone is not there", "unbound claim missing"}},
		"one":  {[]disruption.Volume{csi("pv-shared")}, []string{"claim shared" + together}}, "two": {[]disruption.Volume{csi("pv-shared"), csi("pv-many")}, []string{"claim shared" + together}},
		"three": {volumes: []disruption.Volume{csi("pv-many")}}, "done": {},
	}
	for _, p := range s.Pods {
		if diff := cmp.Diff(want[p.Name].volumes, p.Volumes) + cmp.Diff(want[p.Name].words, p.Unmodelled); diff != "" {
			t.Errorf("%s: %s", p.Name, diff)
		}
	}
	if diff := cmp.Diff([]map[string]int{{"d": 4}, {"d": 0}}, []map[string]int{s.Nodes[0].VolumesLeft, s.Nodes[1].VolumesLeft}); diff != "" || len(s.Pods) != len(want) {
		t.Errorf("%d pods, %s", len(s.Pods), diff)
	}
}

func TestBudgetsOfPods(t *testing.T) {
	a := newAPI(t)
	a.add("/apis/policy/v1/poddisruptionbudgets", `{"metadata":{"namespace":"ns","name":"old","generation":2},"spec":{"selector":{"matchLabels":{"app":"a"}}},"status":{"observedGeneration":1,"disruptionsAllowed":3}}`,
		`{"metadata":{"namespace":"ns","name":"now","generation":2},"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"},"status":{"observedGeneration":2,"disruptionsAllowed":0}}`)
	got := a.read(Options{}).Budgets
	if len(got) != 2 || got[0].Current || got[0].Allowed != 3 || got[0].Selector.MatchLabels["app"] != "a" || !got[1].Current || got[1].Selector != nil || got[1].UnhealthyPodEvictionPolicy != "AlwaysAllow" {
		t.Errorf("%+v", got)
	}
}
