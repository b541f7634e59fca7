package archtest

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is what the rules below read of a workflow of GitHub Actions; make lint has actionlint read the rest.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Steps       []struct {
			Uses, Run string
			With      map[string]any
			Env       map[string]string
		}
	}
}

// workflows reads those of a folder, by name.
func workflows(t *testing.T, dir string) map[string]workflow {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, ".github", "workflows", "*.yml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("found %d workflows, %v", len(files), err)
	}
	all := map[string]workflow{}
	for _, file := range files {
		var w workflow
		name := filepath.Base(file)
		if err := yaml.Unmarshal([]byte(readPage(t, dir, ".github/workflows/"+name)), &w); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = w
	}
	return all
}

// TestWorkflowsHaveFewRightsAndPinnedActions: only the release may write; each action is pinned by its commit, and
// names its version, which dependabot reads.
func TestWorkflowsHaveFewRightsAndPinnedActions(t *testing.T) {
	dir := root(t)
	for name, w := range workflows(t, dir) {
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: permissions %v, want contents: read", name, w.Permissions)
		}
		for title, job := range w.Jobs {
			if job.Permissions != nil && name != "release.yml" {
				t.Errorf("%s: job %s has permissions of its own: %v", name, title, job.Permissions)
			}
		}
		for _, uses := range regexp.MustCompile(`uses: (.*)`).FindAllStringSubmatch(readPage(t, dir, ".github/workflows/"+name), -1) {
			if !regexp.MustCompile(`^[\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`).MatchString(uses[1]) {
				t.Errorf("%s uses %s, want OWNER/NAME@COMMIT # vX.Y.Z", name, uses[1])
			}
		}
	}
}

// TestTheReleaseGivesItsTokenToOneStep: no step but the last, which publishes, is given the token.
func TestTheReleaseGivesItsTokenToOneStep(t *testing.T) {
	job := workflows(t, root(t))["release.yml"].Jobs["release"]
	for i, step := range job.Steps {
		if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
			t.Error("the checkout leaves its token behind")
		}
		if got, last := step.Env["GH_TOKEN"] != "" || strings.Contains(step.Run, "${{"), i == len(job.Steps)-1; got != last {
			t.Errorf("step %d, %s%s: has a token: %v", i+1, step.Uses, step.Run, got)
		}
	}
}

// TestWorkflowsRunWhatMakeHas reads what workflows run.
func TestWorkflowsRunWhatMakeHas(t *testing.T) {
	dir := root(t)
	makefile, named := readPage(t, dir, "Makefile"), 0
	for name, w := range workflows(t, dir) {
		for _, job := range w.Jobs {
			for _, step := range job.Steps {
				for _, m := range regexp.MustCompile(`(?m)^(?:.*&& )?make ([a-z0-9-]+)`).FindAllStringSubmatch(step.Run, -1) {
					if named++; !strings.Contains(makefile, "\n"+m[1]+":") {
						t.Errorf("%s: make has no target %s", name, m[1])
					}
				}
			}
		}
	}
	if named < 8 {
		t.Errorf("workflows run %d targets: the search is broken", named)
	}
}

// TestDependabotKnowsEveryModule holds .github/dependabot.yml against the go.mod files.
func TestDependabotKnowsEveryModule(t *testing.T) {
	dir := root(t)
	var bot struct {
		Updates []struct {
			Ecosystem string `yaml:"package-ecosystem"`
			Directory string
		}
	}
	if err := yaml.Unmarshal([]byte(readPage(t, dir, ".github/dependabot.yml")), &bot); err != nil {
		t.Fatal(err)
	}
	var known, modules []string
	for _, u := range bot.Updates {
		if u.Ecosystem == "gomod" {
			known = append(known, u.Directory)
		}
	}
	err := walk(dir, func(rel string) error {
		if path.Base(rel) == "go.mod" {
			modules = append(modules, path.Clean("/"+path.Dir(rel)))
		}
		return nil
	})
	slices.Sort(known)
	slices.Sort(modules)
	if err != nil || !slices.Equal(known, modules) {
		t.Errorf("dependabot knows the modules %q, there are %q (%v)", known, modules, err)
	}
}
