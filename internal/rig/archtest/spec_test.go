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
	if len(rows) < 50 {
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
		{"the list is read (PL-2, GW-6).", "GW-6 PL-2"},
		{"DC-1 … DC-11", "DC-1 DC-11"},
		{"func TestGW3_LH4_GW4_AgentURL(t *testing.T)", "GW-3 GW-4"},
		{"func TestDC1DC2DC3_InAnyWorld(t *testing.T)", "DC-1 DC-2 DC-3"},
		{"func BenchmarkDC10_Read(b *testing.B)", "DC-10"},
		{"-run '^TestPL1_|^TestDC9_'", "DC-9 PL-1"},
		{"GW-12 and GW-12", "GW-12"},
		{"HDC-8, GW5, key GW-k, TestGW5Key, UPL-3, LH-3", ""},
	}
	for _, tt := range tests {
		if got := strings.Join(cited(tt.text), " "); got != tt.want {
			t.Errorf("%q: cited %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestSpecRows(t *testing.T) {
	page := "| row | when | then |\n| --- | --- | --- |\n" +
		"| GW-1 | unset | 20 |\n" +
		"| GW-3 | **dropped**, see ADR 9 | |\n" +
		"| DC-1 | **not built** | dry run |\n" +
		"| several | GW-2 |\nGW-2 is cited.\n" +
		"| DC-1 | again | |\n"
	rows := specRows("a.md", page)
	want := []specRow{{"GW", 1, "a.md", true}, {"GW", 3, "a.md", false}, {"DC", 1, "a.md", false}, {"DC", 1, "a.md", true}}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
	faults := strings.Join(numberFaults(rows), "; ")
	if !strings.Contains(faults, "DC-1 is defined in a.md and again in a.md") || !strings.Contains(faults, "GW-2 is not defined") {
		t.Errorf("faults %q", faults)
	}
}

// TestCommentsCiteNoFormerRows: what the product does is said in words.
func TestCommentsCiteNoFormerRows(t *testing.T) {
	for _, s := range loadHouse(t) {
		if s.test() || strings.HasPrefix(s.pkg, "internal/rig/") || strings.HasPrefix(s.pkg, "hack/") {
			continue
		}
		for _, fault := range formerFaults(s) {
			t.Error(fault)
		}
	}
}

func TestFormerRowsAreFound(t *testing.T) {
	s := fake(t, "p/p.go", "package p // CB-7\n\n// See PROMISES 5, and docs/spec/slots.md.\nvar a = \"LH-3\" // GW-3, UTF-8, PDF-1\n")
	if faults := formerFaults(s); len(faults) != 2 {
		t.Errorf("faults %q, want two", faults)
	}
}
