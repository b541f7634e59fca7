package soak

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var sabotage = flag.Bool("sabotage", false, "break the product on purpose, in one way after the other: -soak histories (1000) must show each break")

// TestSabotage holds that each break still fits the code, and with -sabotage that the histories show it. The compiler
// reads the edits from an overlay, so no file changes.
func TestSabotage(t *testing.T) {
	histories := *count
	if histories == 0 {
		histories = 1000
	}
	for _, b := range breaks {
		t.Run(b.what, func(t *testing.T) {
			file := filepath.Join("..", "..", "..", filepath.FromSlash(b.file))
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), b.old); n != 1 || b.old == b.new {
				t.Fatalf("%s has %q %d times, want it once", b.file, b.old, n)
			}
			if !*sabotage {
				return
			}
			law := search(t, build(t, file, strings.Replace(string(text), b.old, b.new, 1)), histories)
			if law == "" {
				t.Fatalf("not found within %d histories", histories)
			}
			t.Log(law)
		})
	}
}

// build compiles the histories with another text of a file of the product.
func build(t *testing.T, file, text string) (binary string) {
	dir := t.TempDir()
	edited, overlay := filepath.Join(dir, "edited.go"), filepath.Join(dir, "overlay.json")
	replaced, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {replaced: edited}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{edited: []byte(text), overlay: replace} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary = filepath.Join(dir, "soak.test")
	args := []string{"test", "-c", "-vet=off", "-ldflags=-w", "-overlay", overlay, "-o", binary, "."}
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

var brokenLine = regexp.MustCompile(`seed \d+: .*`)

// search plays histories until one shows the break, and returns what it showed.
func search(t *testing.T, binary string, histories int) (law string) {
	out, err := exec.CommandContext(t.Context(), binary, "-test.run", "^TestNoHistoryBreaksALaw$", "-test.timeout", "0",
		"-soak", strconv.Itoa(histories), "-soak.seed", strconv.FormatUint(*first, 10)).CombinedOutput()
	if err == nil {
		return ""
	}
	if law = brokenLine.FindString(string(out)); law == "" {
		t.Fatalf("%v: %s", err, out)
	}
	return law
}
