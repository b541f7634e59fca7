package realironic

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/child"
)

// startProcess runs name with args; both outputs are added to logFile.
func startProcess(dir, logFile, name string, args ...string) (*child.Process, error) {
	out, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", name, err)
	}
	defer func() { _ = out.Close() }() // the process has its own by then
	return child.Start(child.Command{Name: name, Args: args, Dir: dir, Env: environment(dir), Log: out})
}

// runOnce runs a program to its end and returns what it printed. An error
// carries what it said.
func runOnce(ctx context.Context, dir, stdin, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, environment(dir), strings.NewReader(stdin)
	var out, diag strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &diag
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, child.Tail(diag.String()+out.String()))
	}
	return out.String(), nil
}

// environment keeps the caller's proxies, Python paths and home out of it.
func environment(dir string) []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + dir, "TMPDIR=" + filepath.Join(dir, "tmp"), "LANG=C.UTF-8", "PYTHONUNBUFFERED=1",
	}
}
