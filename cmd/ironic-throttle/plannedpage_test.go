package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
)

// madeOfAFile is a block of a page that makes a plan of a file: what changes the file before, the
// command, and what it prints, in parts that are set apart by a line with "…".
var madeOfAFile = regexp.MustCompile("(?ms)^```console\n\\$ (?:(sed [^\n]*) \\| )?ironic-throttle (plan --state [^\n]*)\n(.*?)```")

// planShown prints the plan of a command of docs/planned-work.md, run at the top of the repository.
func planShown(t *testing.T, before, command string) string {
	t.Helper()
	args := strings.Fields(command)
	if before != "" {
		sed := exec.CommandContext(t.Context(), "sh", "-c", before)
		sed.Dir = filepath.Join("..", "..")
		text, err := sed.Output()
		if err != nil {
			t.Fatalf("%s: %v", before, err)
		}
		args[2] = filepath.Join(t.TempDir(), "state.json")
		if err := os.WriteFile(args[2], text, 0o600); err != nil {
			t.Fatal(err)
		}
	} else {
		args[2] = filepath.Join("..", "..", args[2])
	}
	var out, errs bytes.Buffer
	p := &cli.Process{Stdout: &out, Stderr: &errs}
	if code := p.Execute(t.Context(), root(p), args); code != cli.Yes {
		t.Fatalf("%s: exit code %d, %s", command, code, &errs)
	}
	return out.String()
}

// lacking is the first part of what a page shows that is not in the text where it should be, the
// first one at its beginning and the last one at its end; "" = none.
func lacking(shown, text string) string {
	parts := strings.Split(shown, "…\n")
	for i, part := range parts {
		at := strings.Index(text, part)
		if at < 0 || i == 0 && at > 0 || part != "" && i == len(parts)-1 && !strings.HasSuffix(text, part) {
			return part
		}
		text = text[at+len(part):]
	}
	if len(parts) == 1 {
		return text
	}
	return ""
}

// TestPlannedWorkPageShowsWhatIsPrinted: whoever gives the commands of docs/planned-work.md gets
// what stands below them.
func TestPlannedWorkPageShowsWhatIsPrinted(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "planned-work.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := madeOfAFile.FindAllStringSubmatch(string(text), -1)
	for _, m := range blocks {
		before, command, shown := m[1], m[2], m[3]
		printed := planShown(t, before, command)
		if part := lacking(shown, printed); part != "" || shown == "" {
			t.Errorf("%s %s\nprints\n%s\nand the page shows what is not there:\n%s", before, command, printed, part)
		}
	}
	if want := 2; len(blocks) != want {
		t.Errorf("%d plans are shown, want %d", len(blocks), want)
	}
}
