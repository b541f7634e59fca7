package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// link finds the targets of Markdown links.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinksBetweenPagesLead follows the links of every page that stay in the
// repository, to the heading where they name one.
func TestLinksBetweenPagesLead(t *testing.T) {
	dir := root(t)
	links, headings := 0, 0
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
			target, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := file
			if target != "" {
				to = filepath.Join(filepath.Dir(file), filepath.FromSlash(target))
			}
			links++
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", rel, m[1])
				continue
			}
			if heading == "" || filepath.Ext(to) != ".md" {
				continue
			}
			headings++
			if !anchors(t, to)[heading] {
				t.Errorf("%s: the link to %s names a heading that is not there", rel, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 5 || headings < 5 {
		t.Errorf("found %d links, %d of them to headings: the search is broken", links, headings)
	}
}

// TestAlertsLeadToTheirRunbook: whoever is woken follows the link of the alert.
func TestAlertsLeadToTheirRunbook(t *testing.T) {
	dir := root(t)
	rules, err := os.ReadFile(filepath.Join(dir, "deploy", "components", "monitoring", "prometheusrule.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const page = "docs/troubleshooting.md"
	runbook := anchors(t, filepath.Join(dir, filepath.FromSlash(page)))
	alerts := strings.Split(string(rules), "- alert: ")[1:]
	for _, alert := range alerts {
		name, _, _ := strings.Cut(alert, "\n")
		_, heading, _ := strings.Cut(alert, "/"+page+"#")
		heading, _, _ = strings.Cut(heading, "\n")
		if !strings.Contains(alert, " runbook_url: https://") || !runbook[heading] {
			t.Errorf("%s has no runbook_url to a heading of %s: %q", name, page, heading)
		}
	}
	if len(alerts) < 10 {
		t.Errorf("found %d alerts: the search is broken", len(alerts))
	}
}

// anchors are the headings of a page as links name them: GitHub's rule.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found, times, code := map[string]bool{}, map[string]int{}, false
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		heading := strings.TrimLeft(line, "#")
		if code || heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		name := slug(heading)
		if n := times[name]; n > 0 {
			found[fmt.Sprintf("%s-%d", name, n)] = true
		}
		times[name]++
		found[name] = true
	}
	return found
}

// slug is a heading in lower case, without marks, with hyphens for blanks.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

func TestSlug(t *testing.T) {
	for heading, want := range map[string]string{
		" `PROVISIONING_LIMIT` of the operator": "provisioning_limit-of-the-operator",
		" 1. The image":                         "1-the-image",
		" POST /v1/isready":                     "post-v1isready",
		" Try it: simulate and demo ":           "try-it-simulate-and-demo",
	} {
		if got := slug(heading); got != want {
			t.Errorf("%q: %q, want %q", heading, got, want)
		}
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
