package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/fleet"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// podText is a pod with more in its metadata, spec and status.
func podText(meta, spec, status string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":"p"%s},"spec":{"nodeName":"node-1"%s},"status":{%s}}`, meta, spec, status)
}

func podOf(t *testing.T, meta, spec, status string) disruption.Pod {
	t.Helper()
	var p corev1.Pod
	if err := yaml.Unmarshal([]byte(podText(meta, spec, status)), &p); err != nil {
		t.Fatal(err)
	}
	return fleet.PodOf(&p)
}

// TestRequests: what a pod takes is what the scheduler counts.
func TestRequests(t *testing.T) {
	for name, row := range map[string]struct {
		spec, status string
		want         disruption.Resources
	}{
		"nothing":    {`,"containers":[{"name":"a"}]`, ``, nil},
		"containers": {`,"containers":[{"name":"a","resources":{"requests":{"cpu":"100m","memory":"1Gi"}}},{"name":"b","resources":{"requests":{"cpu":"400m"}}}]`, ``, disruption.Resources{"cpu": "500m", "memory": "1Gi"}},
		"init":       {`,"initContainers":[{"name":"i","resources":{"requests":{"cpu":"2"}}}],"containers":[{"name":"a","resources":{"requests":{"cpu":"100m"}}}]`, ``, disruption.Resources{"cpu": "2"}},
		"overhead":   {`,"overhead":{"cpu":"50m"},"containers":[{"name":"a","resources":{"requests":{"cpu":"100m"}}}]`, ``, disruption.Resources{"cpu": "150m"}},
		"shrinking": {`,"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]`,
			`"containerStatuses":[{"name":"a","allocatedResources":{"cpu":"3"},"resources":{"requests":{"cpu":"2"}}}]`, disruption.Resources{"cpu": "3"}},
	} {
		if diff := cmp.Diff(row.want, podOf(t, "", row.spec, row.status).Requests); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestWhatIsNotSimulatedIsNamed(t *testing.T) {
	for spec, want := range map[string][]string{
		``: nil,
		`,"topologySpreadConstraints":[{"topologyKey":"a","whenUnsatisfiable":"ScheduleAnyway"}]`: nil,
		`,"topologySpreadConstraints":[{"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}]`:  nil,
		`,"resourceClaims":[{"name":"gpu"}]`:                                                      {"resource claims"},
		`,"schedulingGates":[{"name":"g"}],"schedulerName":"mine"`:                                {"scheduling gates", "scheduler mine"},
		`,"schedulerName":"default-scheduler"`:                                                    nil,
		`,"workloadRef":{"name":"w","podGroup":"g"}`:                                              {"a group of pods that is scheduled as one"},
		`,"volumes":[{"name":"v","iscsi":{"targetPortal":"x"}}]`:                                  {"volume v without a claim"},
		`,"volumes":[{"name":"v","emptyDir":{}},{"name":"s","nfs":{}}]`:                           nil,
	} {
		if diff := cmp.Diff(want, podOf(t, "", spec, "").Unmodelled); diff != "" {
			t.Errorf("%s: -want +got:\n%s", spec, diff)
		}
	}
}

func TestPodFields(t *testing.T) {
	got := podOf(t, `,"labels":{"app":"a"},"annotations":{"karpenter.sh/do-not-disrupt":"true","controller.kubernetes.io/pod-deletion-cost":"-7"},
		"ownerReferences":[{"kind":"Service","name":"x"},{"kind":"ReplicaSet","name":"rs","controller":true}]`,
		`,"priority":100,"nodeSelector":{"disk":"ssd"},"tolerations":[{"key":"k","operator":"Exists"}],
		"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}},
			"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname"}]},
			"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"}],"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"topologyKey":"z"}}]}},
		"topologySpreadConstraints":[{"topologyKey":"a","whenUnsatisfiable":"ScheduleAnyway"},{"topologyKey":"b","whenUnsatisfiable":"DoNotSchedule"}],
		"containers":[{"name":"a","ports":[{"containerPort":1},{"containerPort":80,"hostPort":80,"hostIP":"0.0.0.0","protocol":"TCP"},{"hostPort":53,"hostIP":"192.0.2.1","protocol":"UDP"}]}]`,
		`"phase":"Running","conditions":[{"type":"Ready","status":"True"}]`)
	want := disruption.Pod{
		Key: disruption.Key{Namespace: "ns", Name: "p"}, Node: "node-1", Labels: map[string]string{"app": "a"}, Owner: "ReplicaSet/rs", Ready: true, DoNotDisrupt: true,
		HostPorts: []string{"TCP//80", "UDP/192.0.2.1/53"}, NodeSelector: map[string]string{"disk": "ssd"},
		NodeAffinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: "Exists"}}}}},
		Tolerations:  []corev1.Toleration{{Key: "k", Operator: "Exists"}}, AntiAffinity: []corev1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname"}},
		Affinity: []corev1.PodAffinityTerm{{TopologyKey: "zone"}}, Spread: []corev1.TopologySpreadConstraint{{TopologyKey: "b", WhenUnsatisfiable: corev1.DoNotSchedule}},
		Priority: 100, DeletionCost: new(int32(-7)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestKindsOfPods(t *testing.T) {
	controller := func(kind string) string {
		return `,"ownerReferences":[{"kind":"` + kind + `","name":"x","controller":true}]`
	}
	for name, row := range map[string]struct {
		meta, status string
		is           func(disruption.Pod) bool
	}{
		"daemon":    {controller("DaemonSet"), "", func(p disruption.Pod) bool { return p.DaemonSet }},
		"static":    {controller("Node"), "", func(p disruption.Pod) bool { return p.Mirror }},
		"mirror":    {`,"annotations":{"kubernetes.io/config.mirror":"x"}`, "", func(p disruption.Pod) bool { return p.Mirror }},
		"succeeded": {"", `"phase":"Succeeded"`, func(p disruption.Pod) bool { return p.Finished }},
		"failed":    {"", `"phase":"Failed"`, func(p disruption.Pod) bool { return p.Finished }},
		"going":     {`,"deletionTimestamp":"2026-11-24T11:00:00Z"`, "", func(p disruption.Pod) bool { return p.Terminating }},
		"ours":      {`,"annotations":{"ironic-throttle.metal3.io/do-not-disrupt":""}`, "", func(p disruption.Pod) bool { return p.DoNotDisrupt }},
	} {
		if !row.is(podOf(t, row.meta, "", row.status)) || row.is(podOf(t, "", "", "")) {
			t.Errorf("%s: %+v", name, podOf(t, row.meta, "", row.status))
		}
	}
	if podOf(t, `,"annotations":{"karpenter.sh/do-not-disrupt":"false"}`, "", "").DoNotDisrupt {
		t.Error("false forbids")
	}
}

// TestVolumesOfPods: which volumes a pod has, and how many more a node takes.
func TestVolumesOfPods(t *testing.T) {
	text, _, _ := strings.Cut(file(t, "fleet.yaml"), "---\n{apiVersion: v1, kind: PersistentVolume")
	for pod, row := range map[string]string{
		"plain": "", "bound": "csi other", "waits": "pending", "lost": "lost missing", "one": "shared", "two": "shared many", "three": "many",
	} {
		volumes := `{"name":"e","emptyDir":{}}`
		for _, claim := range strings.Fields(row) {
			volumes += fmt.Sprintf(`,{"name":"v-%s","persistentVolumeClaim":{"claimName":%[1]q}}`, claim)
		}
		if pod == "waits" {
			volumes += `,{"name":"own","ephemeral":{}}`
		}
		text += "---\n" + strings.Replace(podText("", `,"volumes":[`+volumes+`]`, ""), `"name":"p"`, `"name":"`+pod+`"`, 1) + "\n"
	}
	for claim, of := range map[string]string{
		"csi": `"Bound"},"spec":{"volumeName":"pv-csi","accessModes":["ReadWriteOnce"]}`, "other": `"Bound"},"spec":{"volumeName":"pv-other","accessModes":["ReadWriteOnce"]}`,
		"pending": `"Pending"},"spec":{}`, "lost": `"Bound"},"spec":{"volumeName":"pv-gone"}`, "shared": `"Bound"},"spec":{"volumeName":"pv-shared","accessModes":["ReadWriteOnce"]}`,
		"many": `"Bound"},"spec":{"volumeName":"pv-many","accessModes":["ReadWriteOnce","ReadWriteMany"]}`,
	} {
		text += fmt.Sprintf("---\n"+`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"namespace":"ns","name":%q},"status":{"phase":%s}`+"\n", claim, of)
	}
	for _, name := range []string{"pv-csi", "pv-shared", "pv-many"} {
		text += fmt.Sprintf("---\n"+`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":%q},"spec":{"csi":{"driver":"d","volumeHandle":"1"}}}`+"\n", name)
	}
	text += "---\n" + `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv-other"},"spec":{"local":{"path":"/x"}}}` + "\n" +
		"---\n" + `{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"node-1"},"spec":{"drivers":[{"name":"d","nodeID":"1","allocatable":{"count":5}},{"name":"e","nodeID":"1","allocatable":{"count":0}}]}}` + "\n"
	csi := func(name string) disruption.Volume { return disruption.Volume{Name: name, Driver: "d"} }
	const together = ", which it shares with another pod at its node"
	want := map[string]disruption.Pod{
		"plain": {}, "bound": {Volumes: []disruption.Volume{csi("pv-csi"), {Name: "pv-other"}}},
		"waits": {Unmodelled: []string{"unbound claim pending", "unbound claim waits-own"}},
		"lost":  {Unmodelled: []string{"claim lost, whose volume pv-gone is not there", "unbound claim missing"}},
		"one":   {Volumes: []disruption.Volume{csi("pv-shared")}, Unmodelled: []string{"claim shared" + together}},
		"two":   {Volumes: []disruption.Volume{csi("pv-shared"), csi("pv-many")}, Unmodelled: []string{"claim shared" + together}},
		"three": {Volumes: []disruption.Volume{csi("pv-many")}},
	}
	s := clusterOf(t, text).read(t)
	for _, p := range s.Pods {
		if diff := cmp.Diff(want[p.Name].Volumes, p.Volumes) + cmp.Diff(want[p.Name].Unmodelled, p.Unmodelled); diff != "" {
			t.Errorf("%s: %s", p.Name, diff)
		}
	}
	if diff := cmp.Diff(map[string]int{"d": 2, "e": 0}, s.Nodes[0].VolumesLeft); diff != "" || len(s.Pods) != len(want) {
		t.Errorf("%d pods, %s", len(s.Pods), diff)
	}
}
