package fakeironic

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const s, m = time.Second, time.Minute

var t0 = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// newWorld is a world of one node in which nothing is left to chance.
func newWorld(t *testing.T, change func(*Options)) *World {
	t.Helper()
	o := DefaultOptions()
	one := func(d time.Duration) Span { return Span{Min: d, Max: d} }
	o.Durations = Durations{
		Verify: one(2 * s), Prepare: one(10 * s), Boot: one(3 * m), Handover: one(s), InspectRun: one(m), CleanRun: one(2 * m),
		DeployRun: one(5 * m), FinalReboot: one(30 * s), TearDown: one(20 * s), Unrescue: one(40 * s), Service: one(m),
		Heartbeat: one(m), Callback: 30 * m,
	}
	o.Fates.CleanReboot, o.Conductors, o.Fleet.Nodes = 0, 1, 1
	if change != nil {
		change(&o)
	}
	w, err := NewWorld(o, t0)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// storm is a world in which all nodes begin to deploy at t0.
func storm(t *testing.T, nodes int, overload Overload) (*World, []string) {
	t.Helper()
	w := newWorld(t, func(o *Options) { o.Fleet.Nodes, o.Overload = nodes, overload })
	for _, id := range w.Idents() {
		put(t, w, 0, id, ironic.TargetActive)
	}
	return w, w.Idents()
}

func put(t *testing.T, w *World, after time.Duration, ident string, target ironic.Target) {
	t.Helper()
	if status, text := w.SetProvision(t0.Add(after), ident, target); status != 202 {
		t.Fatalf("PUT %s: %d %s", target, status, text)
	}
}

func see(t *testing.T, w *World, after time.Duration, ident string) ironic.Node {
	t.Helper()
	n, ok := w.Node(t0.Add(after), ident)
	if !ok {
		t.Fatalf("node %s is gone", ident)
	}
	return n
}

// look is what a client sees of a node at a time.
type look struct {
	after time.Duration
	state ironic.State
	agent bool
}

// watch looks at a node at times after begin.
func watch(t *testing.T, w *World, ident string, begin time.Duration, want ...look) {
	t.Helper()
	for _, l := range want {
		if n := see(t, w, begin+l.after, ident); n.State != l.state || n.AgentURL != l.agent {
			t.Errorf("after %v: %s, agent %v; want %s, %v", l.after, n.State, n.AgentURL, l.state, l.agent)
		}
	}
}

func befall(t *testing.T, w *World, after time.Duration, ident string, f Fate) {
	t.Helper()
	if err := w.Befall(t0.Add(after), ident, f); err != nil {
		t.Fatal(err)
	}
}
