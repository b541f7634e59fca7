package archtest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named finds the files that a page names in code: `pkg/slots/put.go`, `put.go`.
var named = regexp.MustCompile("`([\\w./-]+\\.(?:go|md|txt))`")

// namedFiles lists the files that a page names; one without a directory is beside the
// last one before it in its line.
func namedFiles(text string) (files []string) {
	for line := range strings.Lines(text) {
		dir := ""
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			file := m[1]
			switch {
			case strings.Contains(file, "/"):
				dir = path.Dir(file)
			case dir != "":
				file = path.Join(dir, file)
			}
			files = append(files, file)
		}
	}
	return files
}

func TestNamedFiles(t *testing.T) {
	got := strings.Join(namedFiles("`a/b.go`, `c.go` and `d/e.txt`, `f.md`\nof `g.go` no `h.svg`\n"), " ")
	if want := "a/b.go a/c.go d/e.txt d/f.md g.go"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestArchitectureNamesFilesThatAre holds docs/dev/architecture.md to the tree: each file
// that it names is there, also after somebody moved it.
func TestArchitectureNamesFilesThatAre(t *testing.T) {
	dir := root(t)
	bases := map[string]bool{}
	if err := walk(dir, func(rel string) error { bases[path.Base(rel)] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	files := namedFiles(readPage(t, dir, "docs/dev/architecture.md"))
	if len(files) < 50 {
		t.Errorf("found %d names of files: the search is broken", len(files))
	}
	for _, file := range files {
		if !strings.Contains(file, "/") {
			if !bases[file] {
				t.Errorf("architecture.md names %s, and no file has that name", file)
			}
		} else if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(file))); err != nil {
			t.Errorf("architecture.md names %s, which is not there", file)
		}
	}
}

// TestArchitectureShowsEveryRoom holds the table of packages and the picture of
// docs/dev/architecture.md to the import table.
func TestArchitectureShowsEveryRoom(t *testing.T) {
	dir := root(t)
	text, picture := readPage(t, dir, "docs/dev/architecture.md"), readPage(t, dir, "docs/dev/rooms.svg")
	if !strings.Contains(text, "](rooms.svg)") {
		t.Error("architecture.md does not show rooms.svg")
	}
	for pkg := range table {
		if !strings.HasPrefix(pkg, "pkg/") && !strings.HasPrefix(pkg, "internal/") || strings.HasPrefix(pkg, "internal/rig/") {
			continue
		}
		// A part of a bigger room is named there by its last element.
		name, part := pkg, strings.Count(pkg, "/") > 1
		if part {
			name = path.Base(pkg)
		}
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("the table of packages in architecture.md lacks %s", pkg)
		}
		if !strings.Contains(picture, ">"+name+"<") && (part || !regexp.MustCompile(`[> ]`+name+`[:,;.< ]`).MatchString(picture)) {
			t.Errorf("rooms.svg lacks %s", pkg)
		}
	}
}

func readPage(t *testing.T, dir, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
