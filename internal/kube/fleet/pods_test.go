package fleet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// podFrom reads a pod of this spec and status.
func podFrom(t *testing.T, meta, spec, status string) pod {
	t.Helper()
	var of corev1.Pod
	text := `{"metadata":{"namespace":"ns","name":"p","uid":"u"` + meta + `},"spec":{"nodeName":"n"` + spec + `},"status":{` + status + `}}`
	if err := json.UnmarshalCaseSensitivePreserveInts([]byte(text), &of); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return podOf(&of, newShared())
}

// TestRequestsAreThoseOfTheScheduler: containers and sidecars together, the largest init
// container, overhead, and the larger size of a pod whose resize is not done.
func TestRequestsAreThoseOfTheScheduler(t *testing.T) {
	for name, one := range map[string]struct {
		spec, status string
		want         disruption.Resources
	}{
		"nothing":    {`,"containers":[{"name":"a"}]`, ``, nil},
		"containers": {`,"containers":[{"name":"a","resources":{"requests":{"cpu":"100m","memory":"1Gi"}}},{"name":"b","resources":{"requests":{"cpu":"400m"}}}]`, ``, disruption.Resources{"cpu": "500m", "memory": "1Gi"}},
		"init":       {`,"initContainers":[{"name":"i","resources":{"requests":{"cpu":"2"}}}],"containers":[{"name":"a","resources":{"requests":{"cpu":"100m"}}}]`, ``, disruption.Resources{"cpu": "2"}},
		"sidecar": {`,"initContainers":[{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"200m"}}},{"name":"i","resources":{"requests":{"cpu":"1"}}}],
			"containers":[{"name":"a","resources":{"requests":{"cpu":"1500m"}}}]`, ``, disruption.Resources{"cpu": "1700m"}},
		"overhead": {`,"overhead":{"cpu":"50m"},"containers":[{"name":"a","resources":{"requests":{"cpu":"100m"}}}]`, ``, disruption.Resources{"cpu": "150m"}},
		"shrinking": {`,"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]`,
			`"containerStatuses":[{"name":"a","allocatedResources":{"cpu":"3"},"resources":{"requests":{"cpu":"2"}}}]`, disruption.Resources{"cpu": "3"}},
		"pod level": {`,"resources":{"requests":{"cpu":"4"}},"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]`, ``, disruption.Resources{"cpu": "4"}},
	} {
		if diff := cmp.Diff(one.want, podFrom(t, "", one.spec, one.status).Requests); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestWhatIsNotModelledIsNamed(t *testing.T) {
	for spec, want := range map[string][]string{
		``: nil,
		`,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"}]}}`:                              {"pod affinity"},
		`,"affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"topologyKey":"z"}}]}}`: nil,
		`,"topologySpreadConstraints":[{"topologyKey":"a","whenUnsatisfiable":"ScheduleAnyway"}]`:                                              nil,
		`,"topologySpreadConstraints":[{"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}]`:                                               {"topology spread"},
		`,"resourceClaims":[{"name":"gpu"}]`:                            {"resource claims"},
		`,"schedulingGates":[{"name":"g"}],"schedulerName":"mine"`:      {"scheduling gates", "scheduler mine"},
		`,"schedulerName":"default-scheduler"`:                          nil,
		`,"workloadRef":{"name":"w","podGroup":"g"}`:                    {"a group of pods that is scheduled as one"},
		`,"volumes":[{"name":"v","iscsi":{"targetPortal":"x"}}]`:        {"volume v without a claim"},
		`,"volumes":[{"name":"v","emptyDir":{}},{"name":"s","nfs":{}}]`: nil,
	} {
		if diff := cmp.Diff(want, podFrom(t, "", spec, "").Unmodelled); diff != "" {
			t.Errorf("%s: -want +got:\n%s", spec, diff)
		}
	}
}

func TestPodFields(t *testing.T) {
	got := podFrom(t, `,"labels":{"app":"a"},"annotations":{"karpenter.sh/do-not-disrupt":"true","controller.kubernetes.io/pod-deletion-cost":"-7"},
		"ownerReferences":[{"kind":"Service","name":"x"},{"kind":"ReplicaSet","name":"rs","controller":true}]`,
		`,"priority":100,"nodeSelector":{"disk":"ssd"},"tolerations":[{"key":"k","operator":"Exists"}],
		"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}},{"name":"e","ephemeral":{}}],
		"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}},
			"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname"}]}},
		"containers":[{"name":"a","ports":[{"containerPort":1},{"containerPort":80,"hostPort":80,"hostIP":"0.0.0.0","protocol":"TCP"},{"hostPort":53,"hostIP":"192.0.2.1","protocol":"UDP"}]}]`,
		`"phase":"Running","conditions":[{"type":"Ready","status":"True"}]`)
	want := disruption.Pod{
		Key: disruption.Key{Namespace: "ns", Name: "p"}, Node: "n", Labels: map[string]string{"app": "a"}, Owner: "ReplicaSet/rs", Ready: true, DoNotDisrupt: true,
		HostPorts: []string{"TCP//80", "UDP/192.0.2.1/53"}, NodeSelector: map[string]string{"disk": "ssd"},
		NodeAffinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: "Exists"}}}}},
		Tolerations:  []corev1.Toleration{{Key: "k", Operator: "Exists"}}, AntiAffinity: []corev1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname"}},
		Priority: 100, DeletionCost: new(int32(-7)),
	}
	if diff := cmp.Diff(want, got.Pod); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"data", "p-e"}, got.claims); diff != "" {
		t.Error(diff)
	}
	// With the host's network every port is one of the host.
	if got := podFrom(t, "", `,"hostNetwork":true,"containers":[{"name":"a","ports":[{"containerPort":9}]}]`, "").HostPorts; len(got) != 1 || got[0] != "TCP//9" {
		t.Errorf("%q", got)
	}
}

