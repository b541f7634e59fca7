//go:build linux

package attack

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

var (
	lasts = flag.Duration("attack.for", 0, "how long the attack lasts; 0 = no attack")
	slow  = flag.Int("attack.slow", 1500, "connections with bodies that do not come")
	idle  = flag.Int("attack.idle", 400, "connections to each listener on which nothing is said")
)

// most is what the manifests in deploy/ allow the process, in MiB.
const most = 384

// TestMemoryIsBoundedUnderAttack runs everything at once that has made the process large:
// invented hosts that ask, some with fields as long as they may be, bodies that do not
// come, connections on which nothing is said, and an Ironic that answers with lists
// without an end and with gzip bombs. Real hosts work all the while.
func TestMemoryIsBoundedUnderAttack(t *testing.T) {
	if *lasts == 0 {
		t.Skip("it takes all of the machine: make attack")
	}
	const nodes, limit, hosts = 2000, 6, 12
	product, lab := programs(t)
	var ironic struct{ API string }
	child.Serve(t, child.Command{Name: lab, Args: []string{
		"fake-ironic", "--listen", "127.0.0.1:0", "--nodes", strconv.Itoa(nodes), "--namespaces", "3", "--speed", "1200",
	}}, &ironic)
	front := newFront(t, strings.TrimSuffix(ironic.API, "/v1"))
	p := child.ServeThrottle(t, product,
		fmt.Sprintf("GOMEMLIMIT=%dMiB", most*9/10), // as the process sets it from its control group
		"IRONIC_ENDPOINT="+front.URL, "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=127.0.0.1:0",
		"MAX_CONCURRENT_PROVISIONING_HOSTS="+strconv.Itoa(limit),
		"IRONIC_THROTTLE_LINGER=1s", "IRONIC_THROTTLE_POLL_INTERVAL=1s",
		"IRONIC_THROTTLE_LEASE_TTL=4s",
	)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	fleet := newFleet(t, p.At.API, p.At.Gateway, ironic.API, hosts)
	fleet.work(ctx, &all)
	child.Await(t, 50*time.Millisecond, 5*time.Minute, "slot for every real host before the attack",
		func() bool { return least(fleet.counts()) > 0 }, fleet.String)
	calm, err := p.Memory()
	if err != nil {
		t.Fatal(err)
	}
	before := fleet.counts()

	begun := time.Now()
	a := attackers{ctx: ctx, all: &all}
	a.names(hostOf(t, p.At.API))
	a.bodies(hostOf(t, p.At.Gateway), fleet.hosts[0].UUID, *slow)
	a.idle(*idle, hostOf(t, p.At.API), hostOf(t, p.At.Gateway), hostOf(t, p.At.Health), hostOf(t, p.At.Metrics))
	all.Go(func() { front.turn(ctx) })
	for time.Since(begun) < *lasts {
		wait(ctx, min(time.Minute, *lasts))
		if !p.Running() {
			t.Fatalf("the process has ended: %v\n%s", p.Err(), p.Log.Tail())
		}
		m, _ := p.Memory()
		t.Logf("%.0f s: %s; %s; %s", time.Since(begun).Seconds(), m, &a, fleet)
	}
	// In the midst of it, hosts still get slots.
	child.Await(t, 50*time.Millisecond, 10*time.Minute, "slot for every real host during the attack", func() bool {
		for i, n := range fleet.counts() {
			if n <= before[i] {
				return false
			}
		}
		return p.Running()
	}, fleet.String)
	m, err := p.Memory()
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Log.Tail())
	}
	stop()
	all.Wait()
	t.Logf("attacked for %.0f s: %s, %.0f before; %s; %s", time.Since(begun).Seconds(), m, calm.Now, &a, fleet)
	if m.Most > most {
		t.Errorf("%.0f MiB resident at most, want at most %d", m.Most, most)
	}
	if bad, all := fleet.unanswered.Load(), fleet.asks.Load(); bad > all/10 {
		t.Errorf("%d of %d asks of real hosts were not answered", bad, all)
	}
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		t.Fatalf("%q: %v", address, err)
	}
	return u.Host
}

// wait is a pause that ends with ctx; false then.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
