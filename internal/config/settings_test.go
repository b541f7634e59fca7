package config

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func TestTagsAreSound(t *testing.T) {
	seen, basic, fs := map[string]bool{}, 0, parsed(t)
	for _, s := range settings {
		if s.has("basic") {
			basic++
		}
		for _, name := range append([]string{s.key, "--" + s.flag()}, s.names...) {
			if seen[name] {
				t.Errorf("two are called %s", name)
			}
			seen[name] = true
		}
		var c Config
		if err := s.set(&c, s.def); err != nil || s.set(&c, s.text(c)) != nil {
			t.Errorf("%s: default %q: %v, as text %q", s.names[0], s.def, err, s.text(c))
		}
		if s.help == "" || len(s.help) > 80 || strings.ContainsAny(s.help+s.rule.must, "|\n") {
			t.Errorf("%s: help %q (%d) or rule %q is empty, too long or breaks the table", s.names[0], s.help, len(s.help), s.rule.must)
		}
		if s.short() != strings.ToUpper(capital.ReplaceAllString(s.key, "_$0")) {
			t.Errorf("%s is %s in the file: not its flag in camel case, as the page says", s.names[0], s.key)
		}
		if f := fs.Lookup(s.flag()); f.Hidden == s.has("basic") || (f.NoOptDefVal == "true") != (s.Type.Kind() == reflect.Bool) {
			t.Errorf("--%s: hidden %t, alone it means %q", s.flag(), f.Hidden, f.NoOptDefVal)
		}
	}
	if basic > 12 || len(settings) > 50 {
		t.Errorf("%d settings, %d of them basic", len(settings), basic)
	}
}

const docs = "../../docs/settings.md"

var update = os.Getenv("UPDATE_DOCS") != "" // before the tests clear the environment

// plain is what the tables leave out of a rule: the page says it of all of its kind.
var plain = regexp.MustCompile(`^(a duration with its unit, |a whole number |one of |a )|, such as 127\.0.*`)

// The page is written by hand round the generated tables. UPDATE_DOCS=1 renews these:
// UPDATE_DOCS=1 go test ./internal/config -run Docs.
func TestDocsHoldTheTables(t *testing.T) {
	tables := map[bool]string{}
	for _, s := range settings {
		name := "`" + s.names[0] + "`"
		if s.has("restart") {
			name += " †"
		}
		rule := plain.ReplaceAllString(s.rule.must, "")
		tables[s.has("basic")] += fmt.Sprintf("| %s | %s | %s | %s |\n", name, cmp.Or(s.def, "unset"), rule, s.help)
	}
	body, err := os.ReadFile(docs)
	is, want := string(body), string(body)
	for mark, basic := range map[string]bool{"basic settings": true, "advanced settings": false} {
		before, rest, _ := strings.Cut(want, "<!-- "+mark+" -->\n")
		_, after, ok := strings.Cut(rest, "<!-- /"+mark+" -->\n")
		if !ok {
			t.Fatalf("the page lacks the marks of %q, %v", mark, err)
		}
		want = before + "<!-- " + mark + " -->\n| environment | default | rule | meaning |\n| --- | --- | --- | --- |\n" +
			tables[basic] + "<!-- /" + mark + " -->\n" + after
	}
	if update {
		err = os.WriteFile(docs, []byte(want), 0o600)
	} else if is != want {
		t.Error("the tables of docs/settings.md are not those of Config: UPDATE_DOCS=1")
	}
	if err != nil {
		t.Error(err)
	}
}

// TestDocsExamplesWork sets what docs/settings.md sets, in each way that it shows: as flags,
// in the environment, in a file.
func TestDocsExamplesWork(t *testing.T) {
	text, err := os.ReadFile(docs)
	bodies := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	ways := regexp.MustCompile(`(?m)^\$ (.*)ironic-throttle serve(.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(bodies) < 2 || len(ways) != 3 {
		t.Fatalf("%v, %d files and %d commands: the search is broken", err, len(bodies), len(ways))
	}
	for _, way := range ways {
		src, _ := holding(string(bodies[0][1]))
		src.Flags = parsed(t, strings.Fields(way[2])...)
		c, warnings, faults := load(t, src, append(strings.Fields(way[1]), endpoint)...)
		if c.Mode != Observe || c.Limits.Total != 40 || warnings != nil || faults != nil {
			t.Errorf("%s: mode %s, limit %d, warnings %q, faults %q", way[0], c.Mode, c.Limits.Total, warnings, faults)
		}
	}
	for _, body := range bodies[1:] {
		src, file := holding(string(body[1]))
		if _, warnings, faults := load(t, src, file, endpoint); warnings != nil || faults != nil {
			t.Errorf("%s: warnings %q, faults %q", body[1], warnings, faults)
		}
	}
}
