package ironic_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const (
	mutatorPoll = 5 * time.Second
	mutatorAge  = 30 * time.Second // MAX_AGE
)

// busyView keeps what a Poller shows as the ledger does: who was busy and is in no list
// is asked for, and a poll that needed no lists changes nothing.
type busyView struct {
	seq   uint64
	busy  map[string]ironic.State
	waits bool
}

func (v *busyView) Begin(now time.Time) ironic.Mark {
	v.seq++
	return ironic.Mark{Seq: v.seq, At: now}
}

func (v *busyView) Waits(time.Time) bool { return v.waits }

func (v *busyView) Whole(time.Time) bool { return false }

func (v *busyView) Missing(_ time.Time, nodes []ironic.Node) (keys []string) {
	listed := map[string]bool{}
	for _, n := range nodes {
		listed[n.UUID] = true
	}
	for uuid := range v.busy {
		if !listed[uuid] {
			keys = append(keys, uuid)
		}
	}
	return keys
}

func (v *busyView) Wanted(time.Time) []string { return nil }

func (v *busyView) Observe(_ time.Time, observed ironic.Observation) {
	if observed.Unchanged {
		return
	}
	v.busy = map[string]ironic.State{}
	for _, n := range observed.Nodes {
		if n.State.Busy() {
			v.busy[n.UUID] = n.State
		}
	}
	for _, s := range observed.Fetched {
		if s.Found && s.Node.State.Busy() {
			v.busy[s.Key] = s.Node.State
		}
	}
}

func (v *busyView) PollFailed(time.Time, error) {}

// mutator is an Ironic that changes at random, and what it really is.
type mutator struct {
	t       *rapid.T
	now     time.Time
	world   *fakeironic.World
	server  http.RoundTripper
	view    *busyView
	poller  *ironic.Poller
	made    int
	calm    bool
	touched map[string]bool      // changed during this poll
	gone    map[string]time.Time // when nodes that are busy in the view were deleted
}

var mutatorStates = []ironic.State{
	ironic.Deleting, ironic.Cleaning, ironic.CleanWait, ironic.Inspecting, ironic.InspectWait, ironic.Deploying, ironic.DeployWait,
	ironic.Rescuing, ironic.RescueWait, ironic.Unrescuing, ironic.Available, ironic.Available, ironic.Active, ironic.DeployFailed, ironic.Manageable,
}

// RoundTrip implements http.RoundTripper: now and then something happens before it.
func (m *mutator) RoundTrip(r *http.Request) (*http.Response, error) {
	if !m.calm && rapid.IntRange(0, 15).Draw(m.t, "in the middle") == 0 {
		m.change()
	}
	return m.server.RoundTrip(r)
}

func (m *mutator) pick() string {
	ids := m.world.Idents()
	if len(ids) == 0 {
		return ""
	}
	return ids[rapid.IntRange(0, len(ids)-1).Draw(m.t, "node")]
}

// change does one thing to Ironic.
func (m *mutator) change() {
	m.now = m.now.Add(7 * time.Millisecond) // nothing changes twice at the same instant
	id := m.pick()
	switch what := rapid.IntRange(0, 12).Draw(m.t, "change"); {
	case what == 0:
		m.made++
		if _, err := m.world.CreateNode(m.now, fakeironic.NodeSpec{Name: fmt.Sprint("new-", m.made)}); err != nil {
			m.t.Fatal(err)
		}
	case id == "":
	case what == 1: // deleted, whatever it is at
		if err := m.world.SetState(m.now, id, ironic.Available, false); err != nil {
			m.t.Fatal(err)
		}
		m.touched[id] = true
		if status, text := m.world.DeleteNode(m.now, id); status == 204 {
			m.gone[id] = m.now
		} else {
			m.t.Logf("deletion: %d %s", status, text)
		}
	case what < 4: // real work, with heartbeats
		m.touched[id] = true
		m.world.SetProvision(m.now, id, rapid.SampledFrom([]ironic.Target{ironic.TargetActive, ironic.TargetDeleted, ironic.TargetInspect, ironic.TargetManage}).Draw(m.t, "target"))
	default:
		m.touched[id] = true
		if err := m.world.SetState(m.now, id, rapid.SampledFrom(mutatorStates).Draw(m.t, "state"), rapid.Bool().Draw(m.t, "agent")); err != nil {
			m.t.Fatal(err)
		}
	}
}

