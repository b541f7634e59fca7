//go:build e2e

package e2e

import (
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// TestThrottleRestarts holds that a throttle that starts among busy hosts, the
// first time or after kill -9, finds them all before its first yes (LH-24).
func TestThrottleRestarts(t *testing.T) {
	t.Parallel()
	l := newLab(t, realironic.Options{})
	for _, host := range []string{"host-1", "host-2", "host-3"} {
		l.create(host, ramdisk)
	}
	l.clean("host-1") // its agent never calls
	l.clean("host-2")
	agent := l.call("host-2", ironic.CleanWait)

	both := map[string]holder{"host-1": adopted, "host-2": adopted}
	s := serveThrottle(t, settings(l.ironic.URL))
	s.comesToSay("host-3", api.OpProvision, api.ReasonFull, api.ReasonStarting)
	s.shows(both)
	s.says("host-1", api.OpProvision, api.ReasonHeldSlot)
	s.kill()

	s = serveThrottle(t, settings(l.ironic.URL))
	s.comesToSay("host-3", api.OpProvision, api.ReasonFull, api.ReasonStarting)
	s.shows(both)
	agent.Release()
	l.await("host-2", ironic.Available)
	s.comesToSay("host-3", api.OpProvision, api.ReasonGranted, api.ReasonFull)
	s.shows(map[string]holder{"host-1": adopted, "host-3": yesSaid})
	l.clean("host-3")
	s.kill() // a yes that was acted on is seen

	s = serveThrottle(t, settings(l.ironic.URL))
	s.comesToSay("host-2", api.OpProvision, api.ReasonFull, api.ReasonStarting)
	s.shows(map[string]holder{"host-1": adopted, "host-3": adopted})
	l.put("host-1", ironic.TargetAbort)
	s.comesToSay("host-2", api.OpProvision, api.ReasonGranted, api.ReasonFull)
	s.stop()
}

// told wants so many lines of the log about the reading of Ironic.
func (s *throttle) told(away, again int) {
	s.Helper()
	if n := s.log.Count(`msg="ironic cannot be read"`); n != away {
		s.Errorf("%d lines that Ironic cannot be read, want %d", n, away)
	}
	if n := s.log.Count(`msg="ironic can be read again"`); n != again {
		s.Errorf("%d lines that Ironic can be read again, want %d", n, again)
	}
}
