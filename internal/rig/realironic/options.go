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

// Options say which Ironic to run. The zero value is an Ironic with plain HTTP, without authentication.
type Options struct {
	BasicAuth bool // auth_strategy is http_basic, with one user (Ironic.User)
	TLS       bool // the API has a certificate for 127.0.0.1 and localhost
	// Settings replace or add settings: values by section and option.
	Settings map[string]map[string]string
	// Root is the absolute path of a folder that hack/ironic/chroot.sh has made. Its programs run with it as their /, and
	// the scratch folder is in it. The test must run as root. "": the machine's own programs.
	Root    string
	Pretend bool // the ipmi driver has pretended hosts, with the interfaces that BMO asks for; needs Root
	MariaDB bool // instead of SQLite; needs Root
}

const (
	startTimeout = 90 * time.Second
	stopTimeout  = 30 * time.Second
)

// Chroot returns the folder of hack/ironic/chroot.sh, for Options.Root: IRONIC_CHROOT, or the default of the script.
func Chroot() string { return cmp.Or(os.Getenv("IRONIC_CHROOT"), "/var/cache/ironic-throttle/trixie") }

// runOnce runs a program to its end, and returns its output. An error has the output too.
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

// serve starts a program. The caller must stop it.
func (i *Ironic) serve(name string, args ...string) (*child.Process, error) {
	p := i.place
	path, err := lookPath(p.Root, name)
	if err != nil {
		return nil, err
	}
	c := child.Command{Name: path, Args: args, Dir: p.seen(), Env: p.environment(), Root: p.Root, Log: &i.log}
	return child.Start(c)
}

// environment returns an environment without the proxies, Python paths and home of the test.
func (p place) environment() []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + p.seen(), "TMPDIR=" + p.seen("tmp"), "LANG=C.UTF-8",
		"PYTHONUNBUFFERED=1", "PYTHONPATH=" + p.seen(pretendDir),
	}
}

// lookPath returns the path of a program, as it is inside root.
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

// writeFiles writes texts to files, by path.
func writeFiles(texts map[string]string) error {
	for path, text := range texts {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Base(path), err)
		}
	}
	return nil
}
