package child

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// pipe is a named one; reading it ends when nobody who writes it lives.
func pipe(t *testing.T) (path string, open func() *bufio.Reader) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func() *bufio.Reader {
		t.Helper()
		f, err := os.Open(path) // waits for the writer
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		r := bufio.NewReader(f)
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// script runs a shell line, and returns once it has written a line to descriptor 3.
func script(t *testing.T, line string) (p *Process, log *bytes.Buffer, alive *bufio.Reader) {
	t.Helper()
	path, open := pipe(t)
	log = &bytes.Buffer{}
	p, err := Start(Command{
		Name: "/bin/sh", Args: []string{"-c", `exec 3>"$1"; ` + line, "sh", path},
		Env: []string{"PATH=/usr/bin:/bin"}, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p, log, open()
}

func gone(t *testing.T, alive *bufio.Reader) {
	t.Helper()
	if rest, err := io.ReadAll(alive); err != nil || len(rest) > 0 {
		t.Errorf("pipe: %q, %v", rest, err)
	}
}

func TestStopAsksFirst(t *testing.T) {
	p, log, _ := script(t, `trap 'echo bye; exit 3' TERM; echo up >&3; while :; do sleep 0.01; done`)
	p.Stop(time.Minute)
	if err := p.Err(); p.Running() || err == nil || err.Error() != "exit status 3" {
		t.Errorf("running %v, %v; want ended with exit status 3", p.Running(), err)
	}
	if got := log.String(); got != "bye\n" {
		t.Errorf("log %q", got)
	}
	p.Signal(syscall.SIGTERM) // to nobody
	p.Stop(time.Minute)
}

func TestStopLeavesNobody(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		grace      time.Duration
	}{
		{"deaf", `trap '' TERM; sleep 1000 & echo up >&3; while :; do sleep 1000; done`, time.Millisecond},
		{"child left behind", `trap 'exit 0' TERM; sleep 1000 >/dev/null 2>&1 & echo up >&3; wait`, time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, _, alive := script(t, tc.line)
			p.Stop(tc.grace)
			if p.Running() {
				t.Error("still running")
			}
			gone(t, alive)
		})
	}
}

// TestNobodyOutlivesUs kills a parent that had no time to clean up.
func TestNobodyOutlivesUs(t *testing.T) {
	for name, tc := range map[string]struct {
		death syscall.Signal
		line  string
	}{
		"killed": {0, `trap '' TERM; exec 3>"$1"; echo up >&3; exec sleep 1000`},
		// Only one that is asked can end what it has started.
		"asked": {syscall.SIGTERM, `exec 3>"$1"; sleep 1000 & trap "kill $!; exit" TERM; echo up >&3; wait`},
	} {
		t.Run(name, func(t *testing.T) {
			path, open := pipe(t)
			parent := exec.Command(os.Args[0], "-test.run=^$")
			parent.Env = []string{
				"CHILD_TEST_PIPE=" + path, "CHILD_TEST_LINE=" + tc.line, fmt.Sprintf("CHILD_TEST_DEATH=%d", tc.death), "PATH=/usr/bin:/bin",
			}
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = parent.Process.Kill(), parent.Wait() })
			alive := open()
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			gone(t, alive)
		})
	}
}
