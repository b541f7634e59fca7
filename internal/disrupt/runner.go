package disrupt

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// every is the time between two passes, and idle how many times as long it is while there is nothing to do: a pass
// then reads all nodes, pods and hosts of the cluster.
const (
	every = 10 * time.Second
	idle  = 6
)

// maxSteps bounds the writes of one pass, and maxConflicts those that meet a newer version, should
// two of us ever work against each other.
const (
	maxSteps     = 200
	maxConflicts = 5
)

// refusedFor is how long an action that could not be begun is left alone.
const refusedFor = 10 * time.Minute

// Planner makes plans of the cluster as it is now.
type Planner interface {
	// State reads it anew.
	State(ctx context.Context) (*disruption.State, error)
	// Plan and Validate are those of package disruption, with the settings that are in force.
	Plan(ctx context.Context, s *disruption.State, now time.Time) (api.Plan, error)
	Validate(ctx context.Context, p api.Plan, s *disruption.State, now time.Time) error
	// Confirm is too: the last look, at a state that was read after Validate's.
	Confirm(ctx context.Context, p api.Plan, s *disruption.State, now time.Time) error
	// Hold says why nothing further may start now: a real host waits, a breaker is open, a
	// pool is paused, the view is stale; "" = it may. It must not wait.
	Hold() string
}

// Options are what a Runner needs.
type Options struct {
	Planner Planner
	Cluster Cluster
	// Leading tells whether this process leads; asked before each pass and each write. nil: it does.
	Leading func() bool
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Every is the time between two passes; 0: 10 s.
	Every time.Duration
	// NewID names a command; nil: at random.
	NewID func() string
	// Log is told every write; nil is silent.
	Log *slog.Logger
}

// Runner carries out plans. Make one with New.
type Runner struct {
	o Options

	live  map[string]Command // that this process has begun, as it has validated them; Run's alone
	plan  *api.Plan          // made, and not old enough yet
	told  map[string]bool    // commands that are said to be stuck
	stray string             // what was told of marks that cannot be removed
	idle  bool               // the last pass has found nothing to do
	// refused are actions that could not be begun, with when.
	refused map[string]time.Time

	mu     sync.Mutex
	status Status
}

