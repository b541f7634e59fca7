package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// specFolder is where the specification lies.
const specFolder = "docs/spec"

func loadSpec(t *testing.T, dir string) []specRow {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(specFolder), "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []specRow
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, specRows(filepath.Base(page), string(text))...)
	}
	if len(rows) < 100 {
		t.Fatalf("found %d rows in %s: the search is broken", len(rows), specFolder)
	}
	return rows
}

// TestRowsAreDefinedAndTested holds citations and rows together: what is cited is a row,
// and what is built is cited by a test.
func TestRowsAreDefinedAndTested(t *testing.T) {
	dir := root(t)
	rows := loadSpec(t, dir)
	for _, fault := range numberFaults(rows) {
		t.Errorf("%s: %s", specFolder, fault)
	}
	defined, tested := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		defined[r.id()] = true
	}
	kinds := []string{".go", ".md", ".sh", ".yml", ".yaml", ".txt", ".txtar"}
	err := walk(dir, func(rel string) error {
		if !slices.Contains(kinds, filepath.Ext(rel)) && filepath.Base(rel) != "Makefile" && rel != ".ci/run" ||
			strings.HasPrefix(rel, "internal/rig/archtest/") { // has rows of its own, to test this
			return nil
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(rel)))
		if err != nil {
			return err
		}
		for _, id := range cited(string(text)) {
			if !defined[id] {
				t.Errorf("%s cites %s, which is no row of %s", rel, id, specFolder)
			}
			tested[id] = tested[id] || strings.HasSuffix(rel, "_test.go")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.built && !tested[r.id()] {
			t.Errorf("%s/%s: no test cites %s: name it in the name or comment of the test that holds it", specFolder, r.page, r.id())
		}
	}
}

func TestCited(t *testing.T) {
	tests := []struct{ text, want string }{
		{"the slot ends (LH-12, GW-6).", "GW-6 LH-12"},
		{"F-1 … F-11", "F-1 F-11"},
		{"func TestLH3_LH4_AgentURL(t *testing.T)", "LH-3 LH-4"},
		{"func TestF1F2F3_InAnyWorld(t *testing.T)", "F-1 F-2 F-3"},
		{"func BenchmarkF10_Ask(b *testing.B)", "F-10"},
		{"-run '^TestBO1_|^TestCB9_'", "BO-1 CB-9"},
		{"LH-12 and LH-12", "LH-12"},
		{"UTF-8, UTF-16, PDF-1, F5, key F-k, TestF5Key, DEF-3", ""},
	}
	for _, tt := range tests {
		if got := strings.Join(cited(tt.text), " "); got != tt.want {
			t.Errorf("%q: cited %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestSpecRows(t *testing.T) {
	page := "| row | when | then |\n| --- | --- | --- |\n" +
		"| LH-1 | unset | 20 |\n" +
		"| LH-3 | **dropped**, see ADR 9 | |\n" +
		"| DC-1 | **not built** | dry run |\n" +
		"| several | LH-2 |\nLH-2 is cited.\n" +
		"| DC-1 | again | |\n"
	rows := specRows("a.md", page)
	want := []specRow{{"LH", 1, "a.md", true}, {"LH", 3, "a.md", false}, {"DC", 1, "a.md", false}, {"DC", 1, "a.md", true}}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
	faults := strings.Join(numberFaults(rows), "; ")
	if !strings.Contains(faults, "DC-1 is defined in a.md and again in a.md") || !strings.Contains(faults, "LH-2 is not defined") {
		t.Errorf("faults %q", faults)
	}
}
