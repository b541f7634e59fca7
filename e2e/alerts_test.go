//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// promtool runs Debian's in a folder.
func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), debianProgram(t, "promtool"), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestAlertsFireAndStaySilent on series that are made up for each of them.
func TestAlertsFireAndStaySilent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	promtool(t, dir, "check", "rules", alertRules(t, dir))
	tests, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "alerts.yaml"), tests, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, dir, "test", "rules", "alerts.yaml")
}
