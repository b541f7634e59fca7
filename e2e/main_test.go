//go:build e2e

// Package e2e runs the product and its suites against a real Ironic.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// binary is the product, built once for all tests.
var binary string

// built runs the tests with the binary there.
type built struct{ *testing.M }

func (b built) Run() int {
	dir, err := os.MkdirTemp("", "e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "ironic-throttle")
	out, err := exec.Command("go", "build", "-o", binary, "github.com/ironic-throttle/ironic-throttle/cmd/ironic-throttle").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return b.M.Run()
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(built{m}) }
