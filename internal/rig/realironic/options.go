package realironic

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// Options say which Ironic to run. The zero value is a good one: plain HTTP, no authentication.
type Options struct {
	// BasicAuth asks for auth_strategy http_basic with one user (Ironic.User).
	BasicAuth bool
	// TLS serves the API with a certificate for 127.0.0.1 and localhost.
	TLS bool
	// Settings are laid over our own settings: section, option, value.
	Settings map[string]map[string]string
	// Root is the absolute path of a folder that hack/ironic/chroot.sh has made: the programs in it run with it as their /,
	// and the scratch folder lies in it. It takes root. Empty: the machine's own programs.
	Root string
	// Pretend makes the ipmi driver one of pretended hosts, with the interfaces that the operator asks for. It needs Root.
	Pretend bool
	// MariaDB is a server of this Ironic alone, instead of SQLite. It needs Root.
	MariaDB bool
}

const (
	startTimeout = 90 * time.Second
	stopTimeout  = 30 * time.Second
)

// Chroot is the folder that hack/ironic/chroot.sh makes, for Options.Root: IRONIC_CHROOT, or the place that the script takes
// without it.
func Chroot() string { return cmp.Or(os.Getenv("IRONIC_CHROOT"), "/var/cache/ironic-throttle/trixie") }

// runOnce runs a program to its end and returns what it printed. An error carries what it said.
func (p place) runOnce(ctx context.Context, stdin, name string, args ...string) (string, error) {
	path, err := lookPath(p.Root, name)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.seen(), p.environment(), strings.NewReader(stdin)
	if p.Root != "" {
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: p.Root}
	}
	var out, diag strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &diag
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, child.Tail(diag.String()+out.String()))
	}
	return out.String(), nil
}

// serve starts a program that the caller stops.
func (i *Ironic) serve(name string, args ...string) (*child.Process, error) {
	p := i.place
	path, err := lookPath(p.Root, name)
	if err != nil {
		return nil, err
	}
	return child.Start(child.Command{Name: path, Args: args, Dir: p.seen(), Env: p.environment(), Root: p.Root, Log: &i.log})
}

// environment keeps the caller's proxies, Python paths and home out of it.
func (p place) environment() []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + p.seen(), "TMPDIR=" + p.seen("tmp"), "LANG=C.UTF-8", "PYTHONUNBUFFERED=1", "PYTHONPATH=" + p.seen(pretendDir),
	}
}

// lookPath finds a program, in root as a path that is seen from there.
func lookPath(root, name string) (string, error) {
	if root == "" {
		path, err := exec.LookPath(name)
		if err != nil {
			err = fmt.Errorf("run hack/ironic/install.sh as root: %w", err)
		}
		return path, err
	}
	for _, dir := range []string{"/usr/sbin", "/usr/bin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Lstat(filepath.Join(root, path)); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	return "", fmt.Errorf("run hack/ironic/chroot.sh as root: %s in %s: %w", name, root, exec.ErrNotFound)
}

// writeFiles writes texts by path.
func writeFiles(texts map[string]string) error {
	for path, text := range texts {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Base(path), err)
		}
	}
	return nil
}
