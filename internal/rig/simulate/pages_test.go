package simulate_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// example is a console block that begins with this command; the rest is what it prints,
// or lines of that.
var example = regexp.MustCompile("(?ms)^```console\n\\$ (?:bin/)?ironic-throttle-lab simulate (--[^\n]*)\n([^$].*?)```")

// everything plays all that make search does, where make test plays a part.
var everything = flag.Bool("simulate.everything", false, "play all storms of the pages")

// TestPagesShowWhatIsPrinted plays the storms of the pages: their tables are those that a
// reader gets who types the same. make test plays those of one storm.
func TestPagesShowWhatIsPrinted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("storms of the pages")
	}
	printed := map[string]string{}
	plots := t.TempDir()
	pictures := map[string]string{ // by the arguments that draw them
		"--hosts 2000 --boot-capacity 16 --workers 32 --policy throttle,bmo": "storm.svg",
		"--hosts 600 --boot-capacity 25 --limit 100 --limit-mode adaptive":   "adaptive.svg",
	}
	for _, page := range []string{"README.md", "docs/simulate.md", "docs/sizing.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		found := example.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("%s has no example", page)
		}
		for _, block := range found {
			args := block[1]
			if _, played := printed[args]; !played {
				line := args
				if name := pictures[args]; name != "" {
					line += " --plot " + filepath.Join(plots, name)
				}
				if g, err := parse(line); err != nil {
					t.Fatal(err)
				} else if len(g.Storms()) > 1 && !*everything {
					delete(pictures, args)
					continue
				}
				_, printed[args] = run(t, line, false)
			}
			lines := strings.Split(printed[args], "\n")
			for _, shown := range strings.Split(strings.TrimSpace(block[2]), "\n") {
				if at := indexOf(lines, shown); at >= 0 {
					lines = lines[at+1:]
				} else if shown != "…" {
					t.Errorf("%s: simulate %s does not print, or not in this place:\n%s\nbut\n%s", page, args, shown, printed[args])
				}
			}
		}
	}
	if len(printed) == 0 {
		t.Error("no example was played")
	}
	for _, name := range pictures {
		samePicture(t, filepath.Join(plots, name), filepath.Join("..", "..", "..", "docs", name))
	}
}

// samePicture compares a picture of a page with the one that was just drawn; UPDATE_DOCS=1 replaces it.
func samePicture(t *testing.T, drawn, shown string) {
	t.Helper()
	now, err := os.ReadFile(drawn)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile(shown, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := os.ReadFile(shown); err != nil || !bytes.Equal(page, now) {
		t.Errorf("%s is not what simulate --plot draws (%v): UPDATE_DOCS=1 draws it again", shown, err)
	}
}

// indexOf is where a line stands, whatever its margin, or -1.
func indexOf(lines []string, line string) int {
	for i, l := range lines {
		if strings.TrimSpace(l) == strings.TrimSpace(line) {
			return i
		}
	}
	return -1
}
