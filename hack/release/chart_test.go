package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

const (
	ourSystem = "baremetal-operator-system"
	tag       = "v1.2.3"
)

// ourChart is the chart as Helm loads it, of a release that is never written.
var ourChart = sync.OnceValues(func() (*helmchart.Chart, error) {
	r := &release{root: "../..", version: tag, commit: "c0", image: "ironic-throttle"}
	files, err := r.chartFiles()
	if err != nil {
		return nil, err
	}
	var loaded []*loader.BufferedFile
	for _, f := range files {
		loaded = append(loaded, &loader.BufferedFile{Name: strings.TrimPrefix(f.path, "ironic-throttle/"), Data: f.content})
	}
	return loader.LoadFiles(loaded)
})

// render is helm template, with Helm's own engine.
func render(t *testing.T, values map[string]any, namespace string) (map[string]string, error) {
	t.Helper()
	c, err := ourChart()
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "any", Namespace: namespace, Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// rendered are the objects that the chart makes.
func rendered(t *testing.T, values map[string]any, namespace string) map[string]any {
	t.Helper()
	texts, err := render(t, values, namespace)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for file, text := range texts {
		if !strings.HasSuffix(file, "NOTES.txt") {
			maps.Copy(all, objects(t, text))
		}
	}
	return all
}

// objects are those in a text, by kind and name, without what the two ways do differently on purpose.
func objects(t *testing.T, text string) map[string]any {
	t.Helper()
	all := map[string]any{}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var o map[string]any
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if o == nil {
			continue
		}
		name := fmt.Sprint(o["kind"], " ", o["metadata"].(map[string]any)["name"])
		if all[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		if data, ok := o["data"].(map[string]any); ok && data["config.yaml"] != nil {
			var config any // comments are no difference
			if err := yaml.Unmarshal([]byte(data["config.yaml"].(string)), &config); err != nil {
				t.Error(err)
			}
			data["config.yaml"] = config
		}
		if strings.HasPrefix(fmt.Sprint(o["kind"]), "ValidatingAdmission") {
			delete(o["metadata"].(map[string]any), "namespace") // kustomize does not know that these have none
		}
		sortNamed(o)
		all[name] = o
	}
}

// sortNamed sorts the lists whose order means nothing: kustomize goes by that of its components.
func sortNamed(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			if list, ok := value.([]any); ok && slices.Contains([]string{"ports", "volumeMounts", "volumes", "egress", "ingress"}, key) {
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
			sortNamed(value)
		}
	case []any:
		for _, value := range tree {
			sortNamed(value)
		}
	}
}

// checksum takes the checksum of the settings off the pod.
func checksum(t *testing.T, all map[string]any) string {
	t.Helper()
	template := all["Deployment ironic-throttle"].(map[string]any)["spec"].(map[string]any)["template"].(map[string]any)
	annotations := template["metadata"].(map[string]any)["annotations"].(map[string]any)
	sum := fmt.Sprint(annotations["checksum/settings"])
	delete(annotations, "checksum/settings")
	if len(sum) != 64 {
		t.Errorf("checksum/settings: %s", sum)
	}
	return sum
}

