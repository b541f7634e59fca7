//go:build e2e

package kube

import (
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
	"k8s.io/client-go/kubernetes"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// Where kustomizations are, from here. What deploytest tests is deployed here.
const (
	overlays  = "../../deploy/overlays"
	testCases = "../../internal/rig/deploytest/testdata"
)

// highAvailability is the overlay with several replicas.
var highAvailability = filepath.Join(overlays, "high-availability")

// systemNamespace is the one that the manifests name.
const systemNamespace = "baremetal-operator-system"

// built is what a kustomization makes.
func built(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	text, err := realkube.Kustomize(dir)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := realkube.Decode(text)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	return objects
}

// kustomizations lists the folders that deploy a throttle.
func kustomizations(t *testing.T) (dirs []string) {
	t.Helper()
	for _, parent := range []string{overlays, testCases} {
		entries, err := os.ReadDir(parent)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			dir := filepath.Join(parent, e.Name())
			_, err := os.Stat(filepath.Join(dir, "kustomization.yaml"))
			if err == nil && !slices.Contains([]string{"bmo", "operator"}, e.Name()) {
				dirs = append(dirs, dir)
			}
		}
	}
	if len(dirs) < 8 {
		t.Fatalf("found %d kustomizations: the search is broken", len(dirs))
	}
	return dirs
}

// TestTheAPIServerTakesTheManifests applies all of them, strictly and without keeping
// them, to the namespaces that they name, which hold pods to "restricted". BMO is there
// already, for those that add to it.
func TestTheAPIServerTakesTheManifests(t *testing.T) {
	t.Parallel()
	for _, name := range []string{systemNamespace, "metal3"} {
		ns, err := realkube.Decode("{apiVersion: v1, kind: Namespace, metadata: {name: " + name +
			", labels: {pod-security.kubernetes.io/enforce: restricted}}}")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cluster.Apply(t.Context(), ns[0]); err != nil {
			t.Fatal(err)
		}
	}
	// Beside the released BMO, as long as there is none of that name.
	for name, kustomization := range map[string]string{
		"released": "resources: [BMO/config/default, DEPLOY/settings]\ncomponents: [DEPLOY/components/sidecar, " +
			"DEPLOY/components/kubernetes, DEPLOY/components/gateway]\n",
		"released-irso": "resources: [BMO/config/use-irso, DEPLOY/settings]\ncomponents: [DEPLOY/components/sidecar, " +
			"DEPLOY/components/kubernetes, DEPLOY/components/irso, DEPLOY/components/gateway]\n",
		"metal3-dev-env": strings.NewReplacer("config/base]", "config/base, DEPLOY/settings]",
			"components/basic-auth]", "components/basic-auth, DEPLOY/components/sidecar, DEPLOY/components/kubernetes, "+
				"DEPLOY/components/basic-auth, DEPLOY/components/gateway]").Replace(devEnv("https://172.22.0.2:6385", 20)),
	} {
		t.Run(name, func(t *testing.T) { takes(t, besideReleased(t, kustomization)) })
	}
	for _, o := range built(t, filepath.Join(testCases, "operator")) {
		if _, err := cluster.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range kustomizations(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) { takes(t, dir) })
	}
}

// takes applies what a kustomization makes, without keeping it, and asks whether its pod
// would be let in.
func takes(t *testing.T, dir string) {
	t.Helper()
	pods, objects := 0, built(t, dir)
	for _, o := range objects { // pods without their account are refused
		if o.GetKind() != "ServiceAccount" {
			continue
		}
		if _, err := cluster.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range objects {
		if o.GroupVersionKind().Group == "cert-manager.io" && o.GetLabels()["app.kubernetes.io/name"] != "ironic-throttle" {
			continue // BMO's; nobody serves them here
		}
		made, err := cluster.Apply(t.Context(), o, metav1.DryRunAll)
		if err != nil {
			t.Error(err)
			continue
		}
		if made.GetKind() == "Deployment" {
			admitted(t, made)
			pods++
		}
	}
	if beside := filepath.Join(dir, "operator"); exists(beside) {
		admitted(t, patchedOperator(t, beside))
		pods++
	}
	if gateway := filepath.Join(dir, "gateway"); exists(gateway) { // of the overlay observe
		admitted(t, patchedOperator(t, gateway))
	}
	if pods != 1 {
		t.Errorf("%d Deployments, want 1", pods)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// patchedOperator is what BMO's Deployment would be with the patch that a folder builds.
func patchedOperator(t *testing.T, dir string) *unstructured.Unstructured {
	t.Helper()
	objects := built(t, dir)
	if len(objects) != 1 {
		t.Fatalf("%s makes %d objects, want a patch of one", dir, len(objects))
	}
	text, err := objects[0].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	d, err := client.AppsV1().Deployments(systemNamespace).Patch(t.Context(), objects[0].GetName(), types.StrategicMergePatchType, text,
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	made, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: made}
}

// admitted asks whether the pod of a Deployment would be let in: of a Deployment itself
// the API server only says that it might not.
func admitted(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	var d apps.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	pod := &core.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
	pod.GenerateName = d.Name + "-"
	got, err := client.CoreV1().Pods(d.Namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Errorf("pod of %s: %v", d.Name, err)
		return
	}
	if !slices.ContainsFunc(got.Spec.Containers, func(c core.Container) bool { return c.Name == "ironic-throttle" }) {
		t.Errorf("pod of %s has no throttle", d.Name)
	}
}
