package archtest

import (
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestLinksBetweenPagesLead follows the links of every page that stay in the repository, to the heading where they
// name one, and that of each alert to its runbook.
func TestLinksBetweenPagesLead(t *testing.T) {
	pages := texts(t, `\.md$`)
	for page, text := range pages {
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(text, -1) {
			target, heading, _ := strings.Cut(m[1], "#")
			to := page
			if target != "" {
				to = path.Join(path.Dir(page), target)
			}
			if there, err := filepath.Glob(filepath.Join(root, to)); !strings.Contains(target, "://") && (len(there) == 0 || err != nil) {
				t.Errorf("%s: the link to %s leads nowhere", page, m[1])
			}
			if pages[to] != "" && heading != "" && !anchors(pages[to])[heading] {
				t.Errorf("%s: the link to %s names a heading that is not there", page, m[1])
			}
		}
	}
	runbook := anchors(pages["docs/troubleshooting.md"])
	for _, alert := range strings.Split(text(t, "deploy/components/monitoring/prometheusrule.yaml"), "- alert: ")[1:] {
		if m := regexp.MustCompile(` runbook_url: https://.*/docs/troubleshooting\.md#(.*)`).FindStringSubmatch(alert); len(m) == 0 || !runbook[m[1]] {
			t.Errorf("no runbook_url to a heading of docs/troubleshooting.md: %s", alert)
		}
	}
}

// anchors are the headings of a page as links name them: in lower case, without marks, with hyphens for blanks.
func anchors(text string) map[string]bool {
	found, code := map[string]bool{}, false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if heading := strings.TrimLeft(line, "#"); !code && heading != line {
			found[strings.Map(func(r rune) rune {
				if r == ' ' {
					return '-'
				}
				if r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
					return unicode.ToLower(r)
				}
				return -1
			}, strings.TrimSpace(heading))] = true
		}
	}
	return found
}

// TestArchitectureNamesWhatIs holds docs/dev/architecture.md to the tree: each file that it names is there, and each
// package of the product is in its list and its picture.
func TestArchitectureNamesWhatIs(t *testing.T) {
	page, picture := text(t, "docs/dev/architecture.md"), text(t, "docs/dev/rooms.svg")
	files := slices.Sorted(maps.Keys(texts(t, `.`)))
	for line := range strings.Lines(page) {
		dir := "" // a file without a folder is beside the last one before it in its line
		for _, m := range regexp.MustCompile("`([\\w./-]+\\.(?:go|md|txt))`").FindAllStringSubmatch(line, -1) {
			name := path.Join(dir, m[1])
			if strings.Contains(m[1], "/") {
				name, dir = m[1], path.Dir(m[1])
			}
			if !slices.ContainsFunc(files, func(f string) bool { return f == name || dir == "" && path.Base(f) == name }) {
				t.Errorf("architecture.md names %s, which is not there", name)
			}
		}
	}
	for pkg := range strings.FieldsSeq(strings.Join(layers, " ")) {
		if strings.HasPrefix(pkg, "cmd/") || strings.HasPrefix(pkg, "plugin/") {
			continue
		}
		name, part := pkg, strings.Count(pkg, "/") > 1
		if part { // of a bigger room: named there by its last element
			name = path.Base(pkg)
		}
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the list of packages in architecture.md lacks %s", pkg)
		}
		if !strings.Contains(picture, ">"+name+"<") && (part || !regexp.MustCompile(`[> ]`+name+`[:,;.< ]`).MatchString(picture)) {
			t.Errorf("rooms.svg lacks %s", pkg)
		}
	}
}

// TestSettingsAreNamedAsTheyAreSet: a message that says MAX_FAILED makes its reader set a variable that is not read,
// and a page must not name one that is none.
func TestSettingsAreNamedAsTheyAreSet(t *testing.T) {
	const prefix = "IRONIC_THROTTLE_"
	known := text(t, "docs/settings.md")
	var names []string
	for _, m := range regexp.MustCompile("(?m)^\\| `"+prefix+"([A-Z0-9_]+)` (?:† )?\\|").FindAllStringSubmatch(known, -1) {
		if !strings.Contains(m[1], "_") {
			m[1] += "=" // a single word may mean something else
		}
		names = append(names, m[1])
	}
	short := regexp.MustCompile(`(?:^|[^A-Z0-9_])(` + strings.Join(names, "|") + `)(?:[^A-Z0-9_]|$)`)
	if len(names) < 30 || !short.MatchString("than MAX_FAILED allows") || short.MatchString(prefix+"MAX_FAILED") {
		t.Fatalf("found %d settings: the search is broken", len(names))
	}
	literals(t, func(at, text, before string) {
		if m := short.FindStringSubmatch(text); m != nil && before != "envPrefix" {
			t.Errorf("%s: %s is set as %s%s", at, m[1], prefix, m[1])
		}
	})
	for page, text := range texts(t, `^(docs/[^/]*|README|deploy/README)\.md$`) {
		for _, name := range regexp.MustCompile("`("+prefix+"[A-Z0-9_]*[A-Z0-9])[=`]").FindAllStringSubmatch(text, -1) {
			if !strings.Contains(known, "`"+name[1]+"`") {
				t.Errorf("%s: %s is no setting of docs/settings.md", page, name[1])
			}
		}
	}
}

