package app

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/clusterhosts"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

func noted(name string, change func(*hosts.Host)) *hosts.Host {
	h := &hosts.Host{Host: admission.Host{Namespace: "metal3", Name: name}}
	if change != nil {
		change(h)
	}
	return h
}

// heldHost lets a failed host be known from before, in the settings' hold of an hour.
func heldHost(s *stage) {
	s.Helper()
	record := holdoff.Record{Version: holdoff.RecordVersion, UUID: "6e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", Name: "metal3~lab", Episodes: []holdoff.EpisodeRecord{
		{ID: "first", Kind: holdoff.Deployment, State: "deploy failed", Failures: 1, Since: time.Now()},
	}}
	s.pass(0) // the term has begun
	if err := s.app.controller.Start(time.Now(), []holdoff.Record{record}, sizing.State{}); err != nil {
		s.Fatal(err)
	}
	s.app.hosts = clusterhosts.New(time.Now, s.app.log)
	s.app.hosts.Decision, s.app.hosts.HoldChanged = s.app.controller, s.app.holds.Changed
	s.pass(70 * time.Second)
}

func (s *stage) lab(want api.Reason) {
	s.Helper()
	a := s.app.controller.IsReady(time.Now(), api.Ask{Namespace: "metal3", Name: "lab", NodeUUID: "6e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", Op: api.OpProvision, DryRun: true})
	if a.Reason != want {
		s.Errorf("%+v, want %s", a, want)
	}
}

func anHour(o *Options, _ *fakeironic.Server) { o.Config.Holdoff.Timeout = time.Hour }

func TestReleaseByAnnotation(t *testing.T) {
	play(t, anHour, func(s *stage) {
		heldHost(s)
		s.lab(api.ReasonHold)
		s.app.hosts.Changed(nil, noted("lab", func(h *hosts.Host) { h.Release = "another" }))
		s.lab(api.ReasonHold)
		s.app.hosts.Changed(nil, noted("other", func(h *hosts.Host) { h.Release = "first" })) // not its own
		s.lab(api.ReasonHold)
		s.app.hosts.Changed(noted("lab", nil), noted("lab", func(h *hosts.Host) { h.Release = "first" }))
		s.lab(api.ReasonGranted)
		s.expect(1, "hold released by annotation")
	})
}
