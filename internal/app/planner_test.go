package app

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// fleetOf is a cluster with one host.
func fleetOf(context.Context) (disruption.State, error) {
	return disruption.State{Hosts: []disruption.Host{{Key: disruption.Key{Namespace: "metal3", Name: "host-1"}, State: "provisioned"}}}, nil
}

// get asks the API of the stage.
func (s *stage) get(path string) *httptest.ResponseRecorder {
	s.Helper()
	w := httptest.NewRecorder()
	s.app.server.API().ServeHTTP(w, httptest.NewRequestWithContext(s.Context(), http.MethodGet, path, http.NoBody))
	return w
}

// planned is the document that plans are made of now.
func (s *stage) planned() *disruption.Document {
	s.Helper()
	s.pass(10 * time.Second) // the last one is not used any more
	w := s.get("/v1/plan/state")
	d, err := disruption.ReadDocument(bytes.NewReader(w.Body.Bytes()))
	if w.Code != http.StatusOK || err != nil {
		s.Fatalf("%d %s, %v", w.Code, w.Body, err)
	}
	return d
}

func planning(change func(*config.Config)) func(*Options, *fakeironic.Server) {
	return func(o *Options, _ *fakeironic.Server) {
		o.Config.Disruption.Mode, o.fleet = "plan", fleetOf
		if change != nil {
			change(&o.Config)
		}
	}
}

func TestPlansKnowWhoWaits(t *testing.T) {
	play(t, planning(func(c *config.Config) { c.Limits.Total = 1 }), func(s *stage) {
		if d := s.planned(); !d.State.Throttle.Stale || d.State.Throttle.Waiting != 0 {
			t.Errorf("at first %+v", d.State.Throttle)
		}
		s.pass(70 * time.Second)
		want := disruption.Throttle{Limit: 1}
		if diff := cmp.Diff(want, s.planned().State.Throttle); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		s.says("host-1", api.ReasonGranted)
		s.says("host-2", api.ReasonFull)
		s.says("host-3", api.ReasonFull)
		want.Waiting = 2
		if diff := cmp.Diff(want, s.planned().State.Throttle); diff != "" {
			t.Errorf("two wait (-want +got):\n%s", diff)
		}
		s.pass(4 * time.Minute) // nobody asks: they are parked, and wait all the same
		if d := s.planned(); d.State.Throttle.Waiting != 2 {
			t.Errorf("%+v, want both", d.State.Throttle)
		}
	})
}

func TestPlansKnowWhatIsOpen(t *testing.T) {
	play(t, planning(func(c *config.Config) {
		c.Limits.Pools, c.Limits.VirtualMedia = map[string]int{"rack1": 3}, "2"
	}), func(s *stage) {
		s.pass(70 * time.Second)
		if _, err := s.app.controller.TripBreaker(time.Now(), "ironic", time.Hour); err != nil {
			t.Fatal(err)
		}
		want := disruption.Throttle{Limit: 20, Groups: map[string]int{"rack1": 3}, OpenBreakers: []string{"ironic"}}
		if diff := cmp.Diff(want, s.planned().State.Throttle); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestPlansGoByTheSettingsInForce(t *testing.T) {
	const begin = "kubernetes: on\ndisruption: plan\n"
	file, fromFile := fileOf(t, begin)
	play(t, func(o *Options, fake *fakeironic.Server) {
		fromFile(o, fake)
		o.fleet, o.Config.Kubernetes.On = fleetOf, false
	}, func(s *stage) {
		if diff := cmp.Diff(disruption.Default(), s.planned().Config); diff != "" {
			t.Errorf("by default (-want +got):\n%s", diff)
		}
		next := begin + "disruptionConsolidateAfter: 30m\ndisruptionTariff: 0.5\n" +
			`disruptionBudgets: '[{"nodes":"0","schedule":"@daily","duration":"8h","reasons":["Drifted"]}]'` + "\n"
		file.Store(&next)
		s.pass(20 * time.Second)
		tariff := 0.5
		want := disruption.Config{
			ConsolidateAfter: disruption.Span(30 * time.Minute), TariffPerKWh: &tariff,
			Budgets: budget.List{{Nodes: "0", Schedule: "@daily", Duration: "8h", Reasons: []api.PlanReason{api.PlanDrifted}}},
		}
		if diff := cmp.Diff(want, s.planned().Config); diff != "" {
			t.Errorf("changed (-want +got):\n%s", diff)
		}
	})
}

func TestNothingIsPlannedUnlessItIsSetAndNothingExecuted(t *testing.T) {
	play(t, nil, func(s *stage) {
		w := s.get("/v1/plan")
		var e api.ErrorBody
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != http.StatusNotFound || !strings.Contains(e.Error.Message, "IRONIC_THROTTLE_DISRUPTION=plan") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	for mode, want := range map[string]bool{"plan": false, config.DisruptionExecute: true} {
		if got := plannerConfig(config.Disruption{Mode: mode}).Execute; got != want {
			t.Errorf("%s: execute %t", mode, got)
		}
	}
}
