// Package planner joins what a plan of planned work is made of: the cluster, how the throttle
// stands, and the settings. pkg/disruption makes the plan of it.
package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// keep is how long a state is used for further questions: a page that polls does not have
// the cluster read each time.
const keep = 5 * time.Second

// Options is what New needs. Read, Throttle and Config are required.
type Options struct {
	// Read reads the clusters: all of a State but its Throttle.
	Read func(ctx context.Context) (disruption.State, error)
	// Throttle tells how the decision stands; Config the settings in force. Both are called for each state, and must
	// not block.
	Throttle func(now time.Time) disruption.Throttle
	Config   func() disruption.Config
	Now      func() time.Time // nil: time.Now
}

// Planner makes plans, one at a time. It is safe for concurrent use.
type Planner struct {
	opts Options
	turn chan *reading // who takes what was read last may read, and puts it back
}

// reading is one state of the cluster, with the plan that was made of it.
type reading struct {
	at       time.Time // when it was complete
	document disruption.Document
	plan     *api.Plan
}

// New returns a Planner that has read nothing yet.
func New(o Options) *Planner {
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Planner{opts: o, turn: make(chan *reading, 1)}
	p.turn <- nil
	return p
}

// Plan says what could be released or provisioned again. It is what a plan of Document is, as of the time at which the
// state was taken.
func (p *Planner) Plan(ctx context.Context) (plan api.Plan, err error) {
	err = p.with(ctx, keep, func(r *reading) error {
		if r.plan == nil {
			made, err := disruption.Plan(ctx, &r.document.State, r.document.Config, r.document.State.TakenAt)
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

// Document is the JSON of what Plan plans with.
func (p *Planner) Document(ctx context.Context) (text []byte, err error) {
	err = p.with(ctx, keep, func(r *reading) (err error) {
		text, err = json.MarshalIndent(r.document, "", " ")
		return err
	})
	return text, err
}

// Explain tells why a host is a candidate or not; known is false for one that is not there.
func (p *Planner) Explain(ctx context.Context, namespace, name string) (e api.PlanExplanation, known bool, err error) {
	host := disruption.Key{Namespace: namespace, Name: name}
	err = p.with(ctx, keep, func(r *reading) (err error) {
		state := &r.document.State
		if known = slices.ContainsFunc(state.Hosts, func(h disruption.Host) bool { return h.Key == host }); known {
			e, err = disruption.Explain(ctx, state, r.document.Config, state.TakenAt, host)
		}
		return err
	})
	return e, known, err
}

// State reads the cluster for a plan that is carried out. Nobody may change what it returns.
func (p *Planner) State(ctx context.Context) (state *disruption.State, err error) {
	err = p.with(ctx, 0, func(r *reading) error {
		state = &r.document.State
		return nil
	})
	return state, err
}

// PlanOf is disruption.Plan by the settings in force.
func (p *Planner) PlanOf(ctx context.Context, s *disruption.State, now time.Time) (api.Plan, error) {
	return disruption.Plan(ctx, s, p.opts.Config(), now)
}

// Validate is disruption.Validate by the settings in force.
func (p *Planner) Validate(ctx context.Context, plan api.Plan, s *disruption.State, now time.Time) error {
	return disruption.Validate(ctx, plan, s, p.opts.Config(), now)
}

// with lets use have a state that is younger than most. Others wait meanwhile, until their own ctx ends.
func (p *Planner) with(ctx context.Context, most time.Duration, use func(*reading) error) (err error) {
	var r *reading
	select {
	case r = <-p.turn:
	case <-ctx.Done():
		return fmt.Errorf("another plan is being made: %w", ctx.Err())
	}
	defer func() { p.turn <- r }()
	begun := p.opts.Now()
	if r == nil || begun.Before(r.at) || begun.Sub(r.at) >= most {
		r = nil // free before the next one is read
		if r, err = p.read(ctx, begun); err != nil {
			return err
		}
	}
	return use(r)
}

func (p *Planner) read(ctx context.Context, begun time.Time) (*reading, error) {
	state, err := p.opts.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the cluster: %w", err)
	}
	now := p.opts.Now()
	if state.TakenAt.IsZero() {
		state.TakenAt = begun
	}
	state.TakenAt = state.TakenAt.UTC().Round(0) // as it is in a file
	state.Throttle = p.opts.Throttle(now)
	return &reading{at: now, document: disruption.Document{Version: 1, Config: p.opts.Config(), State: state}}, nil
}
