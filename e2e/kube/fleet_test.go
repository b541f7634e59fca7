//go:build e2e

package kube

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	planned "github.com/ironic-throttle/ironic-throttle/internal/kube/fleet"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/workload"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// liveFleet is a host with its machine, pool, node, firmware and a pod with a volume; NS is the
// namespace. What has a status has it as its controllers write it.
const liveFleet = `
{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: host-1, namespace: NS, labels: {rack: r1}, annotations: {ironic-throttle.metal3.io/watts-busy: "400", ironic-throttle.metal3.io/watts-idle: much}},
 spec: {online: true, image: {url: "http://i/1", checksum: c1}, consumerRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Machine, namespace: NS, name: m3-1}},
 status: {operationalStatus: OK, errorMessage: "", errorCount: 0, poweredOn: true, provisioning: {ID: 0b9e2f6e-0f6f-4f0e-9d0f-3c6c5a1b2d3e, state: provisioned, image: {url: "http://i/1", checksum: c1}}}}
---
{apiVersion: metal3.io/v1alpha1, kind: HostFirmwareSettings, metadata: {name: host-1, namespace: NS}, spec: {settings: {Turbo: "On", Cores: 8}}, status: {settings: {Turbo: "Off", Cores: "8", Other: x}}}
---
{apiVersion: metal3.io/v1alpha1, kind: HostFirmwareComponents, metadata: {name: host-1, namespace: NS}, spec: {updates: [{component: bios, url: "http://f/2"}]}, status: {updates: [{component: bios, url: "http://f/1"}]}}
---
{apiVersion: metal3.io/v1alpha1, kind: HostUpdatePolicy, metadata: {name: host-1, namespace: NS}, spec: {firmwareSettings: onReboot}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3MachineTemplate, metadata: {name: new, namespace: NS},
 spec: {template: {spec: {image: {url: "http://i/2", checksum: c2}, hostSelector: {matchLabels: {rack: r1}}}}}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Machine, metadata: {name: m3-1, namespace: NS, annotations: {metal3.io/BareMetalHost: NS/host-1, cluster.x-k8s.io/cloned-from-name: old}}, spec: {}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineDeployment, metadata: {name: md, namespace: NS, annotations: {ironic-throttle.metal3.io/consolidate-after: 30s}},
 spec: {clusterName: c, replicas: 3, template: {spec: {clusterName: c, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: new}}}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: ms, namespace: NS, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineDeployment, name: md, uid: u1, controller: true}]},
 spec: {clusterName: c, replicas: 3, template: {spec: {clusterName: c, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: new}}}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: m-1, namespace: NS, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: ms, uid: u2, controller: true}]},
 spec: {clusterName: c, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Machine, name: m3-1}}, status: {nodeRef: {name: NS-node-1}}}
---
{apiVersion: v1, kind: Node, metadata: {name: NS-node-1, labels: {kubernetes.io/hostname: NS-node-1, disk: ssd}}, spec: {providerID: "metal3://NS/host-1/m3-1"},
 status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}, conditions: [{type: Ready, status: "True", reason: r, message: m, lastHeartbeatTime: "2026-11-02T00:00:00Z", lastTransitionTime: "2026-11-02T00:00:00Z"}]}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: NS-pv}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: d.example.org, volumeHandle: h}, claimRef: {namespace: NS, name: data}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: NS}, spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: NS-pv, resources: {requests: {storage: 1Gi}}}, status: {phase: Bound}}
---
{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: NS-node-1}, spec: {drivers: [{name: d.example.org, nodeID: id-1, allocatable: {count: 4}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: NS, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: u3, controller: true}]},
 spec: {nodeName: NS-node-1, automountServiceAccountToken: false, tolerations: [], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}],
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}},
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}],
  containers: [{name: c, image: i, resources: {requests: {cpu: 250m, memory: 1Gi}}, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]},
 status: {phase: Running, startTime: "2026-11-03T00:00:00Z", conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: NS}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}},
 status: {observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1}}
`

