package released

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// surfaces are what users build on, by the file of its record, and the fewest lines that it has: a
// reader that finds less is broken.
var surfaces = map[string]struct {
	read func(root string) ([]string, error)
	few  int
}{
	"go.txt":       {goAPI, 200},
	"http.txt":     {openAPI, 200},
	"metrics.txt":  {metricNames, 40},
	"settings.txt": {settingNames, 60},
	"commands.txt": {commandNames, 60},
	"state.txt":    {stateForms, 50},
}

const (
	house   = "../../.."
	records = house + "/testdata/released"
	breaks  = records + "/breaks.txt"
)

// TestNothingReleasedIsTakenBack holds all surfaces to the record of the last release. With
// RECORD_RELEASE=vX.Y.Z it makes the record of a new one.
func TestNothingReleasedIsTakenBack(t *testing.T) {
	version := os.Getenv("RECORD_RELEASE")
	record := version != ""
	if !record {
		version = newest(t)
	}
	meant := readLines(t, breaks)
	var broken []string
	for _, file := range slices.Sorted(maps.Keys(surfaces)) {
		s := surfaces[file]
		now, err := s.read(house)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(now)
		now = slices.Compact(now)
		if len(now) < s.few {
			t.Fatalf("%s: %d lines, at least %d are expected: what reads them is broken", file, len(now), s.few)
		}
		if record {
			write(t, filepath.Join(records, version, file), now)
			continue
		}
		for _, line := range missing(readLines(t, filepath.Join(records, version, file)), now) {
			broken = append(broken, file+": "+line)
		}
	}
	if record {
		write(t, breaks, nil)
		return
	}
	for _, line := range missing(broken, meant) {
		t.Errorf("%s promised, and it is no more or has changed:\n    %s\n"+
			"Put it back, or add beside it. Where the break is meant, it waits for a release that may break (docs/versions.md):\n"+
			"then add this very line to testdata/released/breaks.txt, and say what users must do in a [CHANGE] line of CHANGELOG.md.", version, line)
	}
	for _, line := range missing(meant, broken) {
		t.Errorf("testdata/released/breaks.txt has a line that breaks nothing: remove it\n    %s", line)
	}
}

// TestBreaksAreTold: who breaks something on purpose says so.
func TestBreaksAreTold(t *testing.T) {
	if len(readLines(t, breaks)) == 0 {
		t.Skip("nothing is broken on purpose")
	}
	text, err := os.ReadFile(house + "/CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	_, unreleased, _ := strings.Cut(string(text), "\n## Unreleased\n")
	unreleased, _, _ = strings.Cut(unreleased, "\n## ")
	if !strings.Contains(unreleased, "[CHANGE]") {
		t.Error("testdata/released/breaks.txt has lines, and CHANGELOG.md no [CHANGE] in Unreleased")
	}
}

// missing are the lines that have does not have.
func missing(lines, have []string) (out []string) {
	for _, line := range lines {
		if !slices.Contains(have, line) {
			out = append(out, line)
		}
	}
	return out
}

// newest is the last release that there is a record of.
func newest(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(records)
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, e := range entries {
		if e.IsDir() {
			versions = append(versions, e.Name())
		}
	}
	if len(versions) == 0 {
		t.Fatal("there is no record of a release")
	}
	return slices.MaxFunc(versions, compare)
}

// compare orders vX.Y.Z.
func compare(a, b string) int {
	var x, y [3]int
	for text, v := range map[string]*[3]int{a: &x, b: &y} {
		if _, err := fmt.Sscanf(text, "v%d.%d.%d", &v[0], &v[1], &v[2]); err != nil {
			panic(fmt.Sprintf("testdata/released/%s: not vX.Y.Z: %v", text, err))
		}
	}
	return slices.Compare(x[:], y[:])
}

func readLines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !(file == breaks && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

func write(t *testing.T, file string, lines []string) {
	t.Helper()
	if len(lines) == 0 {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return
	}
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
