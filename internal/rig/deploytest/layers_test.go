package deploytest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// What users write in a kustomization of their own, on top of ours: components of a pod of its own, and of one beside
// BMO. Of planner and planner-execute there is one.
var (
	alone  = []string{"api-service", "basic-auth", "gateway-service", "high-availability", "irso", "kubernetes", "monitoring", "planner", "planner-execute", "tls"}
	beside = []string{"basic-auth", "gateway", "irso", "kubernetes", "monitoring", "planner", "planner-execute", "sidecar", "tls"}
)

// TestTheOrderOfComponentsDoesNotMatter draws sets of components, each in two orders.
func TestTheOrderOfComponentsDoesNotMatter(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join(deployDir, "components"))
	if err != nil {
		t.Fatal(err)
	}
	named := slices.Compact(slices.Sorted(slices.Values(slices.Concat(alone, beside))))
	if len(entries) != len(named) || len(named) > 12 {
		t.Errorf("%d components, %d in this test; there may be 12", len(entries), len(named))
	}
	// Without hashes, which depend on the order in which a ConfigMap's keys came.
	const plainNames = "configMapGenerator:\n- {name: ironic-throttle-components, namespace: " + ourSystem +
		", behavior: merge, options: {disableNameSuffixHash: true}}\n"
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 12 {
		resources, set := "resources: [DEPLOY/base, DEPLOY/certificate]\n", slices.Clone(alone)
		if i%2 == 1 {
			resources, set = "resources: [CASES/operator, DEPLOY/settings, DEPLOY/certificate]\n", slices.Clone(beside)
		}
		without := []string{"planner", "planner-execute"}[random.IntN(2)]
		set = slices.DeleteFunc(set, func(name string) bool { return name == without || name != "sidecar" && random.IntN(3) == 0 })
		var built [2]any
		for k := range built {
			random.Shuffle(len(set), func(a, b int) { set[a], set[b] = set[b], set[a] })
			var objects []any
			for _, o := range written(t, resources+plainNames+components(set...)) {
				objects = append(objects, o.Object)
			}
			built[k] = sorted(objects)
		}
		if diff := cmp.Diff(built[0], built[1]); diff != "" {
			t.Errorf("%v, in two orders:\n%s", set, diff)
		}
	}
}

// sorted is a tree without the order of its lists.
func sorted(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			tree[key] = sorted(value)
		}
	case []any:
		for i, value := range tree {
			tree[i] = sorted(value)
		}
		slices.SortFunc(tree, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return tree
}

// TestYourSettingsWin over those of components named in the same kustomization, although
// kustomize merges a component's after yours.
func TestYourSettingsWin(t *testing.T) {
	seen := map[string]bool{}
	for name, layout := range map[string]string{
		"alone": "resources: [DEPLOY/base]\n" + components("kubernetes", "irso", "high-availability",
			"gateway-service", "api-service", "monitoring", "planner-execute"),
		"beside BMO": "resources: [CASES/operator, DEPLOY/settings]\n" + components("sidecar", "kubernetes", "irso",
			"gateway", "monitoring", "planner-execute"),
	} {
		layout += "transformers: [DEPLOY/one-namespace]\n"
		var theirs map[string]string
		for _, o := range written(t, layout).kind("ConfigMap") {
			if strings.HasPrefix(o.GetName(), "ironic-throttle-components-") {
				theirs = as[corev1.ConfigMap](t, o).Data
			}
		}
		own := layout + "configMapGenerator:\n- name: ironic-throttle-env\n  namespace: " + ourSystem + "\n  behavior: merge\n  literals:\n"
		for variable := range theirs {
			seen[variable] = true
			own += "  - " + variable + "=mine\n"
		}
		env := see(t, written(t, own)).env
		for variable := range theirs {
			if env[variable] != "mine" {
				t.Errorf("%s: %s=%s, although you say otherwise", name, variable, env[variable])
			}
		}
	}
	files, err := filepath.Glob(deployDir + "/components/*/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, m := range regexp.MustCompile(`(?m)^ +- ([A-Z_]+)=`).FindAllStringSubmatch(read(t, file), -1) {
			if !seen[m[1]] {
				t.Errorf("%s: %s is not in ironic-throttle-components, or this test lacks the component", file, m[1])
			}
		}
	}
}

// TestAnotherNamespace moves everything with one line for kustomize's own and one for ours: objects, the accounts of
// bindings, and the names that clients verify. A name in the certificate that is not a Service's of ours stays.
func TestAnotherNamespace(t *testing.T) {
	const elsewhere = "elsewhere"
	for name, path := range cases(t) {
		if strings.Contains(path, "/pages/") {
			continue // moved by themselves, or with hosts in namespaces of their own
		}
		t.Run(name, func(t *testing.T) {
			dir := strings.NewReplacer(deployDir, "DEPLOY", casesDir, "CASES").Replace(path)
			patch := "patches:\n- target: {kind: Certificate, name: ironic-throttle}\n" +
				"  patch: |\n    - {op: add, path: /spec/dnsNames/-, value: gateway.example.org}\n"
			for _, o := range written(t, "resources: ["+dir+"]\nnamespace: "+elsewhere+"\ntransformers: [DEPLOY/namespace]\n"+patch) {
				if o.GetNamespace() != elsewhere && !strings.HasPrefix(o.GetKind(), "Cluster") {
					t.Errorf("%s %s has stayed", o.GetKind(), o.GetName())
				}
				if strings.Contains(strings.ReplaceAll(text(o), "ironic."+ourSystem+".svc", ""), ourSystem) { // where Ironic is, we do not know
					t.Errorf("%s %s still names %s: %s", o.GetKind(), o.GetName(), ourSystem, text(o))
				}
				if o.GetKind() == "Certificate" && o.GetName() == throttle && !strings.Contains(text(o), " gateway.example.org]") {
					t.Errorf("gateway.example.org has changed: %s", text(o))
				}
			}
			// Bindings follow by themselves where the account is ours.
			for _, o := range written(t, "resources: ["+dir+"]\nnamespace: "+elsewhere+"\n") {
				if strings.HasSuffix(o.GetKind(), "RoleBinding") && strings.Contains(text(o), "name:ironic-throttle namespace:"+ourSystem) {
					t.Errorf("%s is bound to an account in %s", o.GetName(), ourSystem)
				}
			}
		})
	}
}
