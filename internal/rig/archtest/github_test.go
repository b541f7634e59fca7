package archtest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is what the rules below read of a workflow of GitHub Actions.
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

// githubFiles are the YAML files below .github, by path.
func githubFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := walk(filepath.Join(dir, ".github"), func(rel string) error {
		if ext := path.Ext(rel); ext != ".yml" && ext != ".yaml" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(dir, ".github", filepath.FromSlash(rel)))
		files[rel] = text
		return err
	})
	if err != nil || len(files) < 4 {
		t.Fatalf("found %d YAML files in .github, error %v", len(files), err)
	}
	return files
}

func TestGitHubYAMLParses(t *testing.T) {
	for rel, text := range githubFiles(t, root(t)) {
		var tree map[string]any // a key given twice is an error
		if err := yaml.Unmarshal(text, &tree); err != nil || len(tree) == 0 {
			t.Errorf(".github/%s: %d keys, %v", rel, len(tree), err)
		}
	}
}

// TestWorkflowsHaveFewRightsAndPinnedActions: a workflow reads the repository and nothing
// else, and an action is pinned by its major version.
func TestWorkflowsHaveFewRightsAndPinnedActions(t *testing.T) {
	pinned := regexp.MustCompile(`^[\w-]+/[\w./-]+@v\d+$`)
	steps := 0
	for rel, text := range githubFiles(t, root(t)) {
		if path.Dir(rel) != "workflows" {
			continue
		}
		var w workflow
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatalf("%s: %v", rel, err)
		}
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: permissions %v, want contents: read", rel, w.Permissions)
		}
		for name, job := range w.Jobs {
			if rel == "workflows/release.yml" {
				continue // TestTheReleaseGivesItsTokenToOneStep
			}
			if job.Permissions != nil {
				t.Errorf("%s: job %s has permissions of its own: %v", rel, name, job.Permissions)
			}
			for _, step := range job.Steps {
				steps++
				if step.Uses != "" && !pinned.MatchString(step.Uses) {
					t.Errorf("%s: job %s uses %s, want OWNER/NAME@vN", rel, name, step.Uses)
				}
			}
		}
	}
	if steps < 10 {
		t.Errorf("found %d steps: the search is broken", steps)
	}
}

// TestTheReleaseGivesItsTokenToOneStep: the job that may write does so in its last step, and what it
// checks out and builds before has no token.
func TestTheReleaseGivesItsTokenToOneStep(t *testing.T) {
	var w workflow
	if err := yaml.Unmarshal(githubFiles(t, root(t))["workflows/release.yml"], &w); err != nil {
		t.Fatal(err)
	}
	job := w.Jobs["release"]
	if len(w.Jobs) != 1 || len(job.Permissions) != 1 || job.Permissions["contents"] != "write" {
		t.Errorf("jobs %v, permissions %v", len(w.Jobs), job.Permissions)
	}
	var used []string
	for i, step := range job.Steps {
		last := i == len(job.Steps)-1
		if step.Uses != "" {
			used = append(used, step.Uses)
		}
		if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
			t.Error("the checkout leaves its token behind")
		}
		if got := len(step.Env) > 0 || strings.Contains(step.Run, "${{"); got != last {
			t.Errorf("step %d, %s%s: has a token: %v", i+1, step.Uses, step.Run, got)
		}
	}
	if want := []string{"actions/checkout@v4", "actions/setup-go@v5"}; !slices.Equal(used, want) {
		t.Errorf("it uses %v, want %v", used, want)
	}
}

// TestWorkflowsRunWhatMakeHas reads what workflows run, and what AGENTS.md tells to run.
func TestWorkflowsRunWhatMakeHas(t *testing.T) {
	dir := root(t)
	makefile, err := os.ReadFile(filepath.Join(dir, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	agents, err := os.ReadFile(filepath.Join(dir, "AGENTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	check := func(where string, targets []string) {
		for _, target := range targets {
			named = append(named, target)
			if !strings.Contains(string(makefile), "\n"+target+":") {
				t.Errorf("%s: make has no target %s", where, target)
			}
		}
	}
	for rel, text := range githubFiles(t, dir) {
		var w workflow
		if err := yaml.Unmarshal(text, &w); err != nil || path.Dir(rel) != "workflows" {
			continue // TestGitHubYAMLParses tells
		}
		for _, job := range w.Jobs {
			for _, step := range job.Steps {
				check(rel, makeTargets(step.Run))
			}
		}
	}
	for _, m := range regexp.MustCompile("(?m)`(make [^`]+)`|^\\$ (make [^#\n]+)").FindAllStringSubmatch(string(agents), -1) {
		check("AGENTS.md", makeTargets(m[1]+m[2]))
	}
	for _, target := range []string{"quick", "test", "lint", "e2e", "search"} {
		if !slices.Contains(named, target) {
			t.Errorf("nobody runs make %s: the search is broken", target)
		}
	}
}

// makeTargets are the targets of the commands in script that call make.
func makeTargets(script string) (targets []string) {
	for _, command := range regexp.MustCompile(`\n|&&|;`).Split(script, -1) {
		words := strings.Fields(command)
		if len(words) == 0 || words[0] != "make" {
			continue
		}
		for _, word := range words[1:] {
			if regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(word) {
				targets = append(targets, word)
			}
		}
	}
	return targets
}

func TestMakeTargets(t *testing.T) {
	got := makeTargets("apt-get install make gcc\nmake test TESTFLAGS=-count=1 && make -s lint fmt\nmake search SEED=${{ github.run_number }}")
	if want := []string{"test", "lint", "fmt", "search"}; !slices.Equal(got, want) {
		t.Errorf("targets %q, want %q", got, want)
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
	if err := yaml.Unmarshal(githubFiles(t, dir)["dependabot.yml"], &bot); err != nil {
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
