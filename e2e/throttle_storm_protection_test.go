//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// silentRamdisks fail their cleaning soon: nobody calls back.
var silentRamdisks = map[string]map[string]string{
	"conductor": {"clean_callback_timeout": "12", "check_provision_state_interval": "2"},
}

// holdsOf reads `holds -o json`, by host.
func (s *throttle) holdsOf() map[string]api.Hold {
	s.Helper()
	var view api.Holds
	s.cli(&view, "holds")
	all := map[string]api.Hold{}
	for _, h := range view.Hosts {
		all[h.Name] = h
	}
	return all
}

// breakerOf reads `breakers -o json`.
func (s *throttle) breakerOf(scope string) api.Breaker {
	s.Helper()
	var view api.Breakers
	s.cli(&view, "breakers")
	for _, b := range view.Breakers {
		if b.Scope == scope {
			return b
		}
	}
	return api.Breaker{}
}

func (s *throttle) awaitBreaker(scope, state string) {
	s.Helper()
	poll(s.T, scope+" "+state, func() bool { return s.breakerOf(scope).State == state }, s.log.String)
}

// sees reports whether the status shows a host at work.
func (s *throttle) sees(host string) bool {
	var st api.Status
	s.cli(&st, "status")
	return slices.ContainsFunc(st.Slots.Occupants, func(o api.Occupant) bool {
		return strings.HasSuffix(o.Name, host) && o.Busy
	})
}

// TestStormProtection lets hosts of a real Ironic fail by its own time-outs: the breaker
// opens and closes by what Ironic shows, and the holds live through kill -9, with the file
// and, as the nodes are still failed, without.
func TestStormProtection(t *testing.T) {
	nightly(t)
	t.Parallel()
	l := newLab(t, realironic.Options{Settings: silentRamdisks})
	for _, host := range []string{"host-1", "host-2", "host-3", "host-4"} {
		l.create(host, ramdisk)
	}
	file := filepath.Join(t.TempDir(), "holds.db")
	environment := settings(l.ironic.URL, "MAX_CONCURRENT_PROVISIONING_HOSTS=3",
		"IRONIC_THROTTLE_BREAKER_THRESHOLD=3", "IRONIC_THROTTLE_BREAKER_RECOVERY_TIMEOUT=15s",
		// A busy machine takes its time between two steps: the probe keeps its slot, and with it its permit.
		"IRONIC_THROTTLE_LEASE_TTL=5m", "IRONIC_THROTTLE_LINGER=15s",
		"IRONIC_THROTTLE_FAILED_HOST_HOLDOFF=2h", "IRONIC_THROTTLE_STATE="+file)
	s := serveThrottle(t, environment)
	failing := []string{"host-1", "host-2", "host-3"}
	for _, host := range failing {
		s.comesToSay(host, api.OpProvision, api.ReasonGranted, api.ReasonStarting)
		l.put(host, ironic.TargetProvide)
	}
	for _, host := range failing {
		l.await(host, ironic.CleanFailed)
	}
	poll(t, "three holds", func() bool { return len(s.holdsOf()) == 3 }, s.log.String)
	before := s.holdsOf()
	for _, host := range failing {
		if h := before[host]; !h.Held || h.Kind != "cleaning" || h.State != "clean failed" || !strings.Contains(h.Cause, "Timeout") || h.Failures != 1 {
			t.Errorf("%s: %+v", host, h)
		}
		s.says(host, api.OpProvision, api.ReasonHold)
	}
	b := s.breakerOf("ironic")
	if b.State == "CLOSED" || len(b.Causes) != 1 || b.Causes[0].Count != 3 || len(b.Causes[0].Hosts) != 3 {
		t.Errorf("breaker %+v", b)
	}
	if n := s.log.Count("breaker opened", "scope=ironic", "to=OPEN", "count=3"); n != 1 {
		t.Errorf("the log tells it %d times", n)
	}

	// One host that goes well closes it.
	s.awaitBreaker("ironic", "HALF_OPEN")
	s.comesToSay("host-4", api.OpProvision, api.ReasonGranted, api.ReasonBreakerOpen, api.ReasonStarting, api.ReasonHalfOpen)
	l.clean("host-4")
	agent := l.call("host-4", ironic.CleanWait)
	poll(t, "host-4 seen in its cleaning", func() bool { return s.sees("host-4") }, s.log.String)
	agent.Release()
	l.await("host-4", ironic.Available)
	agent.Stop()
	s.says("host-4", api.OpProvision, api.ReasonHeldSlot)
	s.awaitBreaker("ironic", "CLOSED") // cleaning had failed
	l.put("host-4", ironic.TargetActive)
	agent = l.call("host-4", ironic.DeployWait)
	agent.Release()
	l.await("host-4", ironic.Active)

	// Killed, the holds are exact.
	s.kill()
	s = serveThrottle(t, environment)
	after := s.holdsOf()
	for _, host := range failing {
		if a, b := after[host], before[host]; a.Episode != b.Episode || a.Since.Sub(b.Since).Abs().Seconds() > 0.01 {
			t.Errorf("%s: %+v, before the kill %+v", host, a, b)
		}
	}
	s.comesToSay("host-1", api.OpProvision, api.ReasonHold, api.ReasonStarting)
	var released api.ReleaseAnswer
	if code := s.cli(&released, "holds", "release", "metal3/host-1", "--episode", before["host-1"].Episode); code != 0 || !released.Released {
		t.Errorf("release: exit %d: %+v", code, released)
	}
	s.says("host-1", api.OpProvision, api.ReasonGranted)

	// Without the file they begin anew: a hold may grow, never shrink.
	s.kill()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s = serveThrottle(t, environment)
	poll(t, "the failed ones are found", func() bool { return len(s.holdsOf()) == 3 }, s.log.String)
	for host, h := range s.holdsOf() {
		if !slices.Contains(failing, host) || !h.Held || h.Since.Before(before[host].Since) {
			t.Errorf("%s: %+v", host, h)
		}
	}
	s.stop()
}
