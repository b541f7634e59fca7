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

// readState reads the clusters for a plan.
type readState = func(context.Context) (disruption.State, error)

// newPlanner makes what answers GET /v1/plan, and what carries plans out. It returns nil if the settings plan nothing.
// A nil read stands for a read of the clusters.
func (a *App) newPlanner(read readState) (server.Planner, error) {
	c := a.force.Load().config
	if !c.Disruption.On() {
		return nil, nil //nolint:nilnil // nothing is planned, which is no error
	}
	if a.cluster != nil {
		a.clusters = kube.NewClusters(a.cluster.Client, a.cluster.Config.UserAgent)
	}
	if read == nil {
		if a.cluster == nil {
			return nil, errors.New("IRONIC_THROTTLE_DISRUPTION: plans need a cluster (IRONIC_THROTTLE_KUBERNETES=on)")
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

// running returns the planned work that the throttle carries out now; nil: none.
func (a *App) running() *api.PlanRunning {
	if a.execution == nil {
		return nil
	}
	return a.execution.Running()
}

// plannerConfig returns the planner's settings from c.
func plannerConfig(c config.Disruption) disruption.Config {
	own := disruption.Default()
	own.ConsolidateAfter, own.Execute = c.ConsolidateAfter, c.Mode == config.DisruptionExecute
	own.Budgets, _ = budget.Parse(c.Budgets) // config.Load has checked it
	if c.Tariff > 0 {
		own.TariffPerKWh = &c.Tariff
	}
	return own
}

// throttleFacts returns what plans need to know about the slots, the queue and the holds.
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
