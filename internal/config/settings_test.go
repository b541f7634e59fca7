package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTagsAreSound(t *testing.T) {
	seen, basic := map[string]string{}, 0
	for _, s := range settings {
		if s.has("basic") {
			basic++
		}
		for _, name := range append([]string{s.key, "--" + s.flag()}, s.names...) {
			if other, ok := seen[name]; ok {
				t.Errorf("%s and %s are both called %s", s.names[0], other, name)
			}
			seen[name] = s.names[0]
		}
		var c Config
		if err := s.set(&c, s.def); err != nil {
			t.Errorf("%s: default %q: %v", s.names[0], s.def, err)
		} else if err := s.set(&c, s.text(c)); err != nil {
			t.Errorf("%s: cannot read its own text %q", s.names[0], s.text(c))
		}
		if s.help == "" || len(s.help) > 80 || strings.ContainsAny(s.help+s.rule.must, "|\n") {
			t.Errorf("%s: help %q (%d) or rule %q is empty, too long or breaks the table", s.names[0], s.help, len(s.help), s.rule.must)
		}
	}
	if basic > 12 || len(settings) > 50 {
		t.Errorf("%d settings, %d of them basic", len(settings), basic)
	}
}

// markdown is the table of all basic or advanced settings as docs/settings.md holds it.
func markdown(basic bool) string {
	b := strings.Builder{}
	b.WriteString("| environment | file | default | rule | meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, s := range settings {
		if s.has("basic") != basic {
			continue
		}
		key, def := "`"+s.key+"`", s.def
		if def == "" {
			def = "unset"
		}
		if s.has("restart") {
			key += " †"
		}
		if s.key == "config" {
			key = "†"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.names[0], key, def, s.rule.must, s.help)
	}
	return b.String()
}

var update = os.Getenv("UPDATE_DOCS") != "" // before the tests clear the environment

// The page is written by hand round the generated tables. UPDATE_DOCS=1 renews these:
// UPDATE_DOCS=1 go test ./internal/config -run Docs.
func TestDocsHoldTheTables(t *testing.T) {
	for mark, table := range map[string]string{"basic settings": markdown(true), "advanced settings": markdown(false)} {
		text := page(t, "docs/settings.md")
		begin, end := "<!-- "+mark+" -->\n", "<!-- /"+mark+" -->\n"
		before, rest, ok := strings.Cut(text, begin)
		got, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("docs/settings.md lacks the marks %q and %q", begin, end)
		}
		if update {
			if err := os.WriteFile("../../docs/settings.md", []byte(before+begin+table+end+after), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(table, got); diff != "" {
			t.Errorf("docs/settings.md (-struct +file):\n%s", diff)
		}
	}
}

func page(t *testing.T, path string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestDocsExamplesWork sets what docs/settings.md sets, in each way that it shows: as flags,
// in the environment, in a file.
func TestDocsExamplesWork(t *testing.T) {
	text := page(t, "docs/settings.md")
	bodies := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1)
	ways := regexp.MustCompile(`(?m)^\$ (.*)ironic-throttle serve(.*)$`).FindAllStringSubmatch(text, -1)
	if len(bodies) == 0 || len(ways) != 3 {
		t.Fatalf("%d files and %d commands: the search is broken", len(bodies), len(ways))
	}
	for _, way := range ways {
		src := Sources{
			Flags:    parsed(t, strings.Fields(way[2])...),
			ReadFile: func(string) ([]byte, error) { return []byte(bodies[0][1]), nil },
		}
		c, warnings, faults := load(t, src, append(strings.Fields(way[1]), endpoint)...)
		if c.Mode != Observe || c.Limits.Total != 40 || warnings != nil || faults != nil {
			t.Errorf("%s: mode %s, limit %d, warnings %q, faults %q", way[0], c.Mode, c.Limits.Total, warnings, faults)
		}
	}
	for _, body := range bodies[1:] {
		src, file := holding(body[1])
		if _, warnings, faults := load(t, src, file, endpoint); warnings != nil || faults != nil {
			t.Errorf("%s: warnings %q, faults %q", body[1], warnings, faults)
		}
	}
}

// The help of serve shows basic settings, or advanced ones where they are asked for.
func TestHelpShowsEverySettingOnce(t *testing.T) {
	fs := parsed(t)
	basic := fs.FlagUsages()
	ShowAdvanced(fs)
	advanced := fs.FlagUsages()
	for _, s := range settings {
		shows := func(usage string) bool { return slices.Contains(strings.Fields(usage), "--"+s.flag()) }
		if shows(basic) != s.has("basic") || shows(advanced) == s.has("basic") || !strings.Contains(basic+advanced, s.names[0]) {
			t.Errorf("%s: basic %t, but shown as basic %t, as advanced %t", s.names[0], s.has("basic"), shows(basic), shows(advanced))
		}
		if f := fs.Lookup(s.flag()); (f.NoOptDefVal == "true") != (s.Type.Kind() == reflect.Bool) {
			t.Errorf("--%s alone means %q", s.flag(), f.NoOptDefVal)
		}
	}
}
