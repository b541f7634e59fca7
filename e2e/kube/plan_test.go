//go:build e2e

package kube

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// plannedPool is a MachineDeployment with its MachineSet and template; NS is the namespace.
const plannedPool = `
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3MachineTemplate, metadata: {name: new, namespace: NS}, spec: {template: {spec: {image: {url: "http://i/2", checksum: c2}, hostSelector: {matchLabels: {rack: r1}}}}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineDeployment, metadata: {name: md, namespace: NS},
 spec: {clusterName: c, replicas: 4, template: {spec: {clusterName: c, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: new}}}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: ms, namespace: NS, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineDeployment, name: md, uid: u1, controller: true}]},
 spec: {clusterName: c, replicas: 4, template: {spec: {clusterName: c, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: new}}}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: NS}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}},
 status: {observedGeneration: 1, disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2}}
`

// plannedVolume is one that a pod has: it takes rights of its own to read it.
const plannedVolume = `
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: NS-pv}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: d.example.org, volumeHandle: h}, claimRef: {namespace: NS, name: data}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: NS}, spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: NS-pv, resources: {requests: {storage: 1Gi}}}, status: {phase: Bound}}
---
{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: NS-kept}, spec: {drivers: [{name: d.example.org, nodeID: id-1, allocatable: {count: 4}}]}}
`

// plannedHost is the host HOST of that pool in service, of the image I, which TEMPLATE has, with NOTES.
const plannedHost = `
---
{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: HOST, namespace: NS, labels: {rack: r1}, annotations: {NOTES}},
 spec: {online: true, image: {url: "http://i/I", checksum: cI}, consumerRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Machine, namespace: NS, name: m3-HOST}},
 status: {operationalStatus: OK, errorMessage: "", errorCount: 0, poweredOn: true, provisioning: {ID: "", state: provisioned, image: {url: "http://i/I", checksum: cI}}}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Machine, metadata: {name: m3-HOST, namespace: NS, annotations: {metal3.io/BareMetalHost: NS/HOST, cluster.x-k8s.io/cloned-from-name: TEMPLATE}}, spec: {}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: m-HOST, namespace: NS, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: ms, uid: u2, controller: true}]},
 spec: {clusterName: c, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Machine, name: m3-HOST}}, status: {nodeRef: {name: NS-HOST}}}
---
{apiVersion: v1, kind: Node, metadata: {name: NS-HOST, labels: {pool: NS}}, spec: {providerID: "metal3://NS/HOST/m3-HOST"},
 status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}, conditions: [{type: Ready, status: "True", reason: r, message: m, lastHeartbeatTime: "2025-11-02T00:00:00Z", lastTransitionTime: "2025-11-02T00:00:00Z"}]}}
`

// plannedPod is a pod on the node of HOST that could run on any of the pool.
const plannedPod = `
---
{apiVersion: v1, kind: Pod, metadata: {name: on-HOST, namespace: NS, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: u3, controller: true}]},
 spec: {nodeName: NS-HOST, nodeSelector: {pool: NS}, automountServiceAccountToken: false, securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, VOLUMES
  containers: [{name: c, image: i, resources: {requests: {cpu: 250m, memory: 1Gi}}, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]},
 status: {phase: Running, startTime: "2025-11-03T00:00:00Z", conditions: [{type: Ready, status: "True"}]}}
`

// applyPlanned makes hosts empty, drifted, under-used and kept; these but the first have a pod. Their nodes are of an API
// server of their own or not; then this one has nodes of the same names, on no host.
func applyPlanned(t *testing.T, ns string, nodes *realkube.Kube) {
	t.Helper()
	const watts = `ironic-throttle.metal3.io/watts-busy: "400", ironic-throttle.metal3.io/watts-idle: "150"`
	text := plannedPool + plannedVolume
	for _, h := range []struct{ name, template, image, notes string }{
		{"empty", "new", "2", watts}, {"drifted", "old", "1", ""}, {"under", "new", "2", watts},
		{"kept", "new", "2", watts + `, ironic-throttle.metal3.io/do-not-disrupt: "true"`},
	} {
		objects := plannedHost
		if h.name != "empty" {
			objects += plannedPod
		}
		volumes := ""
		if h.name == "kept" {
			volumes = "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}],"
		}
		text += strings.NewReplacer("VOLUMES", volumes, "HOST", h.name, "TEMPLATE", h.template, "/I", "/"+h.image, "cI", "c"+h.image, "NOTES", h.notes).Replace(objects)
	}
	var here, there []*unstructured.Unstructured
	for _, o := range decode(t, strings.ReplaceAll(text, "NS", ns)) {
		switch kind := o.GetKind(); {
		case strings.Contains(o.GetAPIVersion(), "x-k8s.io") || kind == "BareMetalHost":
			here = append(here, o)
			continue
		case kind == "Node" && nodes != cluster:
			double := o.DeepCopy()
			double.Object["spec"] = map[string]any{"providerID": "other://" + o.GetName()}
			here = append(here, double)
		}
		there = append(there, o)
	}
	if nodes != cluster {
		applyLive(t, nodes, decode(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+ns+"}}"))
	}
	if err := nodes.Account(t.Context(), ns, "default"); err != nil {
		t.Fatal(err)
	}
	applyLive(t, cluster, here)
	applyLive(t, nodes, there)
}

