package deploytest

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// The throttle beside BMO: built into BMO's own manifests, or patched into a BMO that
// runs.

// defaultContainer says which of its containers kubectl shows of a pod.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// running is BMO's Deployment without the throttle.
func running(t *testing.T) appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	build(t, "testdata/operator").one(t, "Deployment", operatorPod).into(t, &d)
	return d
}

// patched is d after kubectl patch with the YAML of patch.
func patched(t *testing.T, d appsv1.Deployment, patch []byte) (after appsv1.Deployment) {
	t.Helper()
	before, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := strategicpatch.StrategicMergePatch(before, toJSON(t, patch), appsv1.Deployment{})
	if err != nil {
		t.Fatal(err)
	}
	decode(t, merged, &after)
	if len(after.Spec.Template.Annotations) == 0 {
		after.Spec.Template.Annotations = nil // as a server keeps it
	}
	return after
}

// patches are the folders that build a patch for a BMO that runs.
var patches = map[string]string{
	"metal3-dev-env-sidecar": patchDir(deployDir + "/overlays/metal3-dev-env-sidecar"),
	"metal3-dev-env-gateway": patchDir(deployDir + "/overlays/metal3-dev-env-gateway"),
	"observe-gateway":        deployDir + "/overlays/observe/gateway",
}

// throttled lists BMO's Deployment with the throttle in it, however it came there.
func throttled(t *testing.T) map[string]appsv1.Deployment {
	t.Helper()
	all := map[string]appsv1.Deployment{}
	for _, name := range []string{"with-operator", "with-operator-gateway", "with-operator-namespace"} {
		all[name], _ = build(t, "testdata/"+name).deployment(t)
	}
	for name, folder := range patches {
		patch := kustomize(t, folder)
		if len(patch) != 1 || patch[0].String() != "Deployment "+ourSystem+"/"+operatorPod {
			t.Fatalf("%s: the patch is %v", name, patch)
		}
		all[name] = patched(t, running(t), patch[0].text)
	}
	return all
}

// TestBesideBMOItStaysAsItIs: one container and its volumes, an annotation for kubectl, and
// variables that lead to the throttle.
func TestBesideBMOItStaysAsItIs(t *testing.T) {
	for name, after := range throttled(t) {
		pod := &after.Spec.Template.Spec
		if shown := after.Spec.Template.Annotations[defaultContainer]; shown != "manager" {
			t.Errorf("%s: kubectl logs shows %q instead of BMO", name, shown)
		}
		after.Spec.Template.Annotations = nil
		delete(after.Spec.Template.Labels, "ironic-throttle.metal3.io/metrics") // what the Service looks for
		pod.Containers = slices.DeleteFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == throttle })
		pod.Volumes = slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, throttle) })
		want := map[string]string{"IRONIC_THROTTLE_URL": "http://127.0.0.1:8087"}
		if strings.HasSuffix(name, "gateway") {
			want["IRONIC_ENDPOINT"], want["IRONIC_NAME"] = "http://127.0.0.1:6390/v1/", ""
		}
		manager := &pod.Containers[0]
		if pod.Containers[0].Name != "manager" {
			t.Fatalf("%s: %s is left", name, pod.Containers[0].Name)
		}
		manager.Env = slices.DeleteFunc(manager.Env, func(e corev1.EnvVar) bool {
			value, ours := want[e.Name]
			delete(want, e.Name)
			return ours && value == e.Value
		})
		for variable, value := range want {
			t.Errorf("%s: BMO lacks %s=%s", name, variable, value)
		}
		if diff := cmp.Diff(running(t), after); diff != "" {
			t.Errorf("%s changes more of BMO (-before +after):\n%s", name, diff)
		}
	}
}

