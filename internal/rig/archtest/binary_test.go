package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTheProgramIsSmall holds the stripped product below 36 MB: a library that keeps every method of every other one, as
// html/template does, brings 9 at once.
func TestTheProgramIsSmall(t *testing.T) {
	program := filepath.Join(t.TempDir(), "ironic-throttle")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", program, "./cmd/ironic-throttle")
	build.Dir, build.Env = "../../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if size := info.Size(); size > 36_000_000 {
		t.Errorf("%d bytes", size)
	}
}
