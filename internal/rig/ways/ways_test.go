package ways

import (
	"fmt"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ironic-throttle/ironic-throttle/"

// others are no part of a poll that frees a slot: how Ironic is read is a way of its own, and the page looks at the
// decision each second.
var others = regexp.MustCompile(`^pkg/ironic/|^internal/(page|server)/|^pkg/admission/(status|headline|holds)|^pkg/.*/show\.go`)

// TestWays holds the ways through the product to a number of functions, so that a reader can follow them.
func TestWays(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "ways")
	run(t, "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"internal/...,"+module+"pkg/...", "-o", program, "./cmd")
	run(t, program, dir)
	for _, w := range []struct {
		what, name string
		ceiling    int
		ignored    *regexp.Regexp
	}{
		{"an ask that is granted", "granted", 110, nil},
		{"an ask that is refused", "refused", 90, nil},
		{"a PUT that the gateway lets through", "gated", 170, nil},
		{"a poll that frees a slot, once Ironic is read,", "poll", 100, others},
	} {
		passed := functions(t, filepath.Join(dir, w.name))
		if w.ignored != nil {
			passed = slices.DeleteFunc(passed, w.ignored.MatchString)
		}
		t.Logf("%s passes %d functions:%s", w.what, len(passed), perPackage(passed))
		if len(passed) == 0 || len(passed) > w.ceiling {
			t.Errorf("%s passes %d functions, at most %d are allowed:\n%s", w.what, len(passed), w.ceiling, strings.Join(passed, "\n"))
		}
	}
}

func run(t *testing.T, program string, args ...string) (out string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = append(command.Environ(), "GOCOVERDIR="+t.TempDir()) // of what it leaves at its end
	text, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, text)
	}
	return string(text)
}

// functions are those of the product that ran, as file:line, of the counters in a folder.
func functions(t *testing.T, counters string) (ran []string) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(module) + `(\S+):\s+\S+\s+(\S+)%$`)
	for _, m := range line.FindAllStringSubmatch(run(t, "go", "tool", "covdata", "func", "-i="+counters), -1) {
		if m[2] != "0.0" && !strings.HasPrefix(m[1], "internal/rig/") {
			ran = append(ran, m[1])
		}
	}
	return ran
}

// perPackage tells how many functions each package has.
func perPackage(functions []string) (text string) {
	packages := map[string]int{}
	for _, at := range functions {
		packages[path.Dir(at)]++
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		text += fmt.Sprintf("\n%6d %s", packages[name], name)
	}
	return text
}