// compare holds what Helm makes of values against what kustomize makes of lines, in which DEPLOY is the folder deploy.
func compare(t *testing.T, values map[string]any, namespace, lines string) {
	t.Helper()
	dir := t.TempDir()
	deploy, err := filepath.Abs("../../deploy")
	if err == nil {
		deploy, err = filepath.Rel(dir, deploy) // it takes no absolute paths
	}
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" + strings.ReplaceAll(lines, "DEPLOY", deploy) +
		"images: [{name: ironic-throttle, newTag: " + tag + "}]\n"
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600)
	}
	if err == nil {
		text, err = (&release{root: "../.."}).kustomize(t.Context(), dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := rendered(t, values, namespace)
	checksum(t, got)
	if diff := cmp.Diff(objects(t, text), got); diff != "" {
		t.Errorf("chart with %v, and kustomize with\n%s(-kustomize +chart):\n%s", values, lines, diff)
	}
}

// TestPresetsAreTheOverlays: the values of the chart as they are, and each preset, are the overlay
// of that name.
func TestPresetsAreTheOverlays(t *testing.T) {
	presets, err := filepath.Glob("../../charts/ironic-throttle/presets/*.yaml")
	if err != nil || len(presets) < 3 {
		t.Fatalf("presets %v, %v", presets, err)
	}
	for _, path := range append(presets, "standalone.yaml") {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			values := map[string]any{}
			if text, err := os.ReadFile(path); name != "standalone" && (err != nil || yaml.Unmarshal(text, &values) != nil) {
				t.Fatal(err, text)
			}
			if name == "standalone" || name == "high-availability" {
				values["env"] = map[string]any{"IRONIC_ENDPOINT": "https://ironic." + ourSystem + ".svc:6385/v1/"}
			}
			compare(t, values, ourSystem, "resources: [DEPLOY/overlays/"+name+"]\n"+plainNames)
		})
	}
}

// switches are the values that stand for components.
var switches = map[string]map[string]any{
	"basic-auth": {"basicAuth": true}, "tls": {"tls": true}, "irso": {"irso": true}, "certificate": {"certificate": true},
	"gateway-service": {"gatewayService": true}, "api-service": {"apiService": true},
	"high-availability": {"replicas": 3}, "planner": {"plannedWork": "plan"}, "planner-execute": {"plannedWork": "execute"}, "monitoring": {"monitoring": true},
	"one-namespace": {"watchNamespace": "metal3"}, "observe": {"observe": true},
}

// kustomization is what builds with kustomize what the chart makes of these switches.
func kustomization(on map[string]bool) string {
	base, certificate := "DEPLOY/base", ""
	components := []string{"DEPLOY/components/kubernetes"}
	if on["observe"] {
		base, components = "DEPLOY/overlays/observe", nil // which has it
	}
	if on["certificate"] {
		certificate = ", DEPLOY/certificate"
	}
	for name := range switches {
		if on[name] && !slices.Contains([]string{"observe", "certificate", "one-namespace"}, name) && !(name == "planner" && on["planner-execute"]) {
			components = append(components, "DEPLOY/components/"+name)
		}
	}
	text := fmt.Sprintf("resources: [%s%s]\ncomponents: [%s]\n", base, certificate, strings.Join(components, ", "))
	if on["one-namespace"] {
		text += "transformers: [DEPLOY/one-namespace]\n"
	}
	return text + plainNames
}

// plainNames leaves out the hashes of kustomize: Helm's objects have the same names for ever, and
// an annotation of the pod changes with the settings.
const plainNames = `configMapGenerator:
- name: ironic-throttle-components
  namespace: ` + ourSystem + `
  behavior: merge
  options: {disableNameSuffixHash: true}
- name: ironic-throttle-env
  namespace: ` + ourSystem + `
  behavior: merge
  options: {disableNameSuffixHash: true}
`

// off are all of them switched off.
func off() map[string]any {
	return map[string]any{"basicAuth": false, "tls": false, "certificate": false, "gatewayService": false, "apiService": false}
}

// TestAnySwitchesAreTheirComponents draws sets of switches.
func TestAnySwitchesAreTheirComponents(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	names := slices.Sorted(maps.Keys(switches))
	for i := range 40 {
		on, values := map[string]bool{}, off()
		for _, name := range names {
			if random.IntN(5) < 2 && name != "observe" || i%4 == 0 && name == "observe" {
				on[name] = true
			}
		}
		for _, name := range names { // planner-execute has planner in it, and comes after it
			if on[name] {
				maps.Copy(values, switches[name])
			}
		}
		t.Run(strings.Join(slices.Sorted(maps.Keys(on)), "+"), func(t *testing.T) {
			compare(t, values, ourSystem, kustomization(on))
		})
	}
}

