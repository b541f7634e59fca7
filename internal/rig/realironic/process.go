package realironic

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// runOnce runs a program to its end and returns what it printed. An error
// carries what it said.
func (p place) runOnce(ctx context.Context, stdin, name string, args ...string) (string, error) {
	path, err := lookPath(p.root, name)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.seen(), p.environment(), strings.NewReader(stdin)
	if p.root != "" {
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: p.root}
	}
	var out, diag strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &diag
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, child.Tail(diag.String()+out.String()))
	}
	return out.String(), nil
}

// start starts a program that the caller stops.
func (p place) start(c child.Command) (*child.Process, error) {
	path, err := lookPath(p.root, c.Name)
	if err != nil {
		return nil, err
	}
	c.Name, c.Dir, c.Env, c.Root = path, p.seen(), p.environment(), p.root
	return child.Start(c)
}

// environment keeps the caller's proxies, Python paths and home out of it.
func (p place) environment() []string {
	e := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + p.seen(), "TMPDIR=" + p.seen("tmp"), "LANG=C.UTF-8", "PYTHONUNBUFFERED=1",
	}
	if p.pretend {
		e = append(e, "PYTHONPATH="+p.seen(pretendDir))
	}
	return e
}

// lookPath finds a program, in root as a path that is seen from there.
func lookPath(root, name string) (string, error) {
	if root == "" {
		return exec.LookPath(name)
	}
	for _, dir := range []string{"/usr/sbin", "/usr/bin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Lstat(filepath.Join(root, path)); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w", filepath.Join(root, "usr", "bin", name), exec.ErrNotFound)
}
