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

// TestReleaseByAnnotation: only the annotation of the host itself, with its episode, ends its hold.
func TestReleaseByAnnotation(t *testing.T) {
	play(t, func(o *Options, _ *fakeironic.Server) { o.Config.Holdoff.Timeout = time.Hour }, func(s *stage) {
		const uuid = "6e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b"
		record := holdoff.Record{Version: holdoff.RecordVersion, UUID: uuid, Name: "metal3~lab", Episodes: []holdoff.EpisodeRecord{
			{ID: "first", Kind: holdoff.Deployment, State: "deploy failed", Failures: 1, Since: time.Now()},
		}}
		s.pass(0) // the term has begun
		if err := s.app.controller.Start(time.Now(), []holdoff.Record{record}, sizing.State{}); err != nil {
			t.Fatal(err)
		}
		s.app.hosts = clusterhosts.New(time.Now, s.app.log)
		s.app.hosts.Decision, s.app.hosts.HoldChanged = s.app.controller, s.app.holds.Changed
		s.pass(70 * time.Second)
		for _, row := range []struct {
			host, release string
			want          api.Reason
		}{{"lab", "", api.ReasonHold}, {"lab", "another", api.ReasonHold}, {"other", "first", api.ReasonHold}, {"lab", "first", api.ReasonGranted}} {
			h := &hosts.Host{Host: admission.Host{Namespace: "metal3", Name: row.host}}
			h.Release = row.release
			s.app.hosts.Changed(nil, h)
			ask := api.Ask{Namespace: "metal3", Name: "lab", NodeUUID: uuid, Op: api.OpProvision, DryRun: true}
			if a := s.app.controller.IsReady(time.Now(), ask); a.Reason != row.want {
				t.Errorf("%+v: %+v", row, a)
			}
		}
		s.expect(1, "hold released by annotation")
	})
}
