// Package planner collects the input of a plan of planned work: the clusters, the throttle's state and the settings.
// pkg/disruption makes the plan.
package planner

import (
	"context"
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// keep is how long a state serves further questions, so that a page that polls does not cause a read each time.
const keep = 5 * time.Second

// Options is what New needs; all are required.
type Options struct {
	// Read reads the clusters: it fills in all of a State but its Throttle.
	Read func(ctx context.Context) (disruption.State, error)
	// Throttle returns the throttle's state, and Config the settings in force. They must not block.
	Throttle func(now time.Time) disruption.Throttle
	Config   func() disruption.Config
	Now      func() time.Time
}

// Planner makes plans, one at a time. It is safe for concurrent use.
type Planner struct {
	opts Options
	turn chan *reading // a lock: whoever takes the last reading may read, and puts one back
}

// reading is one state of the cluster, with the plan that was made of it.
type reading struct {
	at    time.Time // when reading was complete
	state disruption.State
	plan  *api.Plan // nil: not made yet
}

// New returns a Planner that has read nothing yet.
func New(o Options) *Planner {
	p := &Planner{opts: o, turn: make(chan *reading, 1)}
	p.turn <- nil
	return p
}

// Plan returns what could be released or provisioned again, as of the time of the state.
func (p *Planner) Plan(ctx context.Context) (plan api.Plan, err error) {
	err = p.with(ctx, keep, func(r *reading) error {
		if r.plan == nil {
			made, err := p.PlanOf(ctx, &r.state, r.state.TakenAt)
			if err != nil {
				return err
			}
			r.plan = &made
		}
		plan = *r.plan
		return nil
	})
	return plan, err
}

// Explain says why a host is a candidate or not; known is false if the host does not exist.
func (p *Planner) Explain(ctx context.Context, namespace, name string) (e api.PlanExplanation, known bool, err error) {
	host := disruption.Key{Namespace: namespace, Name: name}
	err = p.with(ctx, keep, func(r *reading) (err error) {
		e, known, err = disruption.Explain(ctx, &r.state, p.opts.Config(), r.state.TakenAt, host)
		return err
	})
	return e, known, err
}

// State reads the clusters again, to carry out a plan. Nobody may change the result.
func (p *Planner) State(ctx context.Context) (state *disruption.State, err error) {
	err = p.with(ctx, 0, func(r *reading) error {
		state = &r.state
		return nil
	})
	return state, err
}

// PlanOf calls disruption.Plan with the settings in force.
func (p *Planner) PlanOf(ctx context.Context, s *disruption.State, now time.Time) (api.Plan, error) {
	return disruption.Plan(ctx, s, p.opts.Config(), now)
}

// Validate calls disruption.Validate with the settings in force.
func (p *Planner) Validate(ctx context.Context, plan api.Plan, s *disruption.State, now time.Time) error {
	return disruption.Validate(ctx, plan, s, p.opts.Config(), now)
}

// with calls use with a state that is younger than most. Other callers wait meanwhile, until their own ctx ends.
func (p *Planner) with(ctx context.Context, most time.Duration, use func(*reading) error) (err error) {
	var r *reading
	select {
	case r = <-p.turn:
	case <-ctx.Done():
		return fmt.Errorf("another plan is being made: %w", ctx.Err())
	}
	defer func() { p.turn <- r }()
	begun := p.opts.Now()
	if r != nil && !begun.Before(r.at) && begun.Sub(r.at) < most {
		return use(r)
	}
	r = nil // frees its memory before the next read
	state, err := p.opts.Read(ctx)
	if err != nil {
		return fmt.Errorf("reading the cluster: %w", err)
	}
	now := p.opts.Now()
	state.Throttle = p.opts.Throttle(now)
	r = &reading{at: now, state: state}
	return use(r)
}
