package app

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/clusterhosts"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// A BareMetalHost that the watch says is gone stayed in the queue.
func TestLH40_ADeletedBareMetalHostLeavesTheQueueAtOnce(t *testing.T) {
	one := func(o *Options, _ *fakeironic.Server) { o.Config.Limits.Total, o.Config.Limits.StuckCap = 1, 1 }
	play(t, one, func(s *stage) {
		s.app.hosts = clusterhosts.New(time.Now, s.app.log)
		s.app.hosts.Decision = s.app.controller
		s.pass(70 * time.Second)
		s.says("a", api.ReasonGranted)
		for _, name := range []string{"b", "c", "d"} {
			s.says(name, api.ReasonFull)
		}
		waits := func(want int) {
			t.Helper()
			if got := s.app.controller.Status(time.Now()).Slots.Total; got.Waiting != want || got.Occupied != 1 {
				s.Errorf("%+v, want %d that wait and 1 slot that is held", got, want)
			}
		}
		of := func(name string) *hosts.Host { return &hosts.Host{Namespace: "ns-01", Name: name, UID: "u"} }
		deleting := of("b")
		deleting.Deleting = true
		s.app.hosts.Changed(of("b"), deleting) // BMO needs a slot to deprovision it
		waits(3)
		s.app.hosts.Changed(deleting, nil)
		waits(2)
		s.app.hosts.Changed(of("a"), nil) // its work goes on
		waits(2)
		if a := s.ask("c"); a.Position != 1 {
			t.Errorf("%+v, want the first place", a)
		}
		for _, pause := range []func(*hosts.Host){func(h *hosts.Host) { h.Paused = true }, func(h *hosts.Host) { h.Detached = true }} {
			left := of("c")
			pause(left)
			s.app.hosts.Changed(of("c"), left) // BMO will not ask for it
			waits(1)
			s.says("c", api.ReasonFull)
			waits(2)
			changed := *left
			changed.ErrorCount = 1
			s.app.hosts.Changed(left, &changed) // it asks all the same, maybe by another controller
			waits(2)
		}
	})
}
