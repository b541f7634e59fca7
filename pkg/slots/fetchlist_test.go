package slots

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// More hosts wait than can be fetched before they ask again. Each is on the list once, so that
// the list stays as long as the queue, and who comes new has its turn after those before it.
func TestLH16_AHostIsOnTheFetchListOnce(t *testing.T) {
	const hosts, every, gap = 1000, 5 * time.Second, 18 // each asks at every 18th poll
	cfg := DefaultConfig()
	cfg.Total, cfg.StuckCap = 1, 0
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	l, err := New(cfg, now)
	if err != nil {
		t.Fatal(err)
	}
	id := func(i int) ID { return ID{UUID: fmt.Sprintf("00000000-0000-0000-0000-%012d", i)} }
	ask := func(i int) {
		v := l.Check(now, Ask{ID: id(i), Op: api.OpProvision, Exists: true})
		l.Commit(now, v)
	}
	poll := func() (fetched []string) {
		now = now.Add(every)
		look := ironic.Observation{Mark: l.Begin(now)}
		fetched = l.Wanted(now)
		for _, key := range fetched {
			look.Fetched = append(look.Fetched, ironic.NodeObservation{
				Key: key, Mark: look.Mark, Found: true, Node: ironic.Node{UUID: key, State: ironic.Available},
			})
		}
		l.Observe(now, look)
		return fetched
	}
	for range 20 {
		poll() // it settles
	}
	for n := range 720 { // an hour
		for i := n % gap; i < hosts; i += gap {
			ask(i)
		}
		poll()
		if len(l.fetches) > hosts {
			t.Fatalf("%d entries of %d hosts after %d polls", len(l.fetches), hosts, n)
		}
	}
	ask(hosts)
	for n := 0; ; n++ {
		if n > hosts/maxWanted {
			t.Fatalf("the newcomer is not fetched within %d polls", n)
		}
		if slices.Contains(poll(), id(hosts).UUID) {
			break
		}
	}
}