func TestKindsOfPods(t *testing.T) {
	controller := func(kind string) string {
		return `,"ownerReferences":[{"kind":"` + kind + `","name":"x","controller":true}]`
	}
	for name, one := range map[string]struct {
		meta, status                            string
		daemon, mirror, finished, going, forbid bool
	}{
		"daemon":    {meta: controller("DaemonSet"), daemon: true},
		"static":    {meta: controller("Node"), mirror: true},
		"mirror":    {meta: `,"annotations":{"kubernetes.io/config.mirror":"x"}`, mirror: true},
		"succeeded": {status: `"phase":"Succeeded"`, finished: true},
		"failed":    {status: `"phase":"Failed"`, finished: true},
		"going":     {meta: `,"deletionTimestamp":"2026-11-24T11:00:00Z"`, going: true},
		"ours":      {meta: `,"annotations":{"ironic-throttle.metal3.io/do-not-disrupt":""}`, forbid: true},
		"odd":       {meta: `,"annotations":{"karpenter.sh/do-not-disrupt":"perhaps"}`, forbid: true},
		"allowed":   {meta: `,"annotations":{"karpenter.sh/do-not-disrupt":"false"}`},
	} {
		p := podFrom(t, one.meta, "", one.status)
		if p.DaemonSet != one.daemon || p.Mirror != one.mirror || p.Finished != one.finished || p.Terminating != one.going || p.DoNotDisrupt != one.forbid {
			t.Errorf("%s: %+v", name, p.Pod)
		}
	}
}

func TestWhenAPodCameOrBeganToGo(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 11, 24, hour, 0, 0, 0, time.UTC) }
	for name, one := range map[string]struct {
		meta, status string
		want         time.Time
	}{
		"nothing":   {"", "", time.Time{}},
		"started":   {"", `"startTime":"2026-11-24T01:00:00Z"`, at(1)},
		"scheduled": {"", `"startTime":"2026-11-24T01:00:00Z","conditions":[{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-11-24T02:00:00Z"},{"type":"Ready","status":"True","lastTransitionTime":"2026-11-24T09:00:00Z"}]`, at(2)},
		"finished":  {"", `"phase":"Failed","startTime":"2026-11-24T01:00:00Z","containerStatuses":[{"state":{"terminated":{"finishedAt":"2026-11-24T03:00:00Z"}}}]`, at(3)},
		"restarted": {"", `"phase":"Running","startTime":"2026-11-24T01:00:00Z","containerStatuses":[{"state":{"terminated":{"finishedAt":"2026-11-24T03:00:00Z"}}}]`, at(1)},
		"going":     {`,"deletionTimestamp":"2026-11-24T05:00:00Z","deletionGracePeriodSeconds":3600`, `"startTime":"2026-11-24T01:00:00Z"`, at(4)},
	} {
		if got := podFrom(t, one.meta, "", one.status).event; !got.Equal(one.want) {
			t.Errorf("%s: %v, want %v", name, got, one.want)
		}
	}
}

