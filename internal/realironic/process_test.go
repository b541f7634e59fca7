package realironic

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script runs a shell line as a process, and returns once it has written a line
// to descriptor 3. Reading what is returned ends when nobody of the group lives.
func script(t *testing.T, line string) (p *process, log string, alive *bufio.Reader) {
	t.Helper()
	dir := t.TempDir()
	log, pipe := filepath.Join(dir, "log"), filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := startProcess(dir, log, "/bin/sh", "-c", `exec 3>"$1"; `+line, "sh", pipe)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	f, err := os.Open(pipe) // waits for the writer
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	alive = bufio.NewReader(f)
	if _, err := alive.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return p, log, alive
}

func TestStopAsksFirst(t *testing.T) {
	p, log, _ := script(t, `trap 'echo bye; exit 3' TERM; echo up >&3; while :; do sleep 0.01; done`)
	p.stop(time.Minute)
	if p.running() || p.err == nil || p.err.Error() != "exit status 3" {
		t.Errorf("running %v, %v; want ended with exit status 3", p.running(), p.err)
	}
	if got := tailFile(log); got != "bye\n" {
		t.Errorf("log %q", got)
	}
}

func TestStopLeavesNobody(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		grace      time.Duration
	}{
		{"deaf", `trap '' TERM; sleep 1000 & echo up >&3; while :; do sleep 1000; done`, time.Millisecond},
		{"child left behind", `trap 'exit 0' TERM; sleep 1000 & echo up >&3; wait`, time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, _, alive := script(t, tc.line)
			p.stop(tc.grace)
			if p.running() {
				t.Error("still running")
			}
			if rest, err := io.ReadAll(alive); err != nil || len(rest) > 0 {
				t.Errorf("pipe: %q, %v", rest, err)
			}
		})
	}
}

func TestStartProcessThatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	if _, err := startProcess(dir, filepath.Join(dir, "log"), filepath.Join(dir, "nothing")); err == nil {
		t.Error("no error")
	}
}

func TestRunOnceErrorCarriesOutput(t *testing.T) {
	_, err := runOnce(t.Context(), t.TempDir(), "", "/bin/sh", "-c", "echo said; echo cried >&2; exit 4")
	if err == nil || !strings.Contains(err.Error(), "exit status 4") || !strings.Contains(err.Error(), "cried\nsaid") {
		t.Errorf("error %v", err)
	}
}

func TestTailFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 3*logTailBytes)+"end"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tailFile(path); len(got) != logTailBytes || !strings.HasSuffix(got, "end") {
		t.Errorf("%d bytes, ends %q", len(got), got[len(got)-5:])
	}
	if got := tailFile(path + ".none"); !strings.Contains(got, "no log") {
		t.Errorf("%q", got)
	}
}

func TestFreePortsDiffer(t *testing.T) {
	ports, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, p := range ports {
		if seen[p] || p < lowestPort || p >= highestPort {
			t.Errorf("port %d", p)
		}
		seen[p] = true
	}
}
