package admission_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Everybody calls everything at once: one lock guards the ledger, the queues, the breakers and the
// holds, which have none of their own. The race detector judges, and the counts agree.
func TestLH6_EverybodyCallsEverythingAtOnce(t *testing.T) {
	const limit, hosts, rounds = 3, 12, 60
	cfg := admission.DefaultConfig()
	c, now := settled(t, limit, whole(3), func(c *admission.Config) {
		c.Holdoff.Timeout, c.HoldsKnown = time.Hour, true
		c.MaxFailed = quotaOf(t, "90%")
		c.Notify = func(n []slots.Notice) { _ = fmt.Sprint(n) }
		c.NotifyFailures = func(n []admission.FailureNotice) { _ = fmt.Sprint(n) }
	})
	states := []ironic.State{ironic.Available, ironic.Deploying, ironic.DeployFailed, ironic.Active, ironic.Inspecting}
	node := func(rng *rand.Rand) ironic.Node {
		i := rng.IntN(hosts)
		return ironic.Node{
			UUID: uuid(i), Name: fmt.Sprintf("metal3~host-%d", i), State: states[rng.IntN(len(states))],
			ProvisionUpdatedAt: fmt.Sprint(rng.Uint64()), LastError: "it broke",
		}
	}
	calls := []func(rng *rand.Rand){
		func(rng *rand.Rand) { c.IsReady(now, by(rng.IntN(hosts), api.OpProvision)) },
		func(rng *rand.Rand) {
			ask := by(rng.IntN(hosts), api.OpInspect)
			ask.DryRun = true
			c.IsReady(now, ask)
		},
		func(rng *rand.Rand) {
			if _, pass := c.Forward(now, by(rng.IntN(hosts), ""), ironic.TargetActive); pass != nil {
				pass.Sent(now)
				pass.Answered(now, 202)
			}
		},
		func(rng *rand.Rand) { look(c, now, node(rng)) },
		func(rng *rand.Rand) {
			n := node(rng)
			c.ObserveNode(now, ironic.NodeObservation{Key: n.UUID, Mark: c.Begin(now), Found: true, Node: n})
		},
		func(*rand.Rand) { c.Vacancy(now) },
		func(*rand.Rand) {
			_ = fmt.Sprint(c.Status(now), c.Queue(now, 5), c.Holds(now), c.Breakers(now), c.Why(now, "metal3", "host-1"))
		},
		func(*rand.Rand) { _, _ = c.TripBreaker(now, "ironic", time.Minute) },
		func(*rand.Rand) { _, _ = c.ResetBreaker(now, "ironic") },
		func(rng *rand.Rand) { _, _ = c.ReleaseHold(now, "metal3", fmt.Sprintf("host-%d", rng.IntN(hosts)), "") },
		func(*rand.Rand) { c.SavedHolds(c.UnsavedHolds(now)) },
		func(*rand.Rand) {
			limits := cfg.Slots.Limits
			limits.Total, limits.StuckCap = limit, 0
			if err := c.Reconfigure(now, limits, cfg.Turns); err != nil {
				t.Error(err)
			}
		},
		func(rng *rand.Rand) {
			c.HostGone(now, admission.Host{Namespace: "metal3", Name: fmt.Sprintf("host-%d", rng.IntN(hosts))})
		},
	}
	var all sync.WaitGroup
	for n, call := range calls {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			for range rounds {
				call(rng)
			}
		})
	}
	all.Wait()
	s := c.Status(now)
	counted := 0
	for _, o := range s.Slots.Occupants {
		if o.Counted {
			counted++
		}
	}
	if s.Slots.Total.Occupied != counted {
		t.Errorf("%d slots are occupied, and %d hosts hold one", s.Slots.Total.Occupied, counted)
	}
	if err := c.Start(now, nil, true, sizing.State{}); err != nil {
		t.Error(err)
	}
}