// New makes a Runner, which does nothing before Run.
func New(o Options) *Runner {
	if o.Leading == nil {
		o.Leading = func() bool { return true }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Every <= 0 {
		o.Every = every
	}
	if o.NewID == nil {
		o.NewID = func() string { return strings.ToLower(rand.Text())[:16] }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Runner{o: o, live: map[string]Command{}, told: map[string]bool{}, refused: map[string]time.Time{}}
}

// Status tells how it stands.
func (r *Runner) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Run works until ctx ends, and returns nil then. What is unfinished stays marked: whoever leads next
// goes on with it, or takes it back.
func (r *Runner) Run(ctx context.Context) error {
	last := ""
	for {
		last = r.note(r.pass(ctx), last, ctx.Err() != nil)
		timer := time.NewTimer(r.rest())
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// rest is how long until the next pass: a plan is carried out when it is just old enough.
func (r *Runner) rest() time.Duration {
	switch {
	case r.idle:
		return idle * r.o.Every
	case r.plan == nil:
		return r.o.Every
	}
	return min(r.o.Every, max(time.Millisecond, r.plan.ExecuteAfter.Sub(r.o.Now())))
}

// pass goes on with what is unfinished, else removes strays, else plans.
func (r *Runner) pass(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			r.plan = nil // it is due, maybe: rest would be none
		}
	}()
	r.idle = false
	if !r.o.Leading() {
		r.plan = nil
		clear(r.live) // somebody else may have gone on since
		r.show(nil, step{})
		return nil
	}
	marks, err := r.o.Cluster.Marks(ctx)
	if err != nil {
		return fmt.Errorf("unfinished planned work: %w", err)
	}
	left := unfinishedOf(marks)
	found, alive := left.commands, left.alive()
	for _, fault := range left.faults {
		r.o.Log.Warn("a record of planned work cannot be read and is taken for none: its marks are removed", "error", fault)
	}
	r.keepLater(left.laterHosts())
	maps.DeleteFunc(r.live, func(id string, _ Command) bool { return !alive[id] })
	var errs []error
	for _, w := range strays(marks, alive) {
		errs = append(errs, r.write(ctx, nil, w))
	}
	r.tellStrays(errors.Join(errs...))
	errs = nil
	for _, c := range found {
		errs = append(errs, r.resume(ctx, c))
	}
	if err := errors.Join(errs...); err != nil || len(found) > 0 {
		r.plan = nil
		return err
	}
	r.show(nil, step{})
	if len(left.later) > 0 { // what of the cluster it is about to change, nobody knows here
		r.plan, r.idle = nil, true
		return nil
	}
	return r.consider(ctx)
}

// resume does what can be done for a command now.
func (r *Runner) resume(ctx context.Context, c Command) error {
	r.meet(&c)
	conflicts := 0
	c = r.asBegun(c)
	_, live := r.live[c.ID]
	for range maxSteps {
		s, err := r.o.Cluster.Look(ctx, c)
		if err != nil {
			return fmt.Errorf("command %s: %w", c.ID, err)
		}
		now, err := s.latest(c)
		if err != nil {
			return err
		}
		now = r.asBegun(now)
		if now.Stage != c.Stage || now.At != c.At || !now.same(c) { // what matters now was not looked at
			c = now
			continue
		}
		c = now
		st := next(c, s, moment{now: r.o.Now(), live: live, hold: r.o.Planner.Hold()})
		r.show(&c, st)
		r.report(ctx, &c, s, st)
		before, failed := conflicts, error(nil)
		for _, w := range st.writes {
			switch err := r.write(ctx, &c, w); {
			case errors.Is(err, ErrBudget):
			case errors.Is(err, ErrConflict), errors.Is(err, ErrGone):
				conflicts++
			case err != nil && w.Evict: // the other pods may go
				failed = errors.Join(failed, err)
			case err != nil:
				return err
			}
		}
		if failed != nil {
			return failed
		}
		switch {
		case st.done && conflicts == before:
			r.finish(ctx, &c, s)
			return nil
		case st.pause, len(st.writes) == 0, conflicts > maxConflicts:
			return nil
		}
	}
	return fmt.Errorf("command %s: no end after %d writes", c.ID, maxSteps)
}

// latest is the command as its record is now.
func (s *Seen) latest(c Command) (Command, error) {
	if !s.Hosts[0].ours(&c) {
		return c, fmt.Errorf("command %s: somebody has removed its record from host %s", c.ID, c.Targets[0].Host)
	}
	now, err := ReadCommand(s.Hosts[0].Record)
	if err == nil && (now.ID != c.ID || !now.of(s.Hosts[0])) {
		err = fmt.Errorf("command %s: somebody has changed its record on host %s", c.ID, c.Targets[0].Host)
	}
	return now, err
}

// asBegun is what this process has begun, as far as its record says: somebody may have changed what it is about.
func (r *Runner) asBegun(c Command) Command {
	begun, ok := r.live[c.ID]
	if !ok || begun.same(c) || begun.Targets[0].Host != c.Targets[0].Host {
		return c
	}
	r.o.Log.Warn("somebody has changed the record of planned work: it goes on as it was begun", "command", c.ID, "host", c.Targets[0].Host.String())
	begun.Stage, begun.StageAt, begun.Abandoned = c.Stage, c.StageAt, c.Abandoned
	begun.At = min(c.At, len(begun.Targets)-1)
	return begun
}

// consider makes a plan, or carries out the one that was made.
func (r *Runner) consider(ctx context.Context) error {
	if why := r.o.Planner.Hold(); why != "" {
		r.plan, r.idle = nil, true
		r.show(nil, step{wait: why})
		return nil
	}
	now := r.o.Now()
	if r.plan != nil && now.Before(r.plan.ExecuteAfter) {
		return nil
	}
	s, err := r.o.Planner.State(ctx)
	if err != nil {
		r.idle = true
		return fmt.Errorf("state for a plan: %w", err)
	}
	if r.plan == nil {
		return r.make(ctx, s)
	}
	p := *r.plan
	r.plan = nil
	if s.Throttle.Waiting > 0 {
		return nil // the next pass says who
	}
	if err := r.o.Planner.Validate(ctx, p, s, r.o.Now()); err != nil {
		return r.abandoned(err)
	}
	if s, err = r.o.Planner.State(ctx); err != nil {
		return fmt.Errorf("state for the last look at a plan: %w", err)
	}
	if err := r.o.Planner.Confirm(ctx, p, s, r.o.Now()); err != nil {
		return r.abandoned(err)
	}
	return r.begin(ctx, p, s)
}

// abandoned tells why a plan is not carried out (DC-22).
func (r *Runner) abandoned(err error) error {
	r.idle = true
	if why := new(disruption.Abandoned); errors.As(err, &why) {
		r.o.Log.Info("a plan does not hold any more: it is abandoned", "class", why.Class, "why", why.Why)
		return nil
	}
	return fmt.Errorf("validation of a plan: %w", err)
}

// make remembers a plan that has something to do.
func (r *Runner) make(ctx context.Context, s *disruption.State) error {
	p, err := r.o.Planner.Plan(ctx, s, r.o.Now())
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	if p.DryRun || p.Blocked != "" || s.Throttle.Waiting > 0 || r.choose(p, s) < 0 {
		r.idle = true
		return nil
	}
	if at := r.o.Now().Add(disruption.ValidateAfter); p.ExecuteAfter.Before(at) {
		p.ExecuteAfter = at // of our clock, which has run since
	}
	r.plan = &p
	return nil
}

// choose is the first action whose pool allows it to be carried out; -1: none. A Machine without owner
// has no pool: it allows that itself, which is seen when the action begins.
func (r *Runner) choose(p api.Plan, s *disruption.State) int {
	return slices.IndexFunc(p.Actions, func(a api.PlanAction) bool {
		if at, ok := r.refused[a.ID]; a.Decision == api.PlanReport || ok && r.o.Now().Sub(at) < refusedFor {
			return false
		}
		pool, err := parsePool(a.Pool)
		return err == nil && (pool == Pool{}) || err == nil && slices.ContainsFunc(s.Pools, func(known disruption.Pool) bool {
			return known.Key == pool.Key && known.Kind == pool.Kind && known.Execute && (known.Scales || a.Decision == api.PlanReprovision)
		})
	})
}