// TestSupportedVersionsAreThoseThatRun: the page names what the suites of make e2e run. Kubernetes and the
// operator are built by version; Ironic is Debian's, of which the page of facts says what it is.
func TestSupportedVersionsAreThoseThatRun(t *testing.T) {
	for name, at := range map[string]struct{ file, version string }{
		"Kubernetes":         {"hack/kube/go.mod", `k8s\.io/kubernetes (v[0-9.]+)`},
		"BareMetal Operator": {"hack/bmo/go.mod", `metal3-io/baremetal-operator (v[0-9.]+)`},
		"Ironic":             {"docs/dev/reference/ironic.md", `\*\*([0-9]+\.[0-9]+\.[0-9]+)\*\* \(Debian`},
	} {
		var run []string
		for _, m := range regexp.MustCompile(at.version).FindAllStringSubmatch(text(t, at.file), -1) {
			run = append(run, m[1])
		}
		if row := "\n| " + name + " | " + strings.Join(run, ", ") + " |"; len(run) == 0 || !strings.Contains(text(t, "docs/versions.md"), row) {
			t.Errorf("docs/versions.md lacks the row %q", row)
		}
	}
}

// shelves are the most words that groups of pages may have: what readers have time for. A page that grows takes its
// words from another one.
var shelves = map[string]int{
	`^README\.md$`:        600,
	`^docs/settings\.md$`: 1_400,
	`^docs/metrics\.md$`:  1_000,
	`^docs/commands\.md$`: 400,
	`^CHANGELOG\.md$`:     300,
	`^docs/(dev/.*|behaviour)\.md$|^CONTRIBUTING\.md$`: 7_200,
	`^docs/[^/]*\.md$|^deploy/README\.md$`:             17_600, // with behaviour.md, which is for developers
}

// word has a letter or a digit; a bar of a table has none.
var word = regexp.MustCompile(`\pL|\pN`)

func TestPagesAreShort(t *testing.T) {
	for pattern, most := range shelves {
		words := 0
		for _, text := range texts(t, pattern) {
			words += len(slices.DeleteFunc(strings.Fields(text), func(w string) bool { return !word.MatchString(w) }))
		}
		if words > most {
			t.Errorf("%s have %d words, and may have %d", pattern, words, most)
		}
	}
}

// unclear are words at which readers stop: they hide who acts, are out of use, or mean several things.
var unclear = regexp.MustCompile(`(?i)\b(begin of|whom|whoever|nobody|everybody|mend(s|ed|ing)?|for ever|anew|of late|` +
	`likewise|yeses|(is|are|was|were|be|been) told|(speaks? for|worked on|works that)|without agent|nine of ten|` +
	`mind these|who is who)\b|, for (they|he) `)

// TestTextsArePlain reads all pages, and what the product prints.
func TestTextsArePlain(t *testing.T) {
	literals(t, func(at, text, _ string) {
		if m := unclear.FindString(text); m != "" {
			t.Errorf("%s: %q: say who acts, in a plain word", at, m)
		}
	})
	for page, text := range texts(t, `\.md$|^docs/openapi\.yaml$`) {
		if m := unclear.FindString(text); m != "" {
			t.Errorf("%s: %q: say who acts, in a plain word", page, m)
		}
	}
}

// TestAMetricsNameIsInFewFiles: to rename one changes three files, the row of its table among them.
func TestAMetricsNameIsInFewFiles(t *testing.T) {
	rows := regexp.MustCompile(`\b(?:gauges?|counters?|histograms|byRequest|poolGauge|limitGauge|fullName)\(\s*"([a-z_]+)"`)
	files, found := texts(t, `.`), 0
	for _, row := range rows.FindAllStringSubmatch(text(t, "internal/metrics/metrics.go")+text(t, "internal/metrics/status.go")+
		text(t, "internal/metrics/sources.go"), -1) {
		found++
		name := `\bironic_throttle_` + row[1]
		if strings.Contains(row[1], "_") { // else it is a word as any
			name = `\b(ironic_throttle_)?` + row[1]
		}
		of, in := regexp.MustCompile(name+`(_bucket|_sum|_count)?\b`), []string{}
		for path, text := range files {
			if path != "CHANGELOG.md" && !strings.HasPrefix(path, "releasenotes/") && strings.Contains(text, row[1]) && of.MatchString(text) {
				in = append(in, path)
			}
		}
		if len(in) > 3 {
			t.Errorf("%s is in %d files, at most 3: %q", row[1], len(in), in)
		}
	}
	if found < 40 {
		t.Errorf("found only %d metrics: the search is broken", found)
	}
}
