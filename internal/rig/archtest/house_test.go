package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the module's folder; go test runs in the package's own.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatalf("no go.mod where the module's root should be: %v", err)
	}
	return dir
}

// house is read once for all tests.
var house = sync.OnceValues(func() ([]source, error) { return load(filepath.Join("..", "..", "..")) })

func loadHouse(t *testing.T) []source {
	t.Helper()
	all, err := house()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("found %d Go files: the walk is broken", len(all))
	}
	return all
}

func TestImportsFollowTheTable(t *testing.T) {
	told := map[string]bool{} // a package without a row has one fault, not one per file
	for _, s := range loadHouse(t) {
		for _, fault := range importFaults(table, s) {
			if !told[fault] {
				t.Error(fault)
			}
			told[fault] = true
		}
	}
}

func TestFilesAreShortAndTestsDoNotSleep(t *testing.T) {
	for _, s := range loadHouse(t) {
		for _, fault := range shapeFaults(s) {
			t.Error(fault)
		}
	}
}

func TestEveryPackageHasAComment(t *testing.T) {
	for _, pkg := range undocumented(loadHouse(t)) {
		t.Errorf("%s: no package comment", pkg)
	}
}

// TestNoMachinePaths reads what people write: code, scripts, pages, settings.
func TestNoMachinePaths(t *testing.T) {
	dir := root(t)
	kinds := []string{".go", ".md", ".sh", ".yml", ".yaml", ".mod", ".txtar", ".json"}
	err := walk(dir, func(rel string) error {
		base := filepath.Base(rel)
		if !slices.Contains(kinds, filepath.Ext(rel)) && base != "Makefile" && base != "Dockerfile" && rel != ".ci/run" {
			return nil
		}
		if strings.HasPrefix(rel, "internal/rig/archtest/") {
			return nil // names what it looks for
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(rel)))
		if err != nil {
			return err
		}
		for _, p := range machinePaths(dir, string(text)) {
			t.Errorf("%s: %s is a path of one machine", rel, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheProductHasNoRig: what is made for trying out and testing is no part of ironic-throttle.
func TestTheProductHasNoRig(t *testing.T) {
	seen := map[string]bool{}
	var visit func(pkg, by string)
	visit = func(pkg, by string) {
		if strings.HasPrefix(pkg, "internal/rig/") {
			t.Errorf("%s imports %s", by, pkg)
		}
		if seen[pkg] {
			return
		}
		seen[pkg] = true
		for _, imported := range table[pkg].house {
			visit(imported, pkg)
		}
	}
	if visit("cmd/ironic-throttle", ""); len(seen) < 20 {
		t.Errorf("found %d packages of the product: the search is broken", len(seen))
	}
}

// TestTableNamesOnlyItself keeps typing mistakes out of the table: a row may
// only allow packages that have a row.
func TestTableNamesOnlyItself(t *testing.T) {
	for pkg, row := range table {
		for _, p := range slices.Concat(row.house, row.tests) {
			if _, ok := table[p]; !ok && standard(p) {
				t.Errorf("row %s names %s, which has no row", pkg, p)
			}
		}
	}
}
