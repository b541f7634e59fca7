//go:build linux

package demo

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
)

var (
	holdKills = flag.Int("kill.holds", 3, "how often the throttle is killed while hosts are held")
	holdSeed  = flag.Uint64("kill.seed", 16, "decides when")
)

// holdFor is the least FAILED_HOST_HOLDOFF, in real time: longer than most lives of the
// throttle. On a busy machine it is startups starts of the program.
const (
	holdFor  = 5 * time.Second
	startups = 10
)

// TestKillHolds: kill -9 at random moments while all deployments fail. The throttle
// is the real program with the holds in a file. The file is readable after each kill, no
// hold that was ever shown gets shorter, and no host begins to work before its hold is
// over.
func TestKillHolds(t *testing.T) {
	t.Parallel()
	o := DefaultOptions()
	o.Hosts, o.Limit, o.Speed, o.Failing = 12, 4, maxSpeed, 0
	k, watch := newHoldStorm(t, o)
	defer k.end()
	look, end := context.WithCancel(k.ctx)
	var looking sync.WaitGroup
	looking.Go(func() { watch.look(look, k) })
	defer looking.Wait()
	defer end()

	child := k.start()
	k.config.Holdoff.Timeout = max(holdFor, startups*k.listens(child))
	k.kill(child)
	child = k.start()
	k.begin()
	k.liveTo(child, 4, func() int { return watch.count().shown })
	draw := rand.New(rand.NewPCG(*holdSeed, 0))
	for range *holdKills {
		k.liveUntil(child, moment{after: time.Duration(draw.Int64N(int64(5*k.config.Leases.StartupSettle) / 2))})
		k.kill(child)
		k.readable()
		child = k.start()
	}
	last := watch.count().kept
	k.liveTo(child, last+3, func() int { return watch.count().kept })
	end()
	looking.Wait()
	if c := watch.count(); c.carried == 0 || c.broken > 0 {
		t.Errorf("%d episodes were shown by more than one process, %d promises broken: want 1 or more and 0", c.carried, c.broken)
	} else {
		t.Logf("%d kills; %d episodes shown, %d of them by more than one process; %d works begun after a hold, none before its end; %s",
			*holdKills, c.shown, c.carried, c.kept, time.Since(k.tale.since).Round(time.Millisecond))
	}
}

// newHoldStorm is a storm in which no deployment goes well and the operator never gives
// up.
func newHoldStorm(t *testing.T, o Options) (*killStorm, *promises) {
	k := newKillStorm(t, o, buildThrottle(t))
	k.tale.orphan = func(string) {}
	c := &k.config
	c.Leases.StartupSettle, c.Leases.Linger = 2*time.Second, 2*time.Second
	c.Holdoff.File = filepath.Join(t.TempDir(), "holds")
	c.Breaker.Enabled = false // it would end the storm
	watch := newPromises(k.tale)
	operator := operatorOptions(o, k.fleet)
	operator.MaxProvisioningRetries = 0
	way := &promisedPuts{k.way(o.Workers), watch}
	if err := k.newOperator(k.url, operator, way, func(*bmo.Client) bmo.Capacity {
		return bmo.Throttle(asker{k.asker, k.tale})
	}); err != nil {
		t.Fatal(err)
	}
	k.ironic.With(func(now time.Time, w *fakeironic.World) {
		if err := w.SetDefects(now, fakeironic.Defect{Kind: fakeironic.DefectImage}); err != nil {
			t.Error(err)
		}
	})
	return k, watch
}

// listens waits until c listens and returns how long that took.
func (k *killStorm) listens(c *life) time.Duration {
	k.t.Helper()
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	var still lull
	for !c.listens() {
		k.goesOn(&still, "the throttle starts")
		select {
		case <-tick.C:
		case <-c.Done():
			k.t.Fatal("the throttle ended by itself")
		}
	}
	return time.Since(c.began)
}

// liveTo waits until so many are counted.
func (k *killStorm) liveTo(c *life, want int, count func() int) {
	k.t.Helper()
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	var still lull
	for n := count(); n < want; n = count() {
		k.goesOn(&still, n)
		select {
		case <-tick.C:
		case <-c.Done():
			k.t.Fatal("the throttle ended by itself")
		}
	}
}

// readable reads the file as the next process will.
func (k *killStorm) readable() {
	k.t.Helper()
	value, err := os.ReadFile(k.config.Holdoff.File)
	if err != nil {
		k.t.Fatal(err)
	}
	kept, err := store.Unpack(value)
	if err != nil {
		k.t.Errorf("BO-16: the file of the holds cannot be read after a kill: %v", err)
	}
	k.tale.notef("the file has %d holds", len(kept.Records))
}
