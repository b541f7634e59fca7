package fakeironic

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var t0 = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fixed returns options in which nothing is left to chance.
func fixed(change func(*Options)) Options {
	o := DefaultOptions()
	one := func(d time.Duration) Span { return Span{Min: d, Max: d} }
	o.Durations = Durations{
		Verify: one(2 * time.Second), Adopt: one(2 * time.Second), Prepare: one(10 * time.Second), Boot: one(3 * time.Minute),
		Handover: one(time.Second), InspectRun: one(time.Minute), CleanRun: one(2 * time.Minute), DeployRun: one(5 * time.Minute),
		FinalReboot: one(30 * time.Second), TearDown: one(20 * time.Second), Unrescue: one(40 * time.Second),
		Service: one(time.Minute), Heartbeat: one(time.Minute), Callback: 30 * time.Minute,
	}
	o.Fates.CleanReboot = 0
	o.Conductors = 1
	o.Fleet.Nodes = 1
	if change != nil {
		change(&o)
	}
	return o
}

func newWorld(t *testing.T, o Options) *World {
	t.Helper()
	w, err := NewWorld(o, t0)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func put(t *testing.T, w *World, now time.Time, ident string, target ironic.Target, want int) {
	t.Helper()
	if status, text := w.SetProvision(now, ident, target); status != want {
		t.Fatalf("PUT %s: %d %s, want %d", target, status, text, want)
	}
}

func see(t *testing.T, w *World, now time.Time, ident string) ironic.Node {
	t.Helper()
	n, ok := w.Node(now, ident)
	if !ok {
		t.Fatalf("node %s is gone", ident)
	}
	return n
}