// servePlanner is a throttle that plans, with the rights of the component.
func servePlanner(t *testing.T, ns string) *throttle {
	t.Helper()
	kubeconfig := deploy(t, ns, rights(t, filepath.Join(testCases, "planner"), ns))
	p := serve(t, clustered(serveIronic(t, time.Hour).URL, kubeconfig, ns).with(settings{
		"WATCH_NAMESPACE": ns, ours + "DISRUPTION": "plan", ours + "DISRUPTION_CONSOLIDATE_AFTER": "1s", ours + "DISRUPTION_TARIFF": "0.5",
	}))
	p.isReady()
	return p
}

// run is a command of the product about this throttle.
func (p *throttle) run(args ...string) (out, said string, code int) {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = child.ProductEnvironment("IRONIC_THROTTLE_URL="+p.at.API), &stdout, &stderr
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// must is run of what has to succeed.
func (p *throttle) must(args ...string) (out string) {
	p.Helper()
	out, said, code := p.run(args...)
	if code != 0 || said != "" {
		p.Fatalf("%q: exit code %d, %s", args, code, said)
	}
	return out
}

// samePlan waits for a plan that is as wanted, and whose export is of the same reading of the cluster: then all ways to
// it have the same bytes.
func (p *throttle) samePlan(wanted func(api.Plan) bool) (plan api.Plan) {
	p.Helper()
	file := filepath.Join(p.TempDir(), "state.json")
	var live, exported string
	var d *disruption.Document
	await(p.T, "plan and export of the same moment", func() bool {
		live = p.must("plan", "-o", "json")
		exported = p.must("plan", "--export", file, "-o", "json")
		plan = api.Plan{}
		if err := json.Unmarshal([]byte(live), &plan); err != nil {
			p.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			p.Fatal(err)
		}
		if d, err = disruption.ReadDocument(bytes.NewReader(text)); err != nil {
			p.Fatal(err)
		}
		return plan.MadeAt.Equal(d.State.TakenAt) && wanted(plan)
	}, func() string { return live })
	if exported != live {
		p.Errorf("the export shows\n%s\nand the throttle\n%s", exported, live)
	}
	if here := p.must("plan", "--state", file, "-o", "json"); here != live {
		p.Errorf("the plan of the export is\n%s\nand the throttle's\n%s", here, live)
	}
	return plan
}

// releases reports whether a plan releases that empty host alone.
func releases(plan api.Plan, host string) bool {
	return plan.Method == api.MethodEmptiness && len(plan.Actions) == 1 && plan.Actions[0].Decision == api.PlanRelease &&
		len(plan.Actions[0].Hosts) == 1 && plan.Actions[0].Hosts[0].Name == host
}

// TestThePlanOfLiveObjectsIsThatOfTheirExport: what `serve` plans of live objects, with the rights of the component
// alone, is what is planned of the file that it exports, byte for byte.
func TestThePlanOfLiveObjectsIsThatOfTheirExport(t *testing.T) {
	t.Parallel()
	ns := namespace(t, "plan")
	applyPlanned(t, ns, cluster)
	p := servePlanner(t, ns)

	plan := p.samePlan(func(plan api.Plan) bool {
		return releases(plan, ns+"/empty") && plan.Blocked == ""
	})
	later := map[string]api.PlanReason{}
	for _, c := range plan.Later {
		later[c.Host] = c.Reason
	}
	if later[ns+"/drifted"] != api.PlanDrifted || later[ns+"/under"] != api.PlanUnderutilized || len(later) != 2 || !plan.DryRun || plan.Hosts != 4 {
		t.Errorf("dry run %v of %d hosts, later %v", plan.DryRun, plan.Hosts, later)
	}
	if !slices.ContainsFunc(plan.Excluded, func(e api.PlanExcluded) bool {
		return e.Condition == "DisruptionAllowed" && e.Hosts == 1 && slices.Equal(e.Names, []string{ns + "/kept"})
	}) {
		t.Errorf("excluded are %v", plan.Excluded)
	}
}

// mayGetKubeconfig allows the throttle to read the kubeconfig of the Cluster c.
func mayGetKubeconfig(t *testing.T, ns string) {
	t.Helper()
	applyLive(t, cluster, decode(t, strings.ReplaceAll(`
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: kubeconfigs, namespace: NS}, rules: [{apiGroups: [""], resources: [secrets], resourceNames: [c-kubeconfig], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: kubeconfigs, namespace: NS}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: kubeconfigs},
 subjects: [{kind: ServiceAccount, name: ironic-throttle, namespace: NS}]}
`, "NS", ns)))
}

// holdKubeconfig puts it into the Secret of the Cluster c.
func holdKubeconfig(t *testing.T, ns string, kubeconfig []byte) {
	t.Helper()
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"value": base64.StdEncoding.EncodeToString(kubeconfig)}}}
	secret.SetNamespace(ns)
	secret.SetName("c-kubeconfig")
	if _, err := cluster.Apply(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// planOf waits for a plan that is as wanted.
func (p *throttle) planOf(what string, wanted func(api.Plan) bool) (plan api.Plan) {
	p.Helper()
	var text string
	awaitFor(p.T, 2*time.Minute, what, func() bool {
		text, plan = p.must("plan", "-o", "json"), api.Plan{}
		if err := json.Unmarshal([]byte(text), &plan); err != nil {
			p.Fatal(err)
		}
		return wanted(plan)
	}, func() string { return text })
	return plan
}

// TestThePlanOfAWorkloadCluster: the nodes of the hosts are of another API server, which is reached by the Secret of their
// Cluster. What keeps it from being read is said, and nothing is planned there.
func TestThePlanOfAWorkloadCluster(t *testing.T) {
	t.Parallel()
	ns, far := namespace(t, "plan"), workloads(t)
	applyPlanned(t, ns, far)
	network, err := far.Proxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(network.Stop)
	p := servePlanner(t, ns)
	away := func(why string) {
		t.Helper()
		plan := p.planOf("word of "+why, func(plan api.Plan) bool {
			return plan.Blocked == "" && len(plan.Clusters) == 1 && strings.Contains(plan.Clusters[0].Fault, why)
		})
		if len(plan.Actions)+len(plan.Later) > 0 || plan.Clusters[0].Name != ns+"/c" || !slices.ContainsFunc(plan.Excluded, func(e api.PlanExcluded) bool { return e.Condition == "Cluster" && e.Hosts == 3 }) {
			t.Errorf("%+v", plan)
		}
	}
	away("the throttle may not get the Secret c-kubeconfig")
	mayGetKubeconfig(t, ns)
	away("there is no Secret c-kubeconfig")
	admin, err := far.AdminKubeconfig(network.URL)
	if err != nil {
		t.Fatal(err)
	}
	hold := func(kubeconfig []byte) { t.Helper(); holdKubeconfig(t, ns, kubeconfig) }
	hold(bytes.Replace(admin, []byte("    token:"), []byte("    exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}\n    token:"), 1))
	away("neither run programs nor name files")
	hold(bytes.Replace(admin, []byte("    token: "), []byte("    token: not-"), 1))
	away("Unauthorized")
	hold(admin) // renewed
	released := func(plan api.Plan) bool {
		return releases(plan, ns+"/empty") && plan.Actions[0].Hosts[0].Cluster == ns+"/c" && plan.Actions[0].Hosts[0].Node == ns+"-empty"
	}
	plan := p.samePlan(released)
	if len(plan.Later) != 2 || len(plan.Clusters) != 1 || plan.Clusters[0].Nodes < 4 || plan.Clusters[0].Fault != "" {
		t.Errorf("later %v, clusters %+v", plan.Later, plan.Clusters)
	}
	network.Swallow()
	away("imeout") // of the request, or of the TLS handshake before it
	network.Mend()
	p.planOf("the cluster is back", released)
}
