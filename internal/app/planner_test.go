package app

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
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
	return disruption.State{TakenAt: time.Now(), Hosts: []disruption.Host{{Key: disruption.Key{Namespace: "metal3", Name: "host-1"}, State: "provisioned"}}}, nil
}

// get asks the API of the stage.
func (s *stage) get(path string) *httptest.ResponseRecorder {
	s.Helper()
	w := httptest.NewRecorder()
	s.app.server.API().ServeHTTP(w, httptest.NewRequestWithContext(s.Context(), http.MethodGet, path, http.NoBody))
	return w
}

func planning(change func(*config.Config)) func(*Options, *fakeironic.Server) {
	return func(o *Options, _ *fakeironic.Server) {
		o.Config.Disruption.Mode, o.readFleet = "plan", fleetOf
		if change != nil {
			change(&o.Config)
		}
	}
}

// facts are what plans know of the throttle now.
func (s *stage) facts() disruption.Throttle { return s.app.throttleFacts(s.app.now()) }

func TestPlansKnowWhoWaits(t *testing.T) {
	play(t, planning(func(c *config.Config) { c.Limits.Total = 1 }), func(s *stage) {
		if f := s.facts(); !f.Stale || f.Waiting != 0 {
			t.Errorf("at first %+v", f)
		}
		s.pass(70 * time.Second)
		s.says("host-1", api.ReasonGranted)
		s.says("host-2", api.ReasonFull)
		s.says("host-3", api.ReasonFull)
		if diff := cmp.Diff(disruption.Throttle{Limit: 1, Waiting: 2}, s.facts()); diff != "" {
			t.Errorf("two wait (-want +got):\n%s", diff)
		}
		s.pass(4 * time.Minute) // nobody asks: they are parked, and wait all the same
		if _, err := s.app.controller.TripBreaker(time.Now(), "ironic", time.Hour); err != nil {
			t.Fatal(err)
		}
		if f := s.facts(); f.Waiting != 2 || !slices.Equal(f.OpenBreakers, []string{"ironic"}) {
			t.Errorf("%+v, want both, and an open breaker", f)
		}
	})
}

func TestPlansGoByTheSettingsInForce(t *testing.T) {
	const begin = "kubernetes: on\ndisruption: plan\n"
	file, fromFile := fileOf(t, begin)
	play(t, func(o *Options, fake *fakeironic.Server) {
		fromFile(o, fake)
		o.readFleet, o.Config.Kubernetes.On = fleetOf, false
	}, func(s *stage) {
		next := begin + "disruptionConsolidateAfter: 30m\ndisruptionTariff: 0.5\n" +
			`disruptionBudgets: '[{"nodes":"0","schedule":"@daily","duration":"8h","reasons":["Drifted"]}]'` + "\n"
		file.Store(&next)
		s.pass(20 * time.Second)
		want := disruption.Config{
			ConsolidateAfter: disruption.Span(30 * time.Minute), TariffPerKWh: new(0.5),
			Budgets: budget.List{{Nodes: "0", Schedule: "@daily", Duration: "8h", Reasons: []api.PlanReason{api.PlanDrifted}}},
		}
		if diff := cmp.Diff(want, plannerConfig(s.app.force.Load().config.Disruption)); diff != "" {
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
	if plannerConfig(config.Disruption{Mode: "plan"}).Execute {
		t.Error("plans are carried out")
	}
}
