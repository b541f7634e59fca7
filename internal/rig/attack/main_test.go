//go:build linux

package attack

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// programs builds the product and ironic-throttle-lab.
func programs(t *testing.T) (product, lab string) {
	t.Helper()
	product, remove, err := child.Build("ironic-throttle")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	if lab, remove, err = child.Build("ironic-throttle-lab"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	return product, lab
}