// TestDC3_APodThatWentRestartsTheClock: nobody tells of a pod that is gone but who saw it.
func TestDC3_APodThatWentRestartsTheClock(t *testing.T) {
	old := noon.Add(-24 * time.Hour)
	of := func(uid, node string) pod {
		p := pod{uid: uid, event: old}
		p.Node = node
		return p
	}
	daemon, finished := of("d", "n"), of("f", "n")
	daemon.DaemonSet, finished.Finished = true, true
	var s sightings
	for i, step := range []struct {
		pods []pod
		want time.Time // of node n
	}{
		{[]pod{of("a", "n"), of("b", "n"), of("w", ""), daemon}, old},
		{[]pod{of("a", "n"), of("b", "n"), daemon}, old},           // what had no node did not go from one
		{[]pod{of("a", "n"), of("b", "n")}, old},                   // a daemon does not count
		{[]pod{of("a", "n")}, noon.Add(3 * time.Minute)},           // b went
		{[]pod{of("a", "n"), finished}, noon.Add(3 * time.Minute)}, // which is remembered
		{[]pod{of("a", "n")}, noon.Add(3 * time.Minute)},           // it was finished before
		{nil, noon.Add(6 * time.Minute)},                           // a went, the last
		{nil, noon.Add(6 * time.Minute)},
		{[]pod{of("f", "n")}, noon.Add(6 * time.Minute)},
		{[]pod{finished}, noon.Add(9 * time.Minute)}, // f ended
	} {
		n := node{}
		n.Name = "n"
		nodes := []node{n}
		s.look(nodes, step.pods, noon.Add(time.Duration(i)*time.Minute))
		if got := nodes[0].LastPodEvent; !got.Equal(step.want) {
			t.Errorf("look %d: %v, want %v", i, got, step.want)
		}
	}
	s.look(nil, nil, noon)
	if len(s.went) != 0 {
		t.Errorf("%v is kept of nodes that are gone", s.went)
	}
}

func TestNodes(t *testing.T) {
	p := newShared()
	of := func(conditions, meta string) node {
		var n corev1.Node
		text := `{"metadata":{"name":"n","creationTimestamp":"2026-11-01T00:00:00Z"` + meta + `},"spec":{"unschedulable":true},"status":{"conditions":[` + conditions + `]}}`
		if err := json.UnmarshalCaseSensitivePreserveInts([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		return nodeOf(&n, p)
	}
	n := of(`{"type":"Ready","status":"True","lastTransitionTime":"2026-11-02T00:00:00Z"}`, `,"labels":{"node-role.kubernetes.io/control-plane":""}`)
	if !n.Ready || !n.ControlPlane || !n.Unschedulable || !n.FirstReady.Equal(time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", n)
	}
	// DC-3: one that is not Ready was perhaps never.
	for _, conditions := range []string{"", `{"type":"Ready","status":"False","lastTransitionTime":"2026-11-02T00:00:00Z"}`, `{"type":"Ready","status":"Unknown"}`} {
		if n := of(conditions, ""); n.Ready || !n.FirstReady.IsZero() {
			t.Errorf("%s: %+v", conditions, n)
		}
	}
	// DC-27
	if n := of("", `,"labels":{"cluster.ocs.openshift.io/openshift-storage":""},"annotations":{"karpenter.sh/do-not-disrupt":"true"}`); !n.storage || !n.doNotDisrupt {
		t.Errorf("%+v", n)
	}
}
