package archtest

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSupportedVersionsAreThoseThatRun: the page names what the suites of make e2e run. Kubernetes and the
// operator are built by version; Ironic is Debian's, of which the page of facts says what it is.
func TestSupportedVersionsAreThoseThatRun(t *testing.T) {
	dir := root(t)
	table := readPage(t, dir, "docs/versions.md")
	for name, at := range map[string]struct {
		file    string
		version *regexp.Regexp
	}{
		"Kubernetes":         {"hack/kube/go.mod", regexp.MustCompile(`k8s\.io/kubernetes (v[0-9.]+)`)},
		"BareMetal Operator": {"hack/bmo/go.mod", regexp.MustCompile(`metal3-io/baremetal-operator (v[0-9.]+)`)},
		"Ironic":             {"docs/dev/reference/ironic.md", regexp.MustCompile(`\*\*([0-9]+\.[0-9]+\.[0-9]+)\*\* \(Debian`)},
	} {
		var run []string
		for _, m := range at.version.FindAllStringSubmatch(readPage(t, dir, at.file), -1) {
			run = append(run, m[1])
		}
		if len(run) == 0 {
			t.Errorf("%s names no version: the search is broken", at.file)
		}
		if row := "| " + name + " | " + strings.Join(run, ", ") + " |"; !strings.Contains(table, "\n"+row) {
			t.Errorf("docs/versions.md lacks the row %q", row)
		}
	}
	ci, made := readPage(t, dir, filepath.Join(".ci", "run")), readPage(t, dir, "Makefile")
	for _, part := range []string{"e2e-ironic", "e2e-kube", "e2e-page"} {
		if !regexp.MustCompile(`\n(step|beside) `+part+`\n`).MatchString(ci) || !strings.Contains(made, " "+part+"\n") {
			t.Errorf("make %s is no part of .ci/run and of make e2e", part)
		}
	}
}
