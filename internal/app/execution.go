package app

import (
	"context"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/execute"
	"github.com/ironic-throttle/ironic-throttle/internal/planner"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// newExecution makes what carries plans out, in pools whose annotation allows it.
func (a *App) newExecution(c config.Config, p *planner.Planner) (*execute.Runner, error) {
	identity, err := identityOf(c.Kubernetes)
	if err != nil {
		return nil, err
	}
	return execute.New(execute.Options{
		Planner: executed{Planner: p, app: a}, Own: a.cluster.Client, Clusters: a.clusters,
		Namespaces: c.Kubernetes.Watch, Leading: a.mayStart, Now: a.now, Instance: identity, Log: a.log,
	}), nil
}

// running is the planned work that is being carried out; nil: none is.
func (a *App) running() *api.PlanRunning {
	if a.execution == nil {
		return nil
	}
	return a.execution.Running()
}

// executed is the planner as whoever carries plans out needs it: by the newest state, and the
// settings in force.
type executed struct {
	*planner.Planner

	app *App
}

func (e executed) State(ctx context.Context) (*disruption.State, error) { return e.Fresh(ctx) }

func (e executed) Plan(ctx context.Context, s *disruption.State, now time.Time) (api.Plan, error) {
	return disruption.Plan(ctx, s, e.config(), now)
}

func (e executed) Validate(ctx context.Context, p api.Plan, s *disruption.State, now time.Time) error {
	return disruption.Validate(ctx, p, s, e.config(), now)
}

func (e executed) Hold() string {
	if e.app.observes() {
		return "the mode is observe: no host waits, and planned work would not either"
	}
	facts := e.app.throttleFacts(e.app.now())
	return facts.Hold()
}

func (e executed) config() disruption.Config {
	return plannerConfig(e.app.force.Load().config.Disruption)
}
