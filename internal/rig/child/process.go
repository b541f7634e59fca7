// Package child runs programs for tests: servers that must not outlive the test, also if it panics, times out or is
// killed. It waits for them, reads their logs and their memory, and builds the product. It needs Linux.
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
	Name string // a path, or a name in the PATH of the test
	Args []string
	Env  []string // the whole environment; nil: an empty one
	Dir  string   // "": the folder of the test
	// Root is a folder that the process sees as /; Name and Dir are then paths in it. The test must run as root. "": none.
	Root string
	Log  io.Writer // gets both outputs, from another goroutine; nil: nothing does
}

// Process is a running program. It leads a process group of its own. The kernel ends it if the test dies. Its methods
// are safe for concurrent use.
type Process struct {
	name string
	pid  int
	done chan struct{} // closed when the process has ended
	err  error         // of Wait, once done is closed
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
		// Pdeathsig comes when the thread ends that started the process, so this goroutine keeps its thread.
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

// Err waits for the end of the process, and returns how it ended: nil for exit code 0.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Signal sends sig, such as SIGSTOP, to the whole group. After the end of the process it does nothing.
func (p *Process) Signal(sig syscall.Signal) {
	if p.Running() {
		_ = syscall.Kill(-p.pid, sig) // it fails if the process ends just now
	}
}

// Stop ends the process by SIGTERM, and the whole group by SIGKILL when the process has ended, or after grace.
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

// Kill ends the whole group at once, and waits for the end of the process.
func (p *Process) Kill() {
	// Only once: later another group may have the same number.
	p.kill.Do(func() { _ = syscall.Kill(-p.pid, syscall.SIGKILL) })
	<-p.done
}
