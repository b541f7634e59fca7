//go:build e2e

package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

const (
	// Where kustomizations are, from here. What deploytest tests is deployed here.
	overlays  = "../../deploy/overlays"
	testCases = "../../internal/rig/deploytest/testdata"
	// highAvailability is the overlay with several replicas.
	highAvailability = overlays + "/high-availability"
	// systemNamespace is the one that the manifests name, and account the ServiceAccount.
	systemNamespace, account = "baremetal-operator-system", "ironic-throttle"
)

// namespace makes one of the test's own.
func namespace(t *testing.T, prefix string) string { return cluster.Namespace(t, prefix) }

// kubeconfigOf makes a process that ServiceAccount, at the API server or at server.
func kubeconfigOf(t *testing.T, namespace, account, server string) string {
	return cluster.Kubeconfig(t, namespace, account, server)
}

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
	to.Apply(t, objects...)
}

// built is what a kustomization makes.
func built(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	text, err := realkube.Kustomize(dir)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}

// into makes a typed object of one without a type.
func into[T any](t *testing.T, o *unstructured.Unstructured) (typed T) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed); err != nil {
		t.Fatal(err)
	}
	return typed
}

// rights are the objects of a kustomization that say who the throttle is and what it may
// do, moved to a namespace of the test's own, where the hosts are too if the rights are
// those of one namespace: what belongs to the whole cluster has that in its name.
func rights(t *testing.T, dir, namespace string) (objects []*unstructured.Unstructured) {
	t.Helper()
	here := strings.NewReplacer(`"`+systemNamespace+`"`, `"`+namespace+`"`, `"namespace":"metal3"`, `"namespace":"`+namespace+`"`)
	for _, o := range built(t, dir) {
		kind := o.GetKind()
		guard := strings.HasPrefix(kind, "ValidatingAdmissionPolicy") // the same for all namespaces
		if kind != "ServiceAccount" && !strings.HasSuffix(kind, "Role") && !strings.HasSuffix(kind, "RoleBinding") && !guard {
			continue
		}
		text, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		o = decode(t, here.Replace(string(text)))[0]
		if strings.HasPrefix(kind, "Cluster") {
			o.SetName(o.GetName() + "-" + namespace)
		}
		if of, _, _ := unstructured.NestedStringMap(o.Object, "roleRef"); of["kind"] == "ClusterRole" {
			of["name"] += "-" + namespace
			_ = unstructured.SetNestedStringMap(o.Object, of, "roleRef")
		}
		objects = append(objects, o)
	}
	return objects
}

// deploy gives the throttle of a namespace those rights, and returns its kubeconfig.
func deploy(t *testing.T, namespace string, objects []*unstructured.Unstructured) (kubeconfig string) {
	t.Helper()
	cluster.Apply(t, objects...)
	return kubeconfigOf(t, namespace, account, "")
}

// makePod makes one as the Deployment would. There is no kubelet: nothing runs for it.
func makePod(t *testing.T, namespace, name string) {
	t.Helper()
	all := built(t, highAvailability)
	d := into[apps.Deployment](t, all[slices.IndexFunc(all, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })])
	pod := &core.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
	pod.Namespace, pod.Name, pod.Spec.NodeName = namespace, name, "node-of-"+name
	if err := cluster.Client.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// besideReleased writes a kustomization, and returns its folder. In it BMO is the source of the
