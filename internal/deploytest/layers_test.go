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
// folders, for kustomize takes no absolute paths.
func written(t *testing.T, text string) manifest {
	t.Helper()
	dir := t.TempDir()
	here, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, folder := range map[string]string{"DEPLOY": deployDir, "CASES": casesDir} {
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
		"alone": "resources: [DEPLOY/base]\ncomponents:\n" + components("kubernetes", "namespace-scoped", "high-availability",
			"position-annotation", "gateway-service", "api-service"),
		"beside BMO": "resources: [CASES/operator, DEPLOY/settings]\ncomponents:\n" + components("sidecar", "sidecar-kubernetes",
			"namespace-scoped", "sidecar-holds", "position-annotation", "gateway"),
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

func components(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "- DEPLOY/components/%s\n", name)
	}
	return b.String()
}
