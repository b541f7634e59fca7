//go:build e2e

package e2e

import (
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// ramdisk makes a node whose work waits for its agent, and so lasts as long as a test wants.
const ramdisk = `,"deploy_interface":"custom-agent"`

// call lets the agent of a waiting host call in, and holds the work there until it is released.
func (s *site) call(host string, state ironic.State) *fakeAgent {
	s.Helper()
	n := s.await(host, state)
	out := "" // the lock outlives the work a little
	await(s.T, "unlocked node", func() bool {
		out = sql(s.T, s.ironic, "SELECT reservation IS NULL FROM nodes WHERE name = '"+key(host)+"';")
		return out == "1\n"
	}, func() string { return out })
	agent := s.startAgent(n.UUID)
	s.awaitNode(host, "an agent", func(n ironic.Node) bool { return n.AgentURL })
	return agent
}

// clean brings a manageable host to clean wait.
func (s *site) clean(host string) {
	s.Helper()
	s.put(host, ironic.TargetProvide)
	s.await(host, ironic.CleanWait)
}

// TestSlotsFollowTheWorkOfARealIronic drives hosts through all that a conductor and agents make of them, after a yes
// and without one, and kills the throttle among them: the slots are right at each step.
func TestSlotsFollowTheWorkOfARealIronic(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"inspect_delay": "6"})
	for _, host := range []string{"host-1", "host-2", "host-3"} {
		s.create(host, ramdisk)
	}
	// Busy nodes are adopted for LEASE_TTL after the start; settling and the inspection take longer, so that the
	// stranger below is none of these.
	s.serve("MAX_CONCURRENT_PROVISIONING_HOSTS=1", "IRONIC_THROTTLE_LINGER=8s", "IRONIC_THROTTLE_LEASE_TTL=12s")

	// An inspection: yes, work, goal.
	s.says("host-1", api.OpInspect, api.ReasonGranted)
	s.shows("host-1 granted")
	s.says("host-2", api.OpInspect, api.ReasonFull)
	s.put("host-1", ironic.TargetInspect)
	s.shows("host-1 granted busy")
	s.await("host-1", ironic.Manageable)
	s.shows()

	// A provisioning: two pieces of work on one slot.
	s.says("host-1", api.OpProvision, api.ReasonGranted, api.ReasonTurn) // host-2 was first, and asks no more
	s.clean("host-1")
	s.shows("host-1 granted busy") // no agent yet
	agent := s.call("host-1", ironic.CleanWait)
	s.says("host-2", api.OpProvision, api.ReasonFull)
	agent.Release()
	s.await("host-1", ironic.Available)
	s.shows("host-1 granted")
	s.says("host-1", api.OpProvision, api.ReasonHeldSlot)
	agent.Stop()
	s.put("host-1", ironic.TargetActive)
	s.shows("host-1 granted busy")
	agent = s.call("host-1", ironic.DeployWait)

	// Somebody starts another host without asking: it counts once its agent calls, and holds the door closed after
	// host-1 is done.
	s.clean("host-2")
	s.shows("host-1 granted busy", "host-2 booting busy")
	stranger := s.call("host-2", ironic.CleanWait)
	s.shows("host-1 granted busy", "host-2 foreign busy")
	agent.Release()
	s.await("host-1", ironic.Active)
	s.shows("host-2 foreign busy")
	s.says("host-1", api.OpProvision, api.ReasonDone)
	s.says("host-1", api.OpDeprovision, api.ReasonFull)

	// kill -9, and a start among busy hosts: all of them are found before the first yes, with an agent or without.
	s.clean("host-3")
	s.throttle.Kill()
	s.serve("MAX_CONCURRENT_PROVISIONING_HOSTS=2")
	s.shows("host-2 adopted busy", "host-3 adopted busy")
	s.says("host-3", api.OpProvision, api.ReasonHeldSlot)
	s.says("host-1", api.OpDeprovision, api.ReasonFull)
	stranger.Release()
	s.await("host-2", ironic.Available)
	s.says("host-1", api.OpDeprovision, api.ReasonGranted, api.ReasonFull)

	// A yes that was acted on survives; an abort ends a slot.
	s.put("host-1", ironic.TargetDeleted)
	agent = s.call("host-1", ironic.CleanWait)
	s.throttle.Kill()
	s.serve("MAX_CONCURRENT_PROVISIONING_HOSTS=2")
	s.shows("host-1 adopted busy", "host-3 adopted busy")
	s.put("host-3", ironic.TargetAbort)
	s.shows("host-1 adopted busy")
	agent.Release()
	s.await("host-1", ironic.Available)
	s.shows()
}