// operator that we test with, and DEPLOY our deploy/.
func besideReleased(t *testing.T, kustomization string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	source, err := realkube.OperatorSource()
	if err != nil {
		t.Fatal(err)
	}
	ours, err := filepath.Abs("../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	source, _ = filepath.Rel(dir, source)
	ours, _ = filepath.Rel(dir, ours)
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: " + systemNamespace + "\n" +
		strings.NewReplacer("BMO/", source+"/", "DEPLOY/", ours+"/").Replace(kustomization)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// besideBMO are kustomizations with the released BMO in it; the last is as metal3-dev-env deploys it, where settings and
// credentials have hashes in their names.
var besideBMO = map[string]string{
	"released": `
resources: [BMO/config/default, DEPLOY/settings]
components: [DEPLOY/components/sidecar, DEPLOY/components/kubernetes, DEPLOY/components/gateway]
`,
	"released-irso": `
resources: [BMO/config/use-irso, DEPLOY/settings]
components: [DEPLOY/components/sidecar, DEPLOY/components/kubernetes, DEPLOY/components/irso, DEPLOY/components/gateway]
`,
	"metal3-dev-env": `
resources: [BMO/config/base, DEPLOY/settings]
components: [BMO/config/components/basic-auth, DEPLOY/components/sidecar, DEPLOY/components/kubernetes,
  DEPLOY/components/basic-auth, DEPLOY/components/gateway]
secretGenerator: [{name: ironic-credentials, literals: [username=admin, password=sesame]}]
configMapGenerator: [{name: ironic, behavior: create, literals: [IRONIC_ENDPOINT=https://172.22.0.2:6385, BMO_CONCURRENCY=20]}]
`,
}

// TestTheAPIServerTakesTheManifests applies all of them, strictly and without keeping
// them, to the namespaces that they name, which hold pods to "restricted". BMO is there
// already, for those that add to it.
func TestTheAPIServerTakesTheManifests(t *testing.T) {
	t.Parallel()
	for _, name := range []string{systemNamespace, "metal3"} {
		cluster.ApplyText(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+
			", labels: {pod-security.kubernetes.io/enforce: restricted}}}")
	}
	for name, kustomization := range besideBMO { // as long as there is no BMO of that name
		t.Run(name, func(t *testing.T) { takes(t, besideReleased(t, kustomization)) })
	}
	cluster.Apply(t, built(t, testCases+"/operator")...)
	found, err := filepath.Glob(overlays + "/*/kustomization.yaml")
	more, errMore := filepath.Glob(testCases + "/*/kustomization.yaml")
	if found = append(found, more...); len(found) < 10 || err != nil || errMore != nil {
		t.Fatalf("found %d kustomizations: the search is broken", len(found))
	}
	for _, file := range found {
		dir := filepath.Dir(file)
		if name := filepath.Base(dir); name != "bmo" && name != "operator" {
			t.Run(name, func(t *testing.T) { takes(t, dir) })
		}
	}
}

// takes applies what a kustomization makes, without keeping it, and asks whether its pod
// would be let in: of a Deployment itself the API server only says that it might not.
func takes(t *testing.T, dir string) {
	t.Helper()
	pods, objects := 0, built(t, dir)
	for _, o := range objects { // pods without their account are refused
		if o.GetKind() == "ServiceAccount" {
			cluster.Apply(t, o.DeepCopy())
		}
	}
	for _, o := range objects {
		if o.GroupVersionKind().Group == "cert-manager.io" && o.GetLabels()["app.kubernetes.io/name"] != "ironic-throttle" {
			continue // BMO's; nobody serves them here
		}
		if err := cluster.TryApply(t.Context(), o, client.DryRunAll); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		} else if o.GetKind() == "Deployment" {
			admitted(t, into[apps.Deployment](t, o))
			pods++
		}
	}
	for name, counts := range map[string]int{"operator": 1, "gateway": 0} { // patches of BMO's Deployment
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			admitted(t, patchedOperator(t, filepath.Join(dir, name)))
			pods += counts
		}
	}
	if pods != 1 {
		t.Errorf("%d Deployments, want 1", pods)
	}
}

// patchedOperator is what BMO's Deployment would be with the patch that a folder builds.
func patchedOperator(t *testing.T, dir string) (d apps.Deployment) {
	t.Helper()
	objects := built(t, dir)
	text, err := objects[0].MarshalJSON()
	if err != nil || len(objects) != 1 {
		t.Fatalf("%s makes %d objects, want a patch of one; %v", dir, len(objects), err)
	}
	d.Namespace, d.Name = systemNamespace, objects[0].GetName()
	strict := client.WithFieldValidation(cluster.Client, metav1.FieldValidationStrict)
	if err := strict.Patch(t.Context(), &d, client.RawPatch(types.StrategicMergePatchType, text), client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	return d
}

func admitted(t *testing.T, d apps.Deployment) {
	t.Helper()
	pod := &core.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
	pod.Namespace, pod.GenerateName = d.Namespace, d.Name+"-"
	err := cluster.Client.Create(t.Context(), pod, client.DryRunAll)
	ours := slices.ContainsFunc(pod.Spec.Containers, func(c core.Container) bool { return c.Name == "ironic-throttle" })
	if err != nil || !ours {
		t.Error(fmt.Errorf("pod of %s, with a throttle: %v: %w", d.Name, ours, err))
	}
}
