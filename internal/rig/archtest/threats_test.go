package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThreatsAreStoppedByTestsThatAre holds docs/threat-model.md to the tests and the plays that it names.
func TestThreatsAreStoppedByTestsThatAre(t *testing.T) {
	tests := map[string]bool{}
	for _, s := range loadHouse(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test() && f.Recv == nil {
				tests[f.Name.Name] = true
			}
		}
	}
	page := readPage(t, root(t), "docs/threat-model.md")
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(page, -1)
	for _, m := range named {
		if !tests[m[1]] {
			t.Errorf("docs/threat-model.md names %s, and there is no such test", m[1])
		}
	}
	plays := regexp.MustCompile("`([\\w-]+\\.play)`").FindAllStringSubmatch(page, -1)
	for _, m := range plays {
		if _, err := os.Stat(filepath.Join(root(t), "testdata", "plays", m[1])); err != nil {
			t.Errorf("docs/threat-model.md names %s, and there is no such play", m[1])
		}
	}
	if len(named)+len(plays) < 50 {
		t.Errorf("found %d names of tests: the search is broken", len(named))
	}
	// What stops somebody is shown: no row without a test.
	for line := range strings.Lines(page) {
		if _, stops, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok && strings.Count(line, "|") == 3 &&
			!strings.HasPrefix(line, "| ---") && !strings.HasPrefix(line, "| tries") && !strings.Contains(stops, "`Test") && !strings.Contains(stops, ".play`") {
			t.Errorf("docs/threat-model.md: no test shows this: %s", line)
		}
	}
}
