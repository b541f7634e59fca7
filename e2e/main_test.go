//go:build e2e

// Package e2e runs the product and its suites against a real Ironic.
package e2e

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
