package ironic_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// mutatorAge is how long a poll may not see that a node is gone, or what a conductor whose clock is behind has done.
const mutatorAge = 130 * time.Second

// busyView keeps what a Poller shows as the ledger does: rows are observations, and who was busy and is in no list is fetched.
type busyView struct {
	seq  uint64
	busy map[string]ironic.State
}

func (v *busyView) Begin(now time.Time) ironic.Mark {
	v.seq++
	return ironic.Mark{Seq: v.seq, At: now}
}

func (v *busyView) Whole(time.Time) bool { return false }

func (v *busyView) Hurries(time.Time) bool { return false }

func (v *busyView) Fetch(_ time.Time, observed *ironic.Observation) (keys []string) {
	if !observed.Listed {
		return nil
	}
	listed := map[string]bool{}
	for _, n := range observed.Nodes {
		listed[n.UUID] = true
	}
	for uuid := range v.busy {
		if !listed[uuid] {
			keys = append(keys, uuid)
		}
	}
	return keys
}

func (v *busyView) Observe(_ time.Time, observed ironic.Observation) {
	for _, n := range observed.Nodes {
		v.see(n.UUID, n.State)
	}
	for _, s := range observed.Fetched {
		v.see(s.Key, s.Node.State)
	}
}

func (v *busyView) see(uuid string, state ironic.State) {
	delete(v.busy, uuid)
	if state.Busy() {
		v.busy[uuid] = state
	}
}

func (v *busyView) PollFailed(time.Time, error) {}

// mutator is an Ironic that changes at random, and what it really is.
type mutator struct {
	t       *rapid.T
	mu      sync.Mutex // guards now while requests are on their way
	now     time.Time
	world   *fakeironic.World
	server  http.RoundTripper
	view    *busyView
	poller  *ironic.Poller
	made    int
	calm    bool
	skew    bool                 // clocks of conductors are apart
	touched map[string]bool      // changed during this poll
	last    map[string]time.Time // when a node changed last, or was deleted
	gone    map[string]bool
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

// clock is for who asks while a request is on its way.
func (m *mutator) clock() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// change does one thing to Ironic.
func (m *mutator) change() {
	m.mu.Lock()
	m.now = m.now.Add(7 * time.Millisecond) // nothing changes twice at the same instant
	m.mu.Unlock()
	id := m.pick()
	m.last[id] = m.now
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
			m.gone[id] = true
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

// check holds after a poll that the view differs from the truth in nothing but what changed while the poll was under way, in
// nodes deleted two minutes ago, and in what a conductor whose clock is behind did in the last two.
func (m *mutator) check(before map[string]ironic.State) {
	truth := m.truth()
	for id := range mergedKeys(truth, m.view.busy) {
		if m.touched[id] || truth[id] == m.view.busy[id] || before[id] == m.view.busy[id] && before[id] != truth[id] {
			continue
		}
		if (m.gone[id] || m.skew) && m.now.Sub(m.last[id]) < mutatorAge {
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

// TestTheViewUnderChange holds the busy view against the naive one: it is never behind for longer than one poll, deletions and
// clocks that are apart never for longer than two minutes, whatever the resolution of the stamps.
func TestTheViewUnderChange(t *testing.T) {
	polls, listed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		o := fakeironic.DefaultOptions()
		o.Seed = rapid.Uint64().Draw(t, "seed")
		o.Fleet.Nodes = rapid.IntRange(0, 60).Draw(t, "nodes")
		o.API.MaxLimit = rapid.SampledFrom([]int{3, 20, 1000}).Draw(t, "max limit")
		o.ConductorSkew = time.Duration(rapid.SampledFrom([]int{0, 1, 90}).Draw(t, "skew")) * time.Second
		o.WholeSeconds = rapid.Bool().Draw(t, "whole seconds")
		m := &mutator{
			t: t, now: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC), view: &busyView{busy: map[string]ironic.State{}},
			skew: o.ConductorSkew > 0, touched: map[string]bool{}, last: map[string]time.Time{}, gone: map[string]bool{},
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
		if m.poller, err = ironic.NewPoller(client, m.view, ironic.PollerOptions{AtOnce: 1, Now: m.clock}); err != nil {
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
			clear(m.touched)
			before := m.truth() // work goes on by itself, too
			sent := client.Stats().List.Requests
			if err := m.poller.PollOnce(context.Background()); err != nil {
				continue // the marker was deleted twice: the view keeps what it has
			}
			if polls++; client.Stats().List.Requests > sent {
				listed++
			}
			m.check(before)
		}
	})
	t.Logf("%d polls, %d with lists", polls, listed)
	if listed*2 > polls {
		t.Errorf("%d of %d polls read the lists", listed, polls)
	}
}
