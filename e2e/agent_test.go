//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// awaitNode looks at a node until done, with a bound.
func awaitNode(t *testing.T, client *ironic.Client, key, what string, done func(ironic.Node) bool) (n ironic.Node) {
	t.Helper()
	poll(t, what, func() bool {
		var err error
		if n, _, err = client.Node(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		return done(n)
	}, func() string { return fmt.Sprintf("%+v", n) })
	return n
}

// awaitUnlocked waits for the end of the lock, which outlives the work a little.
func awaitUnlocked(t *testing.T, i *realironic.Ironic, name string) {
	t.Helper()
	out := ""
	poll(t, "an unlocked node", func() bool {
		var err error
		if out, err = i.SQL(t.Context(), "SELECT reservation IS NULL FROM nodes WHERE name = '"+name+"';"); err != nil {
			t.Fatal(err)
		}
		return out == "1\n"
	}, func() string { return out })
}

// poll asks until done says yes, for a minute at most.
func poll(tb testing.TB, what string, done func() bool, last func() string) {
	tb.Helper()
	child.Await(tb, 50*time.Millisecond, time.Minute, what, done, last)
}