// decode reads objects of a YAML text.
func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := realkube.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// applyLive makes objects, and their status where they have one.
func applyLive(t *testing.T, to *realkube.Kube, objects []*unstructured.Unstructured) {
	t.Helper()
	client, err := dynamic.NewForConfig(to.Config())
	if err != nil {
		t.Fatal(err)
	}
	plural := map[string]string{
		"HostFirmwareSettings": "hostfirmwaresettings", "HostFirmwareComponents": "hostfirmwarecomponents", "Machine": "machines", "BareMetalHost": "baremetalhosts",
		"Node": "nodes", "PersistentVolumeClaim": "persistentvolumeclaims", "Pod": "pods", "PodDisruptionBudget": "poddisruptionbudgets",
	}
	for _, o := range objects {
		status, has := o.Object["status"]
		delete(o.Object, "status")
		if _, err := to.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if !has {
			continue
		}
		kind := o.GroupVersionKind()
		patch, err := json.Marshal(map[string]any{"status": status})
		if err != nil {
			t.Fatal(err)
		}
		at := client.Resource(schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: plural[kind.Kind]})
		var of dynamic.ResourceInterface = at
		if o.GetNamespace() != "" {
			of = at.Namespace(o.GetNamespace())
		}
		if _, err := of.Patch(t.Context(), o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			t.Fatalf("status of %s %s: %v", kind.Kind, o.GetName(), err)
		}
		if kind.Kind == "Node" { // nobody else takes the taint of new nodes away
			if _, err := of.Patch(t.Context(), o.GetName(), types.MergePatchType, []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestAFleetIsReadAsItIs: the State of live objects, read with the rights of the component alone.
func TestAFleetIsReadAsItIs(t *testing.T) {
	t.Parallel()
	ns := namespace(t, "planner")
	if err := cluster.Account(t.Context(), ns, "default"); err != nil {
		t.Fatal(err)
	}
	applyLive(t, cluster, decode(t, strings.ReplaceAll(liveFleet, "NS", ns)))
	t.Run("without rights", func(t *testing.T) {
		_, err := fleetOf(t, as(t, ns, "nobody")).Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), `(component planner) needs another right: baremetalhosts.metal3.io is forbidden: User "`) {
			t.Errorf("%v, want the right that is missing", err)
		}
	})
	kubeconfig := deploy(t, ns, rights(t, filepath.Join(testCases, "planner"), ns))
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	r := fleetOf(t, config)
	s, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := within(ns, s)
	if diff := cmp.Diff(wantedState(ns), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// A pod that goes is noticed at the next look.
	zero := int64(0)
	if err := asAdministrator(t).CoreV1().Pods(ns).Delete(t.Context(), "web", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	again, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := within(ns, again).Nodes[0]; !n.LastPodEvent.Equal(again.TakenAt) || again.TakenAt.Before(s.TakenAt) {
		t.Errorf("the last pod event is of %v, the look of %v", n.LastPodEvent, again.TakenAt)
	}
}

// fleetOf reads by the rights of a connection.
func fleetOf(t *testing.T, to *rest.Config) *planned.Reader {
	t.Helper()
	c, err := kube.NewClient(to)
	if err != nil {
		t.Fatal(err)
	}
	clusters := workload.New(c, "test")
	return planned.New(planned.Options{Client: clusters.Client, Keep: clusters.Keep})
}

// within is the part of a state that is of one test. Times that the API server gives are left out.
func within(ns string, s disruption.State) (part disruption.State) {
	for _, p := range s.Pools {
		if p.Namespace == ns {
			part.Pools = append(part.Pools, p)
		}
	}
	for _, h := range s.Hosts {
		if h.Namespace == ns {
			h.Created, h.DriftedSince = time.Time{}, time.Time{}
			part.Hosts = append(part.Hosts, h)
		}
	}
	for _, n := range s.Nodes {
		if strings.HasPrefix(n.Name, ns) {
			part.Nodes = append(part.Nodes, n)
		}
	}
	for _, p := range s.Pods {
		if p.Namespace == ns {
			p.Tolerations = nil // the API server adds two
			part.Pods = append(part.Pods, p)
		}
	}
	for _, b := range s.Budgets {
		if b.Namespace == ns {
			part.Budgets = append(part.Budgets, b)
		}
	}
	return part
}

func wantedState(ns string) disruption.State {
	key := func(name string) disruption.Key { return disruption.Key{Namespace: ns, Name: name} }
	allocatable := disruption.Resources{"cpu": "8", "memory": "32Gi", "pods": "110"}
	watts, after := 400.0, disruption.Span(30*time.Second)
	ready := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	return disruption.State{
		Pools: []disruption.Pool{{
			Key: key("md"), Kind: disruption.PoolMachineDeployment, Replicas: 3, Scales: true, TemplateHash: "name1-new",
			HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "r1"}},
			NodeLabels:   map[string]string{"disk": "ssd"}, Policy: disruption.PoolPolicy{ConsolidateAfter: &after},
		}},
		Hosts: []disruption.Host{{
			Key: key("host-1"), NodeUUID: "0b9e2f6e-0f6f-4f0e-9d0f-3c6c5a1b2d3e", State: "provisioned", Online: true, PoweredOn: true, Consumer: "Metal3Machine " + ns + "/m3-1",
			Labels: map[string]string{"rack": "r1"}, Price: disruption.Price{WattsBusy: &watts}, Capacity: allocatable, Node: ns + "-node-1", OnReboot: true,
			Machine: &disruption.Machine{Key: key("m-1"), Pool: key("md"), PoolKind: disruption.PoolMachineDeployment, TemplateHash: "name1-old"},
			Desired: map[string]string{"image.url": "http://i/2", "image.checksum": "c2", "firmware.Turbo": "On", "firmware.Cores": "8", "firmware.component.bios": "http://f/2"},
			Applied: map[string]string{"image.url": "http://i/1", "image.checksum": "c1", "firmware.Turbo": "Off", "firmware.Cores": "8", "firmware.component.bios": "http://f/1"},
			Faults:  []string{`annotation ironic-throttle.metal3.io/watts-idle="much" must be a number that is not negative`},
		}},
		Nodes: []disruption.Node{{
			Name: ns + "-node-1", Labels: map[string]string{"kubernetes.io/hostname": ns + "-node-1", "disk": "ssd"}, Allocatable: allocatable, Ready: true,
			FirstReady: ready, LastPodEvent: ready.AddDate(0, 0, 1), VolumesLeft: map[string]int{"d.example.org": 3},
		}},
		Pods: []disruption.Pod{{
			Key: key("web"), Node: ns + "-node-1", Labels: map[string]string{"app": "web"}, Owner: "ReplicaSet/rs", Ready: true,
			Requests: disruption.Resources{"cpu": "250m", "memory": "1Gi"}, Volumes: []disruption.Volume{{Name: ns + "-pv", Driver: "d.example.org"}},
			Spread: []core.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: core.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}},
		}},
		Budgets: []disruption.PodBudget{{Key: key("web"), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Current: true}},
	}
}
