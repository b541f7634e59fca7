//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// pollEvery and listsFor are the defaults of POLL_INTERVAL and MAX_AGE.
const pollEvery, listsFor = 5 * time.Second, 30 * time.Second

// watcher polls a real Ironic by a clock of its own, on which the pauses between two
// polls take no time. What requests take does: the Poller goes by it.
type watcher struct {
	*ironic.Poller
	client        *ironic.Client
	seen          countingView
	paused, spent time.Duration
}

func newWatcher(tb testing.TB, i *realironic.Ironic, maxAge time.Duration) *watcher {
	tb.Helper()
	w := &watcher{}
	var err error
	if w.client, err = ironic.NewClient(ironic.Settings{Endpoint: i.URL}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(w.client.Close)
	w.Poller, err = ironic.NewPoller(w.client, &w.seen, ironic.PollerOptions{
		Interval: pollEvery, MaxAge: maxAge, Now: func() time.Time { return time.Now().Add(w.paused) },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

func (w *watcher) poll(tb testing.TB) {
	tb.Helper()
	w.paused += pollEvery
	begun := time.Now()
	if err := w.PollOnce(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	w.spent += time.Since(begun)
}

// told is what so many polls cost in a minute.
func (w *watcher) told(polls int) string {
	perMinute := float64(time.Minute/pollEvery) / float64(polls)
	s := w.client.Stats()
	return fmt.Sprintf("%.0f requests (%.1f probes, %.1f lists), %.0f ms",
		float64(s.Requests())*perMinute, float64(s.Probe.Requests)*perMinute, float64(s.List.Requests)*perMinute,
		float64(w.spent.Milliseconds())*perMinute)
}

// TestGC9_PollsOf5000 holds on a real Ironic with 5,000 nodes what a probe saves while
// nothing changes, and that it costs nothing where hosts at work send heartbeats all the
// time. A poll with the probe and one without take turns.
func TestGC9_PollsOf5000(t *testing.T) {
	i := serveFleet(t, idleNodes, busyNodes)
	t.Run("idle", func(t *testing.T) {
		const polls = 48 // four minutes
		probing, listing := takeTurns(t, i, polls, func(int) {})
		t.Logf("in a minute: %s; with lists at each poll: %s", probing.told(polls), listing.told(polls))
		stats := probing.Stats()
		// The first poll and the one after it read the lists, then those for which they
		// would get too old: each fifth.
		if most := uint64(2 + polls/5 + 1); stats.Complete-stats.Unchanged > most || stats.Listed.Age < 4 {
			t.Errorf("%d of %d polls read the lists, want at most %d: %+v", stats.Complete-stats.Unchanged, polls, most, stats.Listed)
		}
		if ours, theirs := probing.client.Stats().Requests(), listing.client.Stats().Requests(); 3*ours > theirs {
			t.Errorf("%d requests with the probe, %d without: want a third", ours, theirs)
		}
	})
	t.Run("20 with heartbeats", func(t *testing.T) {
		const polls = 48
		// One heartbeat a minute from each host: five in three polls. The idle nodes changed
		// too long ago to be among the newest.
		beat := 0
		probing, listing := takeTurns(t, i, polls, func(poll int) {
			for ; 3*beat < 5*poll; beat++ {
				sql(t, i, fmt.Sprintf(`UPDATE nodes SET provision_updated_at = %s
					WHERE id = (SELECT id FROM nodes WHERE name LIKE 'metal3~busy-%%' ORDER BY id LIMIT 1 OFFSET %d);`, i.Ago("0"), beat%busyNodes))
			}
		})
		t.Logf("in a minute: %s; with lists at each poll: %s", probing.told(polls), listing.told(polls))
		if ours, theirs := probing.client.Stats().Requests(), listing.client.Stats().Requests(); 100*ours > 105*theirs {
			t.Errorf("%d requests with the probe, %d without: it must not cost more", ours, theirs)
		}
	})
}

// takeTurns polls so many times with the probe and with lists alone, each first every
// other time, and calls between before each round.
func takeTurns(t *testing.T, i *realironic.Ironic, polls int, between func(poll int)) (probing, listing *watcher) {
	t.Helper()
	probing, listing = newWatcher(t, i, listsFor), newWatcher(t, i, 0)
	both := []*watcher{probing, listing}
	for n := range polls {
		between(n)
		for k := range both {
			w := both[(n+k)%2]
			w.poll(t)
			if !w.unmovedOrSees(busyNodes) {
				t.Fatalf("poll %d sees %d nodes, want %d", n, w.seen.seen, busyNodes)
			}
		}
	}
	return probing, listing
}

// unmovedOrSees reports whether the last poll showed so many nodes, if it showed any.
func (w *watcher) unmovedOrSees(nodes int) bool {
	return w.seen.seen == nodes || w.seen.seen == 0 && w.Stats().Unchanged > 0
}
