package fleet_test

import (
	"errors"
	"fmt"
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
	if slices.Contains(own.asked, "Pod") || len(s.Nodes) != 6 || len(s.Pods) != 2 || len(s.Budgets) != 2 || len(s.DaemonSets) != 1 {
		t.Errorf("%d nodes, %d pods, %d budgets, %d DaemonSets, asked for %v", len(s.Nodes), len(s.Pods), len(s.Budgets), len(s.DaemonSets), own.asked)
	}
	if s.Pods[0].Cluster != key("blue") || s.Budgets[0].Cluster != key("blue") || s.DaemonSets[0].Cluster != key("blue") || !slices.Equal(own.kept, []disruption.Key{key("blue"), key("c")}) {
		t.Errorf("%+v, kept %v", s.Pods[0], own.kept)
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
	for _, kind := range []string{"Node", "Pod", "DaemonSet"} {
		blue.fault = func(asked string) error {
			if asked == kind {
				return errors.New("connection\nrefused")
			}
			return nil
		}
		s := read()
		if s.Clusters[0].Fault != "connection refused" || len(s.Nodes) != 3 || len(s.Pods)+len(s.Budgets)+len(s.DaemonSets) != 0 || host(t, s, "host-1").Node != "" {
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

// inClusters has that many hosts, each in a workload cluster of its own.
func inClusters(t *testing.T, n int) *cluster {
	t.Helper()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: h-%03d, namespace: metal3, uid: u-%[1]d}, spec: {consumerRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Machine, namespace: metal3, name: m-%[1]d}}}\n---\n"+
			"{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Machine, metadata: {name: m-%[1]d, namespace: metal3, annotations: {metal3.io/BareMetalHost: metal3/h-%03[1]d}}}\n---\n"+
			"{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: m-%[1]d, namespace: metal3}, spec: {clusterName: c-%03[1]d, infrastructureRef: {kind: Metal3Machine, name: m-%[1]d}}}\n---\n", i)
	}
	return clusterOf(t, strings.TrimSuffix(text.String(), "---\n"))
}

// TestSilentClustersDoNotUseUpAPlan: all of them have 30 s together, and what they kept from being read comes first the next time.
func TestSilentClustersDoNotUseUpAPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := inClusters(t, 50)
		own.silent = 11 * time.Second
		own.others = map[string]client.Client{"metal3/c-049": clusterOf(t, "{apiVersion: v1, kind: Node, metadata: {name: node-1}}\n")}
		r := own.reader()
		for _, want := range []struct {
			fault string
			takes time.Duration
		}{
			{"other clusters took the 30s that there are for all of them: it is read first the next time", 30 * time.Second},
			{"", 22 * time.Second}, // those that were not heard to the end come first, and the others rest
		} {
			begun := time.Now()
			s, err := r.Read(t.Context())
			if took := time.Since(begun); err != nil || took != want.takes || s.Clusters[49].Fault != want.fault || s.Clusters[0].Fault != "nobody knows metal3/c-000" {
				t.Errorf("%v after %v: %+v, %+v, want %+v", err, took, s.Clusters[0], s.Clusters[49], want)
			}
		}
	})
}
