//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// holder is what the status says of a host that is shown there.
type holder struct {
	Kind    string
	Busy    bool
	Counted bool
}

// Who is shown, and how.
var (
	yesSaid  = holder{Kind: "granted", Counted: true}
	working  = holder{Kind: "granted", Busy: true, Counted: true}
	adopted  = holder{Kind: "adopted", Busy: true, Counted: true}
	foreign  = holder{Kind: "foreign", Busy: true, Counted: true}
	booting  = holder{Kind: "booting", Busy: true}
	atRest   = holder{Kind: "granted", Counted: true} // between two phases
	nobody   = map[string]holder{}
	inOneGo  = map[string]map[string]string{"fake": {"inspect_delay": "6"}}
	limitOne = "MAX_CONCURRENT_PROVISIONING_HOSTS=1"
)

// holders is the whole list of a status, by host.
func holders(st api.Status) map[string]holder {
	all := map[string]holder{}
	for _, o := range st.Slots.Occupants {
		all[o.Name] = holder{o.Kind, o.Busy, o.Counted}
	}
	return all
}

// shows waits until the status shows these hosts and no others, and compares
// the number of slots with them.
func (s *throttle) shows(want map[string]holder) {
	s.Helper()
	named := map[string]holder{}
	counted := 0
	for host, h := range want {
		named[key(host)] = h
		if h.Counted {
			counted++
		}
	}
	st := s.awaitStatus(fmt.Sprint(named), func(st api.Status) bool { return cmp.Equal(named, holders(st)) })
	if st.Slots.Total.Occupied != counted {
		s.Errorf("slots %+v with %v", st.Slots.Total, named)
	}
}

// TestThrottleFollowsHosts drives hosts through real state changes, after a yes
// and without one, and looks at the slots at each step.
func TestThrottleFollowsHosts(t *testing.T) {
	t.Parallel()
	l := newLab(t, realironic.Options{Settings: inOneGo})
	l.create("host-1", ramdisk)
	l.create("host-2", ramdisk)
	// Busy nodes are adopted for LEASE_TTL after the start; settling and the
	// inspection take longer, so the stranger below is none of these.
	s := serveThrottle(t, settings(l.ironic.URL, limitOne,
		"IRONIC_THROTTLE_LINGER=8s", "IRONIC_THROTTLE_LEASE_TTL=12s"))

	// An inspection: yes, busy, goal.
	s.comesToSay("host-1", api.OpInspect, api.ReasonGranted, api.ReasonStarting)
	s.shows(map[string]holder{"host-1": yesSaid})
	s.says("host-1", api.OpInspect, api.ReasonHeldSlot)
	s.says("host-2", api.OpInspect, api.ReasonFull)
	l.put("host-1", ironic.TargetInspect)
	s.shows(map[string]holder{"host-1": working})
	l.await("host-1", ironic.Manageable)
	s.shows(nobody)

	// A provisioning: two pieces of work on one slot.
	s.comesToSay("host-1", api.OpProvision, api.ReasonGranted, api.ReasonTurn) // host-2 was first, and asks no more
	l.clean("host-1")
	s.shows(map[string]holder{"host-1": working}) // no agent yet
	agent := l.call("host-1", ironic.CleanWait)
	s.says("host-2", api.OpProvision, api.ReasonFull)
	agent.Release()
	l.await("host-1", ironic.Available)
	s.shows(map[string]holder{"host-1": atRest})
	s.says("host-1", api.OpProvision, api.ReasonHeldSlot)
	agent.Stop()
	l.put("host-1", ironic.TargetActive)
	s.shows(map[string]holder{"host-1": working})
	agent = l.call("host-1", ironic.DeployWait)

	// Somebody starts another host without asking: it counts once its agent
	// calls, and holds the door closed after host-1 is done.
	l.clean("host-2")
	s.shows(map[string]holder{"host-1": working, "host-2": booting})
	stranger := l.call("host-2", ironic.CleanWait)
	s.shows(map[string]holder{"host-1": working, "host-2": foreign})
	agent.Release()
	n := l.await("host-1", ironic.Active)
	s.shows(map[string]holder{"host-2": foreign})
	s.says("host-1", api.OpProvision, api.ReasonDone, "--node-uuid", n.UUID)
	s.says("host-1", api.OpDeprovision, api.ReasonFull)
	stranger.Release()
	l.await("host-2", ironic.Available)
	s.shows(nobody)

	// And back.
	s.says("host-1", api.OpDeprovision, api.ReasonGranted)
	l.put("host-1", ironic.TargetDeleted)
	agent = l.call("host-1", ironic.CleanWait)
	s.shows(map[string]holder{"host-1": working})
	agent.Release()
	l.await("host-1", ironic.Available)
	s.shows(nobody)
	if got := s.status().Totals; got.Granted != 3 || got.Finished != 4 || got.Foreign != 1 || got.Expired != 0 {
		t.Errorf("totals %+v, want 3 granted, 4 finished, 1 foreign", got)
	}
	s.stop()
}
