package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link finds the targets of Markdown links.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinksBetweenPagesLead follows the links of every page that stay in the
// repository.
func TestLinksBetweenPagesLead(t *testing.T) {
	dir := root(t)
	links := 0
	err := walk(dir, func(rel string) error {
		if filepath.Ext(rel) != ".md" {
			return nil
		}
		file := filepath.Join(dir, filepath.FromSlash(rel))
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), filepath.FromSlash(target))); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", rel, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 5 {
		t.Errorf("found %d links: the search is broken", links)
	}
}

// TestReadmeNamesWhatMakeHas keeps the targets that pages speak of alive.
func TestReadmeNamesWhatMakeHas(t *testing.T) {
	dir := root(t)
	makefile, err := os.ReadFile(filepath.Join(dir, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "AGENTS.md", "deploy/README.md"} {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?:`|\\$ )make ([a-z0-9-]+)").FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s: make has no target %s", page, m[1])
			}
		}
	}
}
