package disruption

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDC13_ACommandRunsOnlyAfterThoseBeforeIt: a host whose Machine could not be taken away is not powered off, and a node
// is not drained before its replacement is Ready.
func TestDC13_ACommandRunsOnlyAfterThoseBeforeIt(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	for name, row := range map[string]struct {
		change          func(l *lab)
		fails, mayNever string
	}{
		"the scale of a release": {func(*lab) {}, "scale", "online"},
		"the wait of a release":  {func(*lab) {}, "wait", "online"},
		"the wait of a replacement": {func(l *lab) {
			l.pod(0, 4)
			l.spare(100)
		}, "wait", "drain"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1)
			row.change(l)
			commands := l.plan().Actions[0].Commands
			if !strings.Contains(strings.Join(commands, "\n"), row.mayNever) {
				t.Fatalf("none of %q does it at all", commands)
			}
			dir := t.TempDir()
			fake := "#!" + sh + "\necho \"$@\"\n[ \"$1\" != " + row.fails + " ]\n"
			if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(fake), 0o700); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), sh, "-c", strings.Join(commands, "\n"))
			run.Env = []string{"PATH=" + dir}
			out, err := run.Output()
			if err == nil || strings.Contains(string(out), row.mayNever) {
				t.Errorf("%v, and these ran:\n%s", err, out)
			}
		})
	}
}
