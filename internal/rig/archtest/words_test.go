package archtest

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shelf is a group of pages and the most words that they may have together.
type shelf struct {
	name  string
	most  int
	pages []string // patterns
}

// shelves are what readers have time for. A page that grows takes its words from another one.
var shelves = []shelf{
	{"the front page", 700, []string{"README.md"}},
	{"users' pages", 19_000, []string{"docs/*.md", "deploy/README.md"}},
	{"settings", 1_600, []string{"docs/settings.md"}},
	{"metrics", 1_300, []string{"docs/metrics.md"}},
	{"commands", 600, []string{"docs/commands.md"}},
	{"developers' pages", 8_000, []string{behaviour, "docs/dev/*.md", "docs/dev/*/*.md", "CONTRIBUTING.md"}},
	{"changes", 400, []string{"CHANGELOG.md"}},
}

// behaviour is for developers, among the pages of users.
const behaviour = "docs/behaviour.md"

var letter = regexp.MustCompile(`\pL|\pN`)

// words are what a reader reads: the bars of a table and dashes are none.
func words(text string) int {
	return len(slices.DeleteFunc(strings.Fields(text), func(w string) bool { return !letter.MatchString(w) }))
}

func TestPagesAreShort(t *testing.T) {
	dir := root(t)
	for _, s := range shelves {
		sum, pages := 0, 0
		for _, pattern := range s.pages {
			files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if strings.HasSuffix(filepath.ToSlash(file), behaviour) && pattern != behaviour {
					continue
				}
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				sum, pages = sum+words(string(text)), pages+1
			}
		}
		t.Logf("%s: %d words in %d pages, at most %d", s.name, sum, pages, s.most)
		if sum > s.most || pages < len(s.pages) {
			t.Errorf("%s have %d words in %d pages, and may have %d", s.name, sum, pages, s.most)
		}
	}
}

// unclear are words at which readers stop: they hide who acts, are out of use, or mean several things.
var unclear = regexp.MustCompile(`(?i)\b(begin of|whom|whoever|nobody|everybody|mend(s|ed|ing)?|for ever|anew|of late|` +
	`likewise|yeses|(is|are|was|were|be|been) told|(speaks? for|worked on|works that)|without agent|nine of ten|` +
	`mind these|who is who)\b|, for (they|he) `)

// TestTextsArePlain reads all pages, and what the product prints.
func TestTextsArePlain(t *testing.T) {
	dir := root(t)
	pages := 0
	err := walk(dir, func(rel string) error {
		if filepath.Ext(rel) != ".md" && rel != "docs/openapi.yaml" {
			return nil
		}
		pages++
		for i, line := range strings.Split(readPage(t, dir, rel), "\n") {
			if m := unclear.FindString(line); m != "" {
				t.Errorf("%s:%d: %q: say who acts, in a plain word", rel, i+1, m)
			}
		}
		return nil
	})
	if err != nil || pages < 25 {
		t.Fatalf("%d pages, %v: the search is broken", pages, err)
	}
	for _, s := range loadHouse(t) {
		if s.test() || strings.HasPrefix(s.path, "internal/rig/") || strings.HasPrefix(s.path, "hack/") || strings.HasPrefix(s.path, "e2e/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if m := unclear.FindString(lit.Value); m != "" {
					t.Errorf("%s: %q: say who acts, in a plain word", s.fset.Position(lit.Pos()), m)
				}
			}
			return true
		})
	}
}

func TestUnclearWordsAreFound(t *testing.T) {
	for text, want := range map[string]bool{
		"Whoever asks": true, "is told": true, "who waited of late": true, "hosts fail, for they are broken": true, "9 works that failed": true,
		"IronicThrottleNobodyLeads": false, "it told the host": false, "speaks HTTP": false, "wait for the host": false, "amended": false,
	} {
		if unclear.MatchString(text) != want {
			t.Errorf("%q: found %t, want %t", text, !want, want)
		}
	}
	if got := words("| a | b-c |\n| --- | 1 – 2 |"); got != 4 {
		t.Errorf("counted %d words, want 4", got)
	}
}
