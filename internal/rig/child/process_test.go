package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain plays the parent that is killed, for TestNobodyOutlivesUs.
func TestMain(m *testing.M) {
	if line := os.Getenv("CHILD_TEST_LINE"); line != "" {
		if _, err := Start(Command{Name: "/bin/sh", Args: []string{"-c", line}}); err != nil {
			os.Exit(1)
		}
		select {}
	}
	goleak.VerifyTestMain(m)
}

// alive is a pipe, of which reading ends when nobody lives who writes it. start begins a shell line that writes to it.
func alive(t *testing.T, start func(line string), line string) (gone func()) {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	start("exec 3>" + pipe + "; PATH=/usr/bin:/bin; " + line)
	f, err := os.Open(pipe) // waits for the writer
	if err == nil {
		_, err = f.Read(make([]byte, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if n, _ := f.Read(make([]byte, 1)); n > 0 || f.Close() != nil {
			t.Error("it has written more")
		}
	}
}

func TestStopAsksFirstAndLeavesNobody(t *testing.T) {
	for name, tc := range map[string]struct {
		line, ends string
		grace      time.Duration
	}{
		"asked":             {`trap 'exit 3' TERM; echo >&3; while :; do sleep 0.01; done`, "exit status 3", time.Minute},
		"deaf":              {`trap '' TERM; sleep 1000 & echo >&3; while :; do sleep 1000; done`, "signal: killed", time.Millisecond},
		"child left behind": {`trap 'exit 4' TERM; sleep 1000 >/dev/null 2>&1 & echo >&3; wait`, "exit status 4", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			var p *Process
			gone := alive(t, func(line string) { p, _ = Run(t, Command{Name: "/bin/sh", Args: []string{"-c", line}}) }, tc.line)
			p.Stop(tc.grace)
			if err := p.Err(); err.Error() != tc.ends {
				t.Errorf("it ends with %v, want %s", err, tc.ends)
			}
			gone()
		})
	}
}

// TestNobodyOutlivesUs kills a parent that had no time to clean up.
func TestNobodyOutlivesUs(t *testing.T) {
	parent := exec.Command(os.Args[0])
	gone := alive(t, func(line string) {
		parent.Env = []string{"CHILD_TEST_LINE=" + line}
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
	}, `trap '' TERM; echo >&3; exec sleep 1000`)
	_, _ = parent.Process.Kill(), parent.Wait()
	gone()
}
