//go:build e2e

// Package e2e runs the product and its suites against a real Ironic.
package e2e

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// binary is the product and labBinary ironic-throttle-lab, built once for all tests.
var binary, labBinary string

// built runs the tests with the binary there.
type built struct{ *testing.M }

func (b built) Run() int {
	program, remove, err := child.BuildProduct()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	binary = program
	program, removeLab, err := child.BuildLab()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer removeLab()
	labBinary = program
	return b.M.Run()
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(built{m}) }
