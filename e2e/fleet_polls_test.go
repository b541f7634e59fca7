//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// TestPollsOf5000 holds what polls cost a real Ironic with 5,000 nodes, of which 20 are at work and send heartbeats: a page each
// five seconds, and once a minute the lists of the busy states, by a clock on which the pauses take no time.
func TestPollsOf5000(t *testing.T) {
	const every, minutes = 5 * time.Second, 4
	i := serveFleet(t, idleNodes, busyNodes)
	client, err := ironic.NewClient(ironic.Settings{Endpoint: i.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	seen, paused := &countingView{}, time.Duration(0)
	poller, err := ironic.NewPoller(client, seen, ironic.PollerOptions{Now: func() time.Time { return time.Now().Add(paused) }})
	if err != nil {
		t.Fatal(err)
	}
	spent := time.Duration(0)
	for poll := range minutes * int(time.Minute/every) {
		paused += every
		begun := time.Now()
		if err := poller.PollOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		spent += time.Since(begun)
		if seen.seen < busyNodes {
			t.Fatalf("poll %d sees %d nodes, want at least the %d at work", poll, seen.seen, busyNodes)
		}
	}
	s := client.Stats()
	t.Logf("in a minute: %d requests (%d pages of newest changes, %d of lists), %v", s.Requests()/minutes, s.Newest.Requests/minutes,
		s.List.Requests/minutes, spent/minutes)
	first := uint64(len(ironic.PollOrder(false, true)))
	if most := first + uint64(minutes*len(ironic.BusyStates())); s.List.Requests > most {
		t.Errorf("%d lists in %d minutes, want at most %d", s.List.Requests, minutes, most)
	}
}
