//go:build e2e

package e2e

import (
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
)

// startIronic starts a real one; it ends with the test.
func startIronic(tb testing.TB, o realironic.Options) *realironic.Ironic {
	tb.Helper()
	i, err := realironic.Start(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(i.Stop)
	return i
}