// truth is the naive model: all nodes, listed anew.
func (m *mutator) truth() map[string]ironic.State {
	all := map[string]ironic.State{}
	for _, id := range m.world.Idents() {
		if n, ok := m.world.Node(m.now, id); ok && n.State.Busy() {
			all[id] = n.State
		}
	}
	return all
}

// check holds after a poll that the view differs from the truth in nothing but what
// changed while the poll was under way, and in nodes deleted less than MAX_AGE ago.
func (m *mutator) check(before map[string]ironic.State) {
	truth := m.truth()
	for id := range mergedKeys(truth, m.view.busy) {
		if m.touched[id] || truth[id] == m.view.busy[id] || before[id] == m.view.busy[id] && before[id] != truth[id] {
			continue
		}
		if at, deleted := m.gone[id]; deleted && m.now.Sub(at) < mutatorAge {
			continue
		}
		m.t.Fatalf("%s is %q, the view says %q", id, truth[id], m.view.busy[id])
	}
}

func mergedKeys(a, b map[string]ironic.State) map[string]ironic.State {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// TestGC9_theViewUnderChange holds the busy view against the naive one: it is never
// behind for longer than one poll, deletions never longer than MAX_AGE, whatever the
// clocks of the conductors, the resolution of the stamps and the place of those that
// have none; and the probe does save lists.
func TestGC9_theViewUnderChange(t *testing.T) {
	var polls, unchanged uint64
	rapid.Check(t, func(t *rapid.T) {
		o := fakeironic.DefaultOptions()
		o.Seed = rapid.Uint64().Draw(t, "seed")
		o.Fleet.Nodes = rapid.IntRange(0, 60).Draw(t, "nodes")
		o.API.MaxLimit = rapid.SampledFrom([]int{3, 20, 1000}).Draw(t, "max limit")
		o.ConductorSkew = time.Duration(rapid.SampledFrom([]int{0, 1, 90}).Draw(t, "skew")) * time.Second
		m := &mutator{
			t: t, now: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC), view: &busyView{},
			touched: map[string]bool{}, gone: map[string]time.Time{},
		}
		var err error
		if m.world, err = fakeironic.NewWorld(o, m.now); err != nil {
			t.Fatal(err)
		}
		m.server = fakeironic.NewServer(m.world, func() time.Time { return m.now }).Transport()
		client, err := ironic.NewClient(ironic.Settings{Endpoint: "http://ironic.test", Transport: m})
		if err != nil {
			t.Fatal(err)
		}
		if m.poller, err = ironic.NewPoller(client, m.view, ironic.PollerOptions{
			AtOnce: 1, Interval: mutatorPoll, MaxAge: mutatorAge, Now: func() time.Time { return m.now },
			Changes: func(time.Time) bool { return rapid.IntRange(0, 9).Draw(t, "reads changes") == 0 },
		}); err != nil {
			t.Fatal(err)
		}
		storm := rapid.SampledFrom([]int{0, 1, 1, 2, 6}).Draw(t, "changes a poll")
		busy := rapid.IntRange(1, 20).Draw(t, "polls")
		for i := range busy + 15 {
			if i == busy { // a calm end
				storm, m.calm = 0, true
				m.now = m.now.Add(3 * time.Minute)
			}
			for range rapid.IntRange(0, storm).Draw(t, "changes") {
				m.now = m.now.Add(time.Duration(rapid.IntRange(0, 900).Draw(t, "gap")) * time.Millisecond)
				m.change()
			}
			m.now = m.now.Add(time.Duration(rapid.IntRange(4500, 5500).Draw(t, "pause")) * time.Millisecond)
			m.view.waits = rapid.IntRange(0, 19).Draw(t, "somebody waits") == 0
			clear(m.touched)
			before := m.truth() // work goes on by itself, too
			if err := m.poller.PollOnce(context.Background()); err != nil {
				continue // the marker was deleted twice: the view keeps what it has
			}
			m.check(before)
		}
		s := m.poller.Stats()
		polls, unchanged = polls+s.Complete, unchanged+s.Unchanged
		if l := s.Listed; s.Unchanged+l.Cold+l.Event+l.Age+l.Probe != s.Complete { // GC-16
			t.Fatalf("%d polls, of which %d found nothing changed and %+v read the lists", s.Complete, s.Unchanged, l)
		}
	})
	t.Logf("%d polls, %d without lists", polls, unchanged)
	if unchanged*10 < polls {
		t.Errorf("the probe saved the lists of %d polls in %d only", unchanged, polls)
	}
}