// TestOffTakesAllOut patches in, and out again, twice.
func TestOffTakesAllOut(t *testing.T) {
	off, err := os.ReadFile(deployDir + "/overlays/metal3-dev-env-sidecar/off.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range throttled(t) {
		once := patched(t, d, off)
		if diff := cmp.Diff(running(t), once); diff != "" {
			t.Errorf("%s: off leaves something (-before +after):\n%s", name, diff)
		}
		if diff := cmp.Diff(once, patched(t, once, off)); diff != "" {
			t.Errorf("%s: a second off changes:\n%s", name, diff)
		}
	}
}

// TestThePageSavesWhatOffCannotBringBack: a variable that BMO's container had itself is
// written over by the patch, and off takes it out. The page has it noted before.
func TestThePageSavesWhatOffCannotBringBack(t *testing.T) {
	off, err := os.ReadFile(deployDir + "/overlays/metal3-dev-env-sidecar/off.yaml")
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, "../../../docs/metal3-dev-env.md")
	before, after, _ := strings.Cut(page, "## 1. ")
	lost := 0
	for _, name := range []string{"metal3-dev-env-sidecar", "metal3-dev-env-gateway"} {
		patch := kustomize(t, patchDir(deployDir+"/overlays/"+name))[0].text
		own := running(t)
		env := &own.Spec.Template.Spec.Containers[0].Env
		had := len(*env)
		for _, e := range patched(t, running(t), patch).Spec.Template.Spec.Containers[0].Env {
			if !slices.ContainsFunc(*env, func(h corev1.EnvVar) bool { return h.Name == e.Name }) {
				*env = append(*env, corev1.EnvVar{Name: e.Name, Value: "its own"})
			}
		}
		left := patched(t, patched(t, own, patch), off).Spec.Template.Spec.Containers[0].Env
		for _, e := range (*env)[had:] {
			if slices.Contains(left, e) {
				continue
			}
			if lost++; !strings.Contains(before, "`"+e.Name+"`") {
				t.Errorf("%s: step 0 does not look for %s, which is lost", name, e.Name)
			}
		}
	}
	if lost == 0 || !strings.Contains(after, "kubectl set env $D -c manager IRONIC_ENDPOINT=") {
		t.Errorf("%d variables are lost, step 5 puts them back: this test looks at the wrong thing", lost)
	}
}

// TestPatchNamesWhatIsApplied: the ConfigMaps that the patch names are those that the
// overlay beside it makes.
func TestPatchNamesWhatIsApplied(t *testing.T) {
	for _, name := range []string{"metal3-dev-env-sidecar", "metal3-dev-env-gateway"} {
		m := build(t, deployDir+"/overlays/"+name)
		_, c := m.deployment(t)
		for _, from := range c.EnvFrom {
			if ref := from.ConfigMapRef; ref.Optional == nil {
				m.one(t, "ConfigMap", ref.Name)
			}
		}
		for _, o := range kustomize(t, deployDir+"/overlays/"+name).kind("Deployment") {
			t.Errorf("%s: kubectl delete -k would delete %s", name, o)
		}
	}
}

// hashed are the names that kustomize puts a hash after.
var hashed = regexp.MustCompile(`^(ironic-throttle-(?:components|env))-.+$`)

// TestSidecarIsTheSameContainer compares the two places where the container is written
// down. In BMO's pod ports bear other names and readiness is not looked at.
func TestSidecarIsTheSameContainer(t *testing.T) {
	_, alone := build(t, "testdata/observer").deployment(t)
	_, beside := build(t, deployDir+"/overlays/metal3-dev-env-sidecar").deployment(t)
	for _, c := range []*corev1.Container{&alone, &beside} {
		c.ReadinessProbe = nil
		for i := range c.Ports {
			c.Ports[i].Name = ""
		}
		c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(v corev1.VolumeMount) bool { return strings.HasPrefix(v.MountPath, "/opt/metal3/") })
		for i, from := range c.EnvFrom {
			c.EnvFrom[i].ConfigMapRef.Name = hashed.ReplaceAllString(from.ConfigMapRef.Name, "$1")
		}
	}
	if diff := cmp.Diff(alone, beside); diff != "" {
		t.Errorf("-base +sidecar:\n%s", diff)
	}
}
