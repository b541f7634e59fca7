package archtest

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestWorkflowsHaveFewRightsAndPinnedActions: only the release may write, and its last step alone has the token; each
// action is pinned by its commit, and names its version, which dependabot reads. make lint has actionlint read the rest.
func TestWorkflowsHaveFewRightsAndPinnedActions(t *testing.T) {
	for name, text := range texts(t, `^\.github/workflows/`) {
		release := path.Base(name) == "release.yml"
		var w struct {
			Permissions map[string]string
			Jobs        map[string]struct{ Permissions map[string]string }
		}
		if err := yaml.Unmarshal([]byte(text), &w); err != nil || len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: permissions %v, want contents: read (%v)", name, w.Permissions, err)
		}
		for title, job := range w.Jobs {
			if job.Permissions != nil && !release {
				t.Errorf("%s: job %s has permissions of its own: %v", name, title, job.Permissions)
			}
		}
		for _, uses := range regexp.MustCompile(`uses: (.*)`).FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`^[\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`).MatchString(uses[1]) {
				t.Errorf("%s uses %s, want OWNER/NAME@COMMIT # vX.Y.Z", name, uses[1])
			}
		}
		if steps := strings.Split(text, "\n      - "); release &&
			(!strings.Contains(text, "persist-credentials: false") || strings.Contains(strings.Join(steps[:len(steps)-1], ""), "GH_TOKEN")) {
			t.Errorf("%s: a step but the last is given the token", name)
		}
	}
}

// TestMakeHasWhatIsRun by workflows and pages.
func TestMakeHasWhatIsRun(t *testing.T) {
	makefile, named := text(t, "Makefile"), 0
	for file, text := range texts(t, `^(README|CONTRIBUTING|AGENTS|deploy/README)\.md$|^\.github/workflows/`) {
		for _, m := range regexp.MustCompile("(?m)(?:`|\\$ |run: |&& |^ +)make ([a-z0-9-]+)").FindAllStringSubmatch(text, -1) {
			if named++; !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: make has no target %s", file, m[1])
			}
		}
	}
	if named < 15 {
		t.Errorf("found %d targets: the search is broken", named)
	}
}

func TestDependabotKnowsEveryModule(t *testing.T) {
	var bot struct {
		Updates []struct {
			Ecosystem string `yaml:"package-ecosystem"`
			Directory string
		}
	}
	if err := yaml.Unmarshal([]byte(text(t, ".github/dependabot.yml")), &bot); err != nil {
		t.Fatal(err)
	}
	var known, modules []string
	for _, u := range bot.Updates {
		if u.Ecosystem == "gomod" {
			known = append(known, u.Directory)
		}
	}
	for file := range texts(t, `(^|/)go\.mod$`) {
		modules = append(modules, path.Clean("/"+path.Dir(file)))
	}
	slices.Sort(known)
	slices.Sort(modules)
	if !slices.Equal(known, modules) {
		t.Errorf("dependabot knows the modules %q, there are %q", known, modules)
	}
}
