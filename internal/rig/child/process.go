// Package child runs programs for tests: servers that must not outlive the test, also
// when it panics, times out or is killed. It waits for them, reads their logs and their
// memory, and builds the product. Linux only, like the suites that use it.
package child

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Command says what to run.
type Command struct {
	Name string // a path, or a name to look up in our own PATH
	Args []string
	Env  []string // the whole environment; nil is an empty one
	Dir  string   // empty: ours
	// Root is a folder that the process sees as /; Name and Dir are paths in it then.
	// It takes root. Empty: none.
	Root string
	Log  io.Writer // takes both outputs, from a goroutine; nil: nobody
}

// Process is a running program. It leads a process group of its own, and the kernel ends
// it when we die without having stopped it. Its methods may be called from several
// goroutines.
type Process struct {
	name string
	pid  int
	done chan struct{} // closed when the process has ended
	err  error         // of Wait, valid after done
	kill sync.Once
}

// Start runs a program. The caller must call Stop or Kill.
func Start(c Command) (*Process, error) {
	cmd := exec.Command(c.Name, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Log, c.Log
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Chroot: c.Root}

	p := &Process{name: filepath.Base(c.Name), done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
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
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	return p, nil
}

// Running reports whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Err is how the process ended: nil for exit code 0. It waits for the end.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Signal sends sig to the whole group, SIGSTOP and SIGCONT for instance. A process that
// has ended gets nothing.
func (p *Process) Signal(sig syscall.Signal) {
	if p.Running() {
		_ = syscall.Kill(-p.pid, sig) // it may end just now
	}
}

// Stop ends the process and waits for it: SIGTERM, and SIGKILL after grace. The rest of
// its group goes with it.
func (p *Process) Stop(grace time.Duration) {
	if p.Running() {
		_ = syscall.Kill(p.pid, syscall.SIGTERM)
	}
	select {
	case <-p.done:
	case <-time.After(grace):
	}
	p.Kill()
}

// Kill ends the whole group at once and waits for it.
func (p *Process) Kill() {
	// Once: when all of it is gone, its number may become that of another group.
	p.kill.Do(func() { _ = syscall.Kill(-p.pid, syscall.SIGKILL) })
	<-p.done
}
