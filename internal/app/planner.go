package app

import (
	"context"
	"errors"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/execute"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/fleet"
	"github.com/ironic-throttle/ironic-throttle/internal/planner"
	"github.com/ironic-throttle/ironic-throttle/internal/server"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// state reads the clusters for a plan.
type state = func(context.Context) (disruption.State, error)

// newPlanner makes what answers GET /v1/plan; nil where nothing is planned. read replaces what reads the
// clusters; nil: they are read.
func (a *App) newPlanner(read state) (server.Planner, error) {
	c := a.force.Load().config
	if !c.Disruption.On() {
		return nil, nil //nolint:nilnil // nothing is planned, which is no error
	}
	if a.cluster != nil {
		a.clusters = kube.NewClusters(a.cluster.Client, a.cluster.Config.UserAgent)
	}
	if read == nil {
		if a.cluster == nil {
			return nil, errors.New("IRONIC_THROTTLE_DISRUPTION: a cluster must be known (IRONIC_THROTTLE_KUBERNETES=on)")
		}
		read = fleet.New(fleet.Options{Client: a.clusters.Client, Namespaces: c.Kubernetes.Watch, Now: a.now}).Read
	}
	p := planner.New(planner.Options{
		Read: read, Throttle: a.throttleFacts, Now: a.now,
		Config: func() disruption.Config { return plannerConfig(a.force.Load().config.Disruption) },
	})
	if c.Disruption.Mode == config.DisruptionExecute {
		a.execution = execute.New(execute.Options{
			Planner: p, Hold: a.heldUp, Client: a.clusters.Client, Namespaces: c.Kubernetes.Watch,
			Leading: a.mayStart, Now: a.now, Instance: a.identity, Log: a.log,
		})
	}
	return p, nil
}

// heldUp says why no planned work may start now; "" = it may.
func (a *App) heldUp() string {
	if a.observes() {
		return "the mode is observe: no host waits, and planned work would not either"
	}
	facts := a.throttleFacts(a.now())
	return facts.Hold()
}

// running is the planned work that is being carried out; nil: none is.
func (a *App) running() *api.PlanRunning {
	if a.execution == nil {
		return nil
	}
	return a.execution.Running()
}

// plannerConfig is how plans are made.
func plannerConfig(c config.Disruption) disruption.Config {
	own := disruption.Default()
	own.ConsolidateAfter, own.Execute = c.ConsolidateAfter, c.Mode == config.DisruptionExecute
	own.Budgets, _ = budget.Parse(c.Budgets) // it was checked
	if c.Tariff > 0 {
		own.TariffPerKWh = &c.Tariff
	}
	return own
}

// throttleFacts is what plans have to know of the decision.
func (a *App) throttleFacts(now time.Time) disruption.Throttle {
	d := a.controller
	view := d.View(now)
	t := disruption.Throttle{Stale: !view.Fresh || !view.Settled}
	var stopped int
	for _, pool := range d.QueueOf(now, api.QueueQuery{}).Pools {
		t.Waiting += pool.Waiting + pool.Silent + pool.Stopped
		stopped += pool.Stopped
		if pool.Pool == "" {
			t.Limit, t.SlotMinutes = pool.Limit, pool.MeanSlotSeconds/time.Minute.Seconds()
		}
	}
	holds := d.Holds(now)
	var held int
	for _, h := range holds.Hosts {
		if h.Held {
			held++
		}
	}
	t.Waiting += max(0, held-stopped) // held hosts that have asked are among the stopped ones
	for _, p := range holds.Pools {
		if p.Paused {
			t.PausedGroups = append(t.PausedGroups, p.Pool)
		}
	}
	if breakers := d.Breakers(now); breakers.Enabled {
		for _, b := range breakers.Breakers {
			if b.State != "CLOSED" {
				t.OpenBreakers = append(t.OpenBreakers, b.Scope)
			}
		}
	}
	return t
}
