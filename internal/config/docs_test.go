package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// page reads a page of the repository.
func page(t *testing.T, path ...string) (whole, text string) {
	t.Helper()
	whole = filepath.Join(append([]string{"..", ".."}, path...)...)
	body, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	return whole, string(body)
}

// markdown is the table of all basic or advanced settings as docs/settings.md holds it.
func markdown(basic bool) string {
	b := strings.Builder{}
	b.WriteString("| environment | file | flag | default | rule | live | meaning |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, s := range table {
		if s.basic != basic {
			continue
		}
		key, live := "`"+s.key()+"`", ""
		if s.noFile {
			key = ""
		}
		if s.hot {
			live = "yes"
		}
		cells := []string{"`" + s.name + "`", key, "`--" + s.flag() + "`", shownDefault(s), s.rule.text, live, s.help}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

func shownDefault(s setting) string {
	switch {
	case s.defNote != "":
		return s.defNote
	case s.def == "":
		return "unset"
	}
	return s.def
}

// The pages are written by hand round the generated tables. UPDATE_DOCS=1 renews these:
// UPDATE_DOCS=1 go test ./internal/config -run Docs.
func TestDocsHoldTheTables(t *testing.T) {
	for _, row := range []struct{ dir, file, mark, table string }{
		{"docs", "settings.md", "basic settings", markdown(true)},
		{"docs", "settings.md", "advanced settings", markdown(false)},
	} {
		path, text := page(t, row.dir, row.file)
		begin, end := "<!-- "+row.mark+" -->\n", "<!-- /"+row.mark+" -->\n"
		before, rest, ok := strings.Cut(text, begin)
		got, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s lacks the marks %q and %q", path, begin, end)
		}
		if os.Getenv("UPDATE_DOCS") != "" {
			if err := os.WriteFile(path, []byte(before+begin+row.table+end+after), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(row.table, got); diff != "" {
			t.Errorf("%s (-table +file):\n%s", path, diff)
		}
	}
}

// TestDocsExamplesWork sets what docs/settings.md sets, in each way that it shows: as flags,
// in the environment, in a file.
func TestDocsExamplesWork(t *testing.T) {
	_, text := page(t, "docs", "settings.md")
	files := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1)
	ways := regexp.MustCompile(`(?m)^\$ (.*)ironic-throttle serve(.*)$`).FindAllStringSubmatch(text, -1)
	if len(files) != 2 || len(ways) != 3 {
		t.Fatalf("%d files and %d commands: the search is broken", len(files), len(ways))
	}
	for _, way := range ways {
		src := Sources{
			Flags:    parsed(t, strings.Fields(way[2])...),
			ReadFile: func(string) ([]byte, error) { return []byte(files[0][1]), nil },
		}
		c, warnings, err := loadFrom(t, src, append(strings.Fields(way[1]), endpoint)...)
		if c.Mode != Observe || c.Limits.Total != 40 || warnings != nil || err != nil {
			t.Errorf("%s: mode %s, limit %d, warnings %q, error %v", way[0], c.Mode, c.Limits.Total, warnings, err)
		}
	}
	c, warnings, err := loadFile(t, "throttle.yaml", files[1][1])
	if len(c.Changed()) != 9 /* and the file itself */ || warnings != nil || err != nil {
		t.Errorf("the example sets %v, warnings %q, error %v", c.Changed(), warnings, err)
	}
}

// The help of serve shows basic settings, or advanced ones where they are asked for.
func TestHelpShowsEverySettingOnce(t *testing.T) {
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs)
	basic := fs.FlagUsages()
	ShowAdvanced(fs)
	advanced := fs.FlagUsages()
	shows := func(usage, flag string) bool { return slices.Contains(strings.Fields(usage), "--"+flag) }
	for _, s := range table {
		usage := advanced
		if s.basic {
			usage = basic
		}
		def := s.def
		if def == "false" {
			def = "" // pflag leaves it out, as everybody expects it
		}
		for _, want := range []string{s.name, s.help, def} {
			if !strings.Contains(usage, want) {
				t.Errorf("help of %s lacks %q", s.name, want)
			}
		}
		if shows(basic, s.flag()) != s.basic || shows(advanced, s.flag()) == s.basic {
			t.Errorf("%s: basic %t, but shown as basic %t, as advanced %t", s.name, s.basic, shows(basic, s.flag()), shows(advanced, s.flag()))
		}
	}
}
