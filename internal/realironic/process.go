package realironic

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/child"
)

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
