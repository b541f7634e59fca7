package deploytest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// What users write in a kustomization of their own, on top of ours.

// written builds a kustomization of these lines. In them DEPLOY and CASES are our
// folders, and RELEASED is BMO's, for kustomize takes no absolute paths.
func written(t *testing.T, text string) manifest {
	t.Helper()
	dir := t.TempDir()
	here, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]string{"DEPLOY": deployDir, "CASES": casesDir}
	if strings.Contains(text, "RELEASED") {
		if folders["RELEASED"], err = released(); err != nil {
			t.Fatal(err)
		}
	}
	for name, folder := range folders {
		if folder, err = filepath.Abs(folder); err == nil {
			folder, err = filepath.Rel(here, folder)
		}
		if err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, name, folder)
	}
	text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" + text
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kustomize(t, dir)
}

// TestYourSettingsWin over those of components named in the same kustomization, although
// kustomize merges a component's after yours.
func TestYourSettingsWin(t *testing.T) {
	seen := map[string]bool{}
	for name, layout := range map[string]string{
		"alone": "resources: [DEPLOY/base]\ncomponents:\n" + components("kubernetes", "irso", "high-availability",
			"gateway-service", "api-service", "monitoring", "planner-execute") + oneNamespace,
		"beside BMO": "resources: [CASES/operator, DEPLOY/settings]\ncomponents:\n" + components("sidecar", "kubernetes", "irso",
			"gateway", "monitoring", "planner-execute") + oneNamespace,
	} {
		var theirs corev1.ConfigMap
		for _, o := range written(t, layout).kind("ConfigMap") {
			if strings.HasPrefix(o.Name, "ironic-throttle-components-") {
				o.into(t, &theirs)
			}
		}
		own := layout + "configMapGenerator:\n- name: ironic-throttle-env\n  namespace: " + ourSystem + "\n  behavior: merge\n  literals:\n"
		for variable := range theirs.Data {
			seen[variable] = true
			own += "  - " + variable + "=mine\n"
		}
		env := settingsOf(t, written(t, own))
		for _, variable := range slices.Sorted(maps.Keys(theirs.Data)) {
			if got := env[variable]; got != "mine" {
				t.Errorf("%s: %s=%s, although you say otherwise", name, variable, got)
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

const oneNamespace = "transformers: [DEPLOY/one-namespace]\n"

func components(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "- DEPLOY/components/%s\n", name)
	}
	return b.String()
}

// elsewhere is a namespace that is not the one of the manifests.
const elsewhere = "elsewhere"

// TestAnotherNamespace moves everything with one line for kustomize's own and one for
// ours: objects, the accounts of bindings, and the names that clients verify.
func TestAnotherNamespace(t *testing.T) {
	for name, path := range cases(t) {
		if strings.HasPrefix(path, pagesDir) {
			continue // moved by themselves, or with hosts in namespaces of their own
		}
		dir := "CASES/" + name
		if ours, ok := strings.CutPrefix(path, deployDir); ok {
			dir = "DEPLOY" + ours
		}
		t.Run(name, func(t *testing.T) {
			m := written(t, "resources: ["+dir+"]\nnamespace: "+elsewhere+"\ntransformers: [DEPLOY/namespace]\n")
			for _, o := range m {
				if o.Namespace != elsewhere && !strings.HasPrefix(o.Kind, "Cluster") {
					t.Errorf("%s has stayed", o)
				}
				// Where Ironic is, we do not know.
				if strings.Contains(strings.ReplaceAll(string(o.text), "ironic."+ourSystem+".svc", ""), ourSystem) {
					t.Errorf("%s still names %s:\n%s", o, ourSystem, o.text)
				}
			}
		})
	}
}

// TestBindingsFollowByThemselves where the account is ours, without our line.
func TestBindingsFollowByThemselves(t *testing.T) {
	bindings := 0
	for _, dir := range []string{"DEPLOY/overlays/standalone", "DEPLOY/overlays/high-availability", "CASES/everything"} {
		m := written(t, "resources: ["+dir+"]\nnamespace: "+elsewhere+"\n")
		for _, o := range slices.Concat(m.kind("ClusterRoleBinding"), m.kind("RoleBinding")) {
			bindings++
			if strings.Contains(string(o.text), ourSystem) {
				t.Errorf("%s: %s is bound to an account in %s", dir, o, ourSystem)
			}
		}
	}
	if bindings < 2+4+4 {
		t.Errorf("found %d bindings: the search is broken", bindings)
	}
}

// TestOnlyOurNamesMove: a name in the certificate that is not a Service's of ours stays.
func TestOnlyOurNamesMove(t *testing.T) {
	m := written(t, "resources: [DEPLOY/overlays/standalone]\nnamespace: "+elsewhere+"\ntransformers: [DEPLOY/namespace]\n"+
		"patches:\n- target: {kind: Certificate, name: ironic-throttle}\n"+
		"  patch: |\n    - {op: add, path: /spec/dnsNames/-, value: gateway.example.org}\n")
	if text := string(m.one(t, "Certificate", throttle).text); !strings.Contains(text, "- gateway.example.org\n") {
		t.Errorf("gateway.example.org has changed:\n%s", text)
	}
}
