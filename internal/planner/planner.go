// Package planner joins what a plan of planned work is made of: the cluster, how the throttle
// stands, and the settings. pkg/disruption makes the plan of it.
package planner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// Reader reads the cluster: all of a State but its Throttle.
type Reader interface {
	Read(ctx context.Context) (disruption.State, error)
}

// keep is how long a state is used for further questions: a page that polls does not have
// the cluster read each time.
const keep = 5 * time.Second

// slow is what is worth a line in the log.
const slow = 10 * time.Second

// Options is what New needs. Reader, Throttle and Config are required.
type Options struct {
	Reader Reader
	// Throttle tells how the decision stands; Config the settings in force. Both are
	// called for each state, and must not block.
	Throttle func(now time.Time) disruption.Throttle
	Config   func() disruption.Config
	Now      func() time.Time // nil: time.Now
	Log      *slog.Logger     // nil: silent
}

// Planner makes plans, one at a time. It is safe for concurrent use.
type Planner struct {
	opts Options
	// turn holds what was read last. Who takes it may read, and puts it back.
	turn chan *reading

	// What pkg/disruption does.
	plan    func(context.Context, *disruption.State, disruption.Config, time.Time) (api.Plan, error)
	explain func(context.Context, *disruption.State, disruption.Config, time.Time, disruption.Key) (api.PlanExplanation, error)
}

// reading is one state of the cluster, with what was made of it so far.
type reading struct {
	at       time.Time // when it was complete
	document disruption.Document
	plan     *api.Plan
}

// New returns a Planner that has read nothing yet.
func New(o Options) (*Planner, error) {
	if o.Reader == nil || o.Throttle == nil || o.Config == nil {
		return nil, errors.New("options: Reader, Throttle and Config must be set")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Planner{opts: o, turn: make(chan *reading, 1), plan: disruption.Plan, explain: disruption.Explain}
	p.turn <- nil
	return p, nil
}

// Plan says what could be released or provisioned again. It is what a plan of Document is, as of the
// time at which the state was taken.
func (p *Planner) Plan(ctx context.Context) (plan api.Plan, err error) {
	err = p.with(ctx, func(r *reading) error {
		if r.plan == nil {
			made, err := p.plan(ctx, &r.document.State, r.document.Config, r.document.State.TakenAt)
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
func (p *Planner) Document(ctx context.Context) ([]byte, error) {
	var b bytes.Buffer
	err := p.with(ctx, func(r *reading) error { return r.document.Write(&b) })
	if err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Explain tells why a host is a candidate or not; known is false for one that is not there.
func (p *Planner) Explain(ctx context.Context, namespace, name string) (e api.PlanExplanation, known bool, err error) {
	host := disruption.Key{Namespace: namespace, Name: name}
	err = p.with(ctx, func(r *reading) (err error) {
		state := &r.document.State
		if known = slices.ContainsFunc(state.Hosts, func(h disruption.Host) bool { return h.Key == host }); !known {
			return nil
		}
		e, err = p.explain(ctx, state, r.document.Config, state.TakenAt, host)
		return err
	})
	return e, known, err
}

// Fresh reads the cluster anew, for a plan that is carried out. Nobody may change what it returns.
func (p *Planner) Fresh(ctx context.Context) (state *disruption.State, err error) {
	err = p.withIn(ctx, 0, func(r *reading) error {
		state = &r.document.State
		return nil
	})
	return state, err
}

// with lets use have a state that is new enough. Others wait meanwhile, until their own ctx ends.
func (p *Planner) with(ctx context.Context, use func(*reading) error) error {
	return p.withIn(ctx, keep, use)
}

// withIn is with for a state that is younger than most.
func (p *Planner) withIn(ctx context.Context, most time.Duration, use func(*reading) error) error {
	var r *reading
	select {
	case r = <-p.turn:
	case <-ctx.Done():
		return fmt.Errorf("another plan is being made: %w", ctx.Err())
	}
	defer func() { p.turn <- r }()
	begun := p.opts.Now()
	if age := p.age(r, begun); age < 0 || age >= most {
		r = nil // free before the next one is read
		fresh, err := p.read(ctx, begun)
		if err != nil {
			return err
		}
		r = fresh
	}
	err := use(r)
	if took := p.opts.Now().Sub(begun); took >= slow {
		p.opts.Log.Warn("a plan takes long", "took", took, "hosts", len(r.document.State.Hosts), "pods", len(r.document.State.Pods))
	}
	return err
}

// age is -1 of nothing.
func (p *Planner) age(r *reading, now time.Time) time.Duration {
	if r == nil {
		return -1
	}
	return now.Sub(r.at)
}

func (p *Planner) read(ctx context.Context, begun time.Time) (*reading, error) {
	state, err := p.opts.Reader.Read(ctx)
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
