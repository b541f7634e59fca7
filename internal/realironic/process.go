package realironic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// process is one running service. It leads a process group of its own, and the
// kernel kills it when we die without having stopped it.
type process struct {
	name string
	pid  int
	done chan struct{} // closed when the process has ended
	err  error         // of Wait, valid after done
}

// startProcess runs name with args; both outputs are added to logFile.
func startProcess(dir, logFile, name string, args ...string) (*process, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, environment(dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", name, err)
	}
	cmd.Stdout, cmd.Stderr = out, out

	p := &process{name: filepath.Base(name), done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		defer func() { _ = out.Close() }()
		// Pdeathsig follows the thread that started the process: keep it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// stop ends the process and waits for it: SIGTERM, and SIGKILL after grace. The
// rest of its group goes with it.
func (p *process) stop(grace time.Duration) {
	_ = syscall.Kill(p.pid, syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	}
	p.kill()
}

// kill ends the whole group at once.
func (p *process) kill() {
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	<-p.done
}

// runOnce runs a program to its end and returns what it printed. An error
// carries what it said.
func runOnce(ctx context.Context, dir, stdin, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, environment(dir), strings.NewReader(stdin)
	var out, diag strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &diag
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, tail(diag.String()+out.String()))
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

// tailFile returns the end of a log, for an error message.
func tailFile(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > logTailBytes {
		if _, err := f.Seek(-logTailBytes, io.SeekEnd); err != nil {
			return "(log: " + err.Error() + ")"
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, logTailBytes))
	return string(b) + errorText(err)
}

func tail(s string) string { return s[max(0, len(s)-logTailBytes):] }

func errorText(err error) string {
	if err == nil || errors.Is(err, io.EOF) {
		return ""
	}
	return " (" + err.Error() + ")"
}