// TestValuesAreWhatKustomizeWouldBeTold sets what has a value of its own, each at once in both.
func TestValuesAreWhatKustomizeWouldBeTold(t *testing.T) {
	values := off()
	maps.Copy(values, map[string]any{
		"certificate": true, "gatewayService": true, "monitoring": true, "replicas": 5,
		"image":     map[string]any{"repository": "registry.example/throttle", "pullPolicy": "Always"},
		"config":    map[string]any{"maxConcurrentProvisioningHosts": 40, "poolLimits": map[string]any{"rack-1": 5}},
		"env":       map[string]any{"IRONIC_THROTTLE_LIMIT_MODE": "adaptive", "IRONIC_THROTTLE_BREAKER_THRESHOLD": 7, "IRONIC_THROTTLE_LEADER_ELECT": true},
		"resources": map[string]any{"limits": map[string]any{"memory": "1Gi"}, "requests": map[string]any{"cpu": "1", "memory": "1Gi"}},
		"pod":       map[string]any{"nodeSelector": map[string]any{"node-role.kubernetes.io/control-plane": ""}, "priorityClassName": "system-cluster-critical"},
	})
	on := map[string]bool{"certificate": true, "gateway-service": true, "monitoring": true, "high-availability": true}
	lines := kustomization(on) + `  literals: [IRONIC_THROTTLE_LIMIT_MODE=adaptive, IRONIC_THROTTLE_BREAKER_THRESHOLD=7, IRONIC_THROTTLE_LEADER_ELECT=true]
- name: ironic-throttle-config
  namespace: ` + ourSystem + `
  behavior: merge
  options: {disableNameSuffixHash: true}
  literals: ["config.yaml={maxConcurrentProvisioningHosts: 40, poolLimits: {rack-1: 5}}"]
replicas: [{name: ironic-throttle, count: 5}]
namespace: elsewhere
transformers: [DEPLOY/namespace]
patches:
- target: {kind: Deployment, name: ironic-throttle}
  patch: |
    - {op: replace, path: /spec/template/spec/containers/0/image, value: "registry.example/throttle:` + tag + `"}
    - {op: replace, path: /spec/template/spec/containers/0/imagePullPolicy, value: Always}
    - {op: replace, path: /spec/template/spec/containers/0/resources, value: {limits: {memory: 1Gi}, requests: {cpu: "1", memory: 1Gi}}}
    - {op: add, path: /spec/template/spec/nodeSelector, value: {node-role.kubernetes.io/control-plane: ""}}
    - {op: add, path: /spec/template/spec/priorityClassName, value: system-cluster-critical}
`
	compare(t, values, "elsewhere", lines)
}

// TestThePodStartsAnewWithItsSettings, and not with those that are read live.
func TestThePodStartsAnewWithItsSettings(t *testing.T) {
	sum := func(values map[string]any) string { return checksum(t, rendered(t, values, ourSystem)) }
	before := sum(nil)
	if sum(map[string]any{"env": map[string]any{"IRONIC_THROTTLE_MODE": "observe"}}) == before || sum(map[string]any{"gatewayService": false}) == before {
		t.Error("other settings, the same checksum")
	}
	if sum(map[string]any{"config": map[string]any{"maxConcurrentProvisioningHosts": 40}}) != before {
		t.Error("a limit that changes live starts the pod anew")
	}
}

// TestValuesThatAreNoneAreRefused: a typing mistake must not be a throttle with another limit.
func TestValuesThatAreNoneAreRefused(t *testing.T) {
	for _, values := range []map[string]any{
		{"maxConcurrentProvisioningHosts": 40}, {"replicas": 0}, {"plannedWork": "on"}, {"image": map[string]any{"name": "x"}}, {"tls": "no"},
	} {
		if _, err := render(t, values, ourSystem); err == nil {
			t.Errorf("the chart takes %v", values)
		}
	}
}
