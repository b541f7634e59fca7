package fleet_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// twoClusters has the Machine of host-1 in the Cluster blue. Nodes, pods and whatever else has the same names in both; but
// node-1 of the own cluster is on no host. twoClusters returns both.
func twoClusters(t *testing.T) (own, blue *cluster) {
	t.Helper()
	text := file(t, "fleet.yaml")
	at := strings.Index(text, "{apiVersion: v1, kind: Node")
	blue = clusterOf(t, text[at:])
	text = strings.Replace(text, "spec: {clusterName: c, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Machine, name: m3-1}}",
		"spec: {clusterName: blue, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Machine, name: m3-1}}", 1)
	own = clusterOf(t, strings.Replace(text, "metal3://metal3/host-1/m3-1", "kvm://b", 1))
	own.others = map[string]client.Client{"metal3/blue": blue}
	return own, blue
}

// TestHostsAreInTheClusterOfTheirMachines.
func TestHostsAreInTheClusterOfTheirMachines(t *testing.T) {
	own, _ := twoClusters(t)
	s := own.read(t)
	want := []disruption.Cluster{{Key: key("blue"), Nodes: 3, Pods: 2}, {Key: key("c"), Fault: "nobody knows metal3/c"}}
	if diff := cmp.Diff(want, s.Clusters); diff != "" {
		t.Errorf("clusters, -want +got:\n%s", diff)
	}
	one, two, spare := host(t, s, "host-1"), host(t, s, "host-2"), host(t, s, "spare")
	if one.Cluster != key("blue") || one.Node != "node-1" || two.Cluster != key("c") || two.Node != "" || spare.Cluster != (disruption.Key{}) {
		t.Errorf("%+v\n%+v\n%+v", one, two, spare)
	}
	if slices.Contains(own.asked, "Pod") || len(s.Nodes) != 6 || len(s.Pods) != 2 || len(s.Budgets) != 2 {
		t.Errorf("%d nodes, %d pods, %d budgets, asked for %v", len(s.Nodes), len(s.Pods), len(s.Budgets), own.asked)
	}
	if s.Pods[0].Cluster != key("blue") || s.Budgets[0].Cluster != key("blue") {
		t.Errorf("%+v", s.Pods[0])
	}
}

// TestTheOwnClusterIsKnownByItsNodes: a Cluster that has a node in the throttle's own cluster is that one, whatever its Secret says.
func TestTheOwnClusterIsKnownByItsNodes(t *testing.T) {
	text := strings.Replace(file(t, "fleet.yaml"), "kind: Metal3Machine, name: m3-2}}}", "kind: Metal3Machine, name: m3-2}}, status: {nodeRef: {name: node-2}}}", 1)
	own := clusterOf(t, text)
	own.others = map[string]client.Client{"metal3/c": own}
	s := own.read(t)
	if diff := cmp.Diff([]disruption.Cluster{{Nodes: 3, Pods: 2}}, s.Clusters); diff != "" || len(s.Nodes) != 3 || len(s.Pods) != 2 {
		t.Errorf("%d nodes, %d pods, clusters, -want +got:\n%s", len(s.Nodes), len(s.Pods), diff)
	}
	for _, change := range [][2]string{{"nodeRef: {name: node-1}", "nodeRef: {name: node-9}"}, {"metal3://metal3/host-1/m3-1", "metal3://metal3/host-1/m3-9"}} {
		own := clusterOf(t, strings.Replace(file(t, "fleet.yaml"), change[0], change[1], 1))
		if got := host(t, own.read(t), "host-1").Cluster; got != key("c") {
			t.Errorf("%s: in cluster %v, though no node tells of it", change[1], got)
		}
	}
}

// TestAClusterThatIsAway is a fault of its own: the others are read, and its pods are not taken for gone.
func TestAClusterThatIsAway(t *testing.T) {
	own, blue := twoClusters(t)
	r := own.reader()
	read := func() disruption.State {
		t.Helper()
		s, err := r.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	last := func(s disruption.State) time.Time {
		at := slices.IndexFunc(s.Nodes, func(n disruption.Node) bool { return n.Name == "node-1" && n.Cluster == key("blue") })
		return s.Nodes[at].LastPodEvent
	}
	before := last(read())
	for _, kind := range []string{"Node", "Pod", "PodDisruptionBudget"} {
		blue.fault = func(asked string) error {
			if asked == kind {
				return errors.New("connection\nrefused")
			}
			return nil
		}
		s := read()
		if s.Clusters[0].Fault != "connection refused" || len(s.Nodes) != 3 || len(s.Pods)+len(s.Budgets) != 0 || host(t, s, "host-1").Node != "" {
			t.Errorf("%s: %+v, %d nodes, %d pods", kind, s.Clusters, len(s.Nodes), len(s.Pods))
		}
	}
	blue.fault = func(string) error { return nil }
	if got := last(read()); !got.Equal(before) {
		t.Errorf("the last pod event is of %v, want %v", got, before)
	}
	if err := blue.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "web"}}); err != nil {
		t.Fatal(err)
	}
	if got := last(read()); !got.Equal(noon) {
		t.Errorf("the pod went at %v", got)
	}
}

// TestASilentClusterKeepsNobodyFromTheOthers for long.
func TestASilentClusterKeepsNobodyFromTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, _ := twoClusters(t)
		own.silent = true
		begun := time.Now()
		want := []disruption.Cluster{{Key: key("blue"), Nodes: 3, Pods: 2}, {Key: key("c"), Fault: "reading it took longer than 20s"}}
		if diff := cmp.Diff(want, own.read(t).Clusters); diff != "" || time.Since(begun) != 20*time.Second {
			t.Errorf("after %v, -want +got:\n%s", time.Since(begun), diff)
		}
	})
}
