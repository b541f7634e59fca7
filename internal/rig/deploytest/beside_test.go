package deploytest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// The throttle beside BMO: built into BMO's own manifests, or patched into a BMO that runs.

// patches are the folders that build a patch for a BMO that runs, and the kustomization that goes with it.
var patches = map[string]string{
	deployDir + "/overlays/metal3-dev-env-sidecar/operator": deployDir + "/overlays/metal3-dev-env-sidecar",
	deployDir + "/overlays/metal3-dev-env-gateway/operator": deployDir + "/overlays/metal3-dev-env-gateway",
	deployDir + "/overlays/observe/gateway":                 deployDir + "/overlays/observe",
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// running is BMO's Deployment without the throttle.
func running(t *testing.T) appsv1.Deployment {
	t.Helper()
	return one[appsv1.Deployment](t, kustomize(t, casesDir+"/operator"), "Deployment", operatorPod)
}

// patched is d after kubectl patch with that patch.
func patched(t *testing.T, d appsv1.Deployment, patch []byte) (after appsv1.Deployment) {
	t.Helper()
	before, err := json.Marshal(d)
	if err == nil {
		before, err = strategicpatch.StrategicMergePatch(before, patch, appsv1.Deployment{})
	}
	if err == nil {
		err = json.Unmarshal(before, &after)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(after.Spec.Template.Annotations) == 0 {
		after.Spec.Template.Annotations = nil // as a server keeps it
	}
	return after
}

// patchOf is what a folder of patches builds.
func patchOf(t *testing.T, folder string) []byte {
	t.Helper()
	m := kustomize(t, folder)
	if len(m) != 1 || m[0].GetKind() != "Deployment" || m[0].GetName() != operatorPod || m[0].GetNamespace() != ourSystem {
		t.Fatalf("%s: the patch is %v", folder, m)
	}
	text, err := m[0].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestBesideBMOItStaysAsItIs, however the throttle came there: one container and its volumes, an annotation for kubectl,
// and variables that lead to the throttle. Off takes all out again, and changes nothing a second time.
func TestBesideBMOItStaysAsItIs(t *testing.T) {
	off, err := yaml.ToJSON([]byte(read(t, deployDir+"/overlays/metal3-dev-env-sidecar/off.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]appsv1.Deployment{}
	for _, name := range []string{"with-operator", "with-operator-gateway", "with-operator-namespace"} {
		all[name] = one[appsv1.Deployment](t, kustomize(t, filepath.Join(casesDir, name)), "Deployment", operatorPod)
	}
	for folder := range patches {
		all[strings.TrimSuffix(folder, "/operator")] = patched(t, running(t), patchOf(t, folder))
	}
	for name, after := range all {
		once := patched(t, after, off)
		if diff := cmp.Diff(running(t), once); diff != "" {
			t.Errorf("%s: off leaves something (-before +after):\n%s", name, diff)
		}
		if diff := cmp.Diff(once, patched(t, once, off)); diff != "" {
			t.Errorf("%s: a second off changes:\n%s", name, diff)
		}
		pod := &after.Spec.Template.Spec
		if shown := after.Spec.Template.Annotations["kubectl.kubernetes.io/default-container"]; shown != "manager" {
			t.Errorf("%s: kubectl logs shows %q instead of BMO", name, shown)
		}
		after.Spec.Template.Annotations = nil
		delete(after.Spec.Template.Labels, "ironic-throttle.metal3.io/metrics") // what the Service looks for
		pod.Containers = slices.DeleteFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == throttle })
		pod.Volumes = slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, throttle) })
		want := []corev1.EnvVar{{Name: "IRONIC_THROTTLE_URL", Value: "http://127.0.0.1:8087"}}
		if strings.HasSuffix(name, "gateway") {
			want = append(want, corev1.EnvVar{Name: "IRONIC_ENDPOINT", Value: "http://127.0.0.1:6390/v1/"}, corev1.EnvVar{Name: "IRONIC_NAME"})
		}
		manager := &pod.Containers[0]
		for _, e := range want {
			if !slices.Contains(manager.Env, e) {
				t.Errorf("%s: BMO lacks %s=%s", name, e.Name, e.Value)
			}
		}
		manager.Env = slices.DeleteFunc(manager.Env, func(e corev1.EnvVar) bool { return slices.Contains(want, e) })
		if diff := cmp.Diff(running(t), after); diff != "" {
			t.Errorf("%s changes more of BMO (-before +after):\n%s", name, diff)
		}
	}
}

// TestSidecarIsTheSameContainer compares the two places where the container is written down. In BMO's pod ports bear
// other names and readiness is not looked at.
func TestSidecarIsTheSameContainer(t *testing.T) {
	alone := see(t, kustomize(t, casesDir+"/observer")).container
	beside := see(t, slices.Concat(kustomize(t, deployDir+"/overlays/metal3-dev-env-sidecar"),
		kustomize(t, deployDir+"/overlays/metal3-dev-env-sidecar/operator"))).container
	for _, c := range []*corev1.Container{&alone, &beside} {
		c.ReadinessProbe, c.Ports[0].Name = nil, ""
		c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(v corev1.VolumeMount) bool { return strings.HasPrefix(v.MountPath, "/opt/metal3/") })
		for i, from := range c.EnvFrom {
			c.EnvFrom[i].ConfigMapRef.Name = regexp.MustCompile(`^(ironic-throttle-(components|env))-.*`).ReplaceAllString(from.ConfigMapRef.Name, "$1") // without its hash
		}
	}
	if diff := cmp.Diff(alone, beside); diff != "" {
		t.Errorf("-base +sidecar:\n%s", diff)
	}
}

