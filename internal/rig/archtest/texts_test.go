package archtest

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const settingPrefix = "IRONIC_THROTTLE_"

// shortNames finds settings without their prefix, such as MAX_FAILED or MODE=observe, in a
// text; a single word counts only where it is set, for it may mean something else.
func shortNames(t *testing.T, dir string) *regexp.Regexp {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(dir, "docs", "settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile("(?m)^\\| `"+settingPrefix+"([A-Z0-9_]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		name := m[1]
		if !strings.Contains(name, "_") {
			name += "="
		}
		names = append(names, name)
	}
	if len(names) < 30 {
		t.Fatalf("found %d settings: the search is broken", len(names))
	}
	return regexp.MustCompile(`(?:^|[^A-Z0-9_])(` + strings.Join(names, "|") + `)(?:[^A-Z0-9_]|$)`)
}

// A message that says MAX_FAILED makes its reader set a variable that is not read: texts of
// the program name a setting as it is set.
func TestTextsNameSettingsAsTheyAreSet(t *testing.T) {
	short := shortNames(t, root(t))
	for _, s := range loadHouse(t) {
		if s.test() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr: // envPrefix + "MAX_FAILED"
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "envPrefix" {
					return false
				}
			case *ast.BasicLit:
				if m := short.FindStringSubmatch(n.Value); n.Kind == token.STRING && m != nil {
					t.Errorf("%s: %s is set as %s%s", s.fset.Position(n.Pos()), m[1], settingPrefix, m[1])
				}
			}
			return true
		})
	}
}

// TestPagesNameSettingsThatAre: a reader sets what a page names.
func TestPagesNameSettingsThatAre(t *testing.T) {
	dir := root(t)
	known, err := os.ReadFile(filepath.Join(dir, "docs", "settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, filepath.Join(dir, "README.md"), filepath.Join(dir, "deploy", "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile("`("+settingPrefix+"[A-Z0-9_]*[A-Z0-9])[=`]").FindAllStringSubmatch(string(text), -1) {
			if found++; !strings.Contains(string(known), "`"+name[1]+"`") {
				t.Errorf("%s: %s is no setting of docs/settings.md", filepath.Base(page), name[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("found %d names: the search is broken", found)
	}
}

func TestShortNamesAreFound(t *testing.T) {
	short := shortNames(t, root(t))
	for text, want := range map[string]bool{
		"than MAX_FAILED allows": true, `"MODE=observe"`: true, "(KUBERNETES=on)": true,
		"IRONIC_THROTTLE_MAX_FAILED": false, "IRONIC_THROTTLE_MODE=observe": false, "MODE of the device": false, "MAX_FAILED_HOSTS": false,
	} {
		if short.MatchString(text) != want {
			t.Errorf("%q: found %t, want %t", text, !want, want)
		}
	}
}