// devEnv is what BMO's tools/deploy.sh writes in metal3-dev-env: generated, so with hashes,
// are the settings and the credentials; TLS comes in by a component.
const devEnv = `resources: [BMO/config/base, BMO/config/namespace%s]
namespace: baremetal-operator-system
secretGenerator: [{name: ironic-credentials, literals: [username=admin, password=sesame]}]
configMapGenerator: [{name: ironic, behavior: create, literals: ["IRONIC_ENDPOINT=https://172.22.0.2:6385/v1/", BMO_CONCURRENCY=32]}]
components: [BMO/config/components/basic-auth, BMO/config/components/tls]
`

// starts demands that everything the throttle's container needs is there: in the build, or in use by BMO itself.
func starts(t *testing.T, m manifest, d appsv1.Deployment) {
	t.Helper()
	needs := map[string]map[string]bool{}
	for _, c := range d.Spec.Template.Spec.Containers {
		needs[c.Name] = map[string]bool{}
		note := func(kind, name string, optional *bool) {
			needs[c.Name][kind+" "+name] = optional == nil || !*optional
		}
		for _, from := range c.EnvFrom {
			note("ConfigMap", from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		}
		for _, m := range c.VolumeMounts {
			i := slices.IndexFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
			if i < 0 {
				t.Errorf("%s has no volume %s", c.Name, m.Name)
			} else if v := d.Spec.Template.Spec.Volumes[i]; v.Secret != nil {
				note("Secret", v.Secret.SecretName, v.Secret.Optional)
			} else if v.ConfigMap != nil {
				note("ConfigMap", v.ConfigMap.Name, v.ConfigMap.Optional)
			}
		}
	}
	if len(needs[throttle]) < 3 {
		t.Errorf("the container needs %v: the search is broken", needs[throttle])
	}
	for need, must := range needs[throttle] {
		if _, used := needs["manager"][need]; must && !used &&
			!slices.ContainsFunc(m, func(o *unstructured.Unstructured) bool { return o.GetKind()+" "+o.GetName() == need }) {
			t.Errorf("the container needs %s, which is not there", need)
		}
	}
}

// TestBesideTheReleasedBMO: what kustomize calls BMO's ConfigMap and Secret reaches the throttle too, in one build and
// by a patch; with the gateway, BMO goes through it and the throttle knows where Ironic is. e2e/kube has it run.
func TestBesideTheReleasedBMO(t *testing.T) {
	for name, c := range map[string]struct {
		bmo, components string
		env             map[string]string // of the throttle
	}{
		"default": {
			"resources: [BMO/config/default, DEPLOY/settings]\n", "[DEPLOY/components/sidecar, DEPLOY/components/kubernetes, DEPLOY/components/gateway]",
			map[string]string{"IRONIC_NAME": "", "IRONIC_ENDPOINT": "http://172.22.0.2:6385/v1/"},
		},
		"use-irso": {
			"resources: [BMO/config/use-irso, DEPLOY/settings]\n",
			"[DEPLOY/components/sidecar, DEPLOY/components/kubernetes, DEPLOY/components/irso, DEPLOY/components/gateway]",
			map[string]string{"IRONIC_NAME": "ironic", "IRONIC_ENDPOINT": ""},
		},
		"metal3-dev-env": {
			fmt.Sprintf(strings.Replace(devEnv, "components:", "#", 1), ", DEPLOY/settings"),
			"[BMO/config/components/basic-auth, BMO/config/components/tls, DEPLOY/components/sidecar, DEPLOY/components/kubernetes, " +
				"DEPLOY/components/basic-auth, DEPLOY/components/tls, DEPLOY/components/gateway]",
			map[string]string{"IRONIC_ENDPOINT": "https://172.22.0.2:6385/v1/", "BMO_CONCURRENCY": "32"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := written(t, c.bmo+"components: "+c.components+"\n")
			d := see(t, m)
			starts(t, m, d.Deployment)
			bmo := d.environment(t, d.Spec.Template.Spec.Containers[0])
			if bmo["IRONIC_NAME"] != "" || bmo["IRONIC_ENDPOINT"] != "http://127.0.0.1:6390/v1/" {
				t.Errorf("BMO has IRONIC_NAME=%s and IRONIC_ENDPOINT=%s: it goes round the gateway", bmo["IRONIC_NAME"], bmo["IRONIC_ENDPOINT"])
			}
			for variable, want := range c.env {
				if d.env[variable] != want {
					t.Errorf("the throttle has %s=%s, want %s", variable, d.env[variable], want)
				}
			}
		})
	}
	bmo := written(t, fmt.Sprintf(devEnv, ""))
	for patch, overlay := range patches {
		applied := kustomize(t, overlay)
		starts(t, slices.Concat(bmo, applied), patched(t, one[appsv1.Deployment](t, bmo, "Deployment", operatorPod), patchOf(t, patch)))
		for _, o := range applied { // kubectl delete -k would delete it
			if slices.ContainsFunc(bmo, func(b *unstructured.Unstructured) bool {
				return b.GetKind() == o.GetKind() && b.GetName() == o.GetName()
			}) {
				t.Errorf("%s: %s %s is BMO's", overlay, o.GetKind(), o.GetName())
			}
		}
	}
}

func TestObserveRefusesNothing(t *testing.T) {
	if c := see(t, kustomize(t, deployDir+"/overlays/observe")).load(t).config; c.Mode != "observe" || c.Gateway.Listen != "" || c.Ironic.Endpoint != "" {
		t.Errorf("mode %s, gateway %q, Ironic %q", c.Mode, c.Gateway.Listen, c.Ironic.Endpoint)
	}
}
