// Package execute carries out plans of planned work: one action at a time, in steps that survive a kill at any write. What
// is under way is on the objects themselves; each change names the version that was seen.
package execute

import (
	"cmp"
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

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// every is the time between two passes, and idle how many times as long it is while there is nothing to do: a pass then
// reads all nodes, pods and hosts.
const (
	every = 10 * time.Second
	idle  = 6
)

// maxWrites bounds the moves of one pass, should two processes ever work against each other, and refusedFor is how long an
// action that could not be begun is left alone.
const (
	maxWrites  = 200
	refusedFor = 10 * time.Minute
)

// Planner makes plans of the clusters as they are now.
type Planner interface {
	// State reads them.
	State(ctx context.Context) (*disruption.State, error)
	// Plan and Validate are those of package disruption, with the settings that are in force.
	Plan(ctx context.Context, s *disruption.State, now time.Time) (api.Plan, error)
	Validate(ctx context.Context, p api.Plan, s *disruption.State, now time.Time) error
	// Hold says why nothing further may start now: a real host waits, a breaker is open, a pool is paused, the view is
	// stale; "" = it may. It must not wait.
	Hold() string
}

// Clusters are those whose nodes are on our hosts.
type Clusters interface {
	// Client returns the client of a cluster; of the zero key, of the throttle's own.
	Client(ctx context.Context, of disruption.Key) (client.Client, error)
	// Answered is told how requests to a workload cluster ended, and returns the error with what is known of it.
	Answered(of disruption.Key, err error) error
}

// Options are what a Runner needs.
type Options struct {
	Planner    Planner
	Own        client.Client // of the cluster that the throttle runs in
	Clusters   Clusters
	Namespaces []string         // where hosts and Machines are looked for; none: everywhere
	Leading    func() bool      // whether this process leads: asked before each pass and write
	Now        func() time.Time // the clock
	Every      time.Duration    // between two passes; 0: 10 s
	NewID      func() string    // of a command; nil: at random
	Instance   string           // our name in Events
	Log        *slog.Logger     // of each write
}

// Runner carries out plans. Make one with New.
type Runner struct {
	o Options

	begun   *record              // by this process, as it was validated; nil: none
	plan    *api.Plan            // made, and not old enough yet
	refused map[string]time.Time // actions that could not be begun, with when
	warned  map[string]string    // what the log has
	tainted bool                 // nodes may have taints of commands that are no more
	idle    bool                 // the last pass has found nothing to do

	mu      sync.Mutex
	running *api.PlanRunning // without LastError; nil: no command is unfinished
	err     error            // of the last pass
	failing time.Time        // since when each pass has failed
}

// New makes a Runner, which does nothing before Run.
func New(o Options) *Runner {
	o.Every = cmp.Or(o.Every, every)
	if o.NewID == nil {
		o.NewID = func() string { return strings.ToLower(rand.Text())[:16] }
	}
	if len(o.Namespaces) == 0 {
		o.Namespaces = []string{""}
	}
	return &Runner{o: o, refused: map[string]time.Time{}, warned: map[string]string{}, tainted: true}
}

// Run works until ctx ends, and returns nil then. What is unfinished stays marked: whoever leads next goes on with it, or
// takes it back.
func (r *Runner) Run(ctx context.Context) error {
	for {
		r.note(r.pass(ctx), ctx.Err() != nil)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(r.rest()):
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

// pass goes on with what is unfinished, else removes marks that are left, else plans.
func (r *Runner) pass(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			r.plan = nil // it is due, maybe: rest would be none
		}
	}()
	r.idle = false
	if !r.o.Leading() {
		r.plan, r.begun, r.tainted = nil, nil, true // somebody else may have gone on since
		r.show(nil, move{})
		return nil
	}
	own := r.own()
	hosts := marked[*objects.Host](ctx, r, own, "BareMetalHost")
	if own.Err != nil {
		return own.Err
	}
	alive, unfinished := map[string]bool{}, false
	for _, h := range hosts {
		c, fault := read(h.Annotations[commandMark])
		switch {
		case h.Labels[commandMark] != c.ID: // of a host that is not the first of its command, or not ours
		case errors.Is(fault, errUnknown): // what it is about to change, nobody knows here: nothing begins
			alive[c.ID] = true
			err = errors.Join(err, fmt.Errorf("host %s: %w", keyOf(h), fault))
		case fault == nil && c.of(h):
			alive[c.ID], unfinished = true, true
			err = errors.Join(err, r.finish(ctx, h))
		}
	}
	if unfinished {
		r.plan = nil
		return err
	}
	r.show(nil, move{})
	if failed := r.sweep(ctx, own, hosts, alive); failed != nil || err != nil {
		return errors.Join(err, failed)
	}
	return r.consider(ctx, alive)
}

// finish does what can be done now for the command whose record is on a host.
func (r *Runner) finish(ctx context.Context, h *objects.Host) error {
	for range maxWrites {
		c, err := read(h.Annotations[commandMark])
		if err != nil || h.Labels[commandMark] != c.ID || !c.of(h) {
			return errors.Join(fmt.Errorf("somebody has removed or changed the record on host %s", keyOf(h)), err)
		}
		if known := r.Running(); known == nil || known.ID != c.ID { // the look may fail, and somebody wants to know of it all the same
			r.show(&c, move{})
		}
		s, err := r.look(ctx, &c, h)
		if err != nil {
			return fmt.Errorf("command %s: %w", c.ID, err)
		}
		next := c.next(s, moment{now: r.o.Now(), live: r.begun != nil && r.begun.same(c), hold: r.o.Planner.Hold()})
		r.report(ctx, &c, s, next)
		switch err := r.writes(ctx, &c, next); {
		case errors.Is(err, errLater):
			return nil // the next pass looks again
		case err != nil:
			return err
		case next.done:
			r.end(ctx, &c, s)
			return nil
		case next.away != nil:
			return fmt.Errorf("command %s: %w", c.ID, next.away)
		case next.pause, len(next.writes) == 0:
			return nil
		}
		own := r.own()
		if h = objects.Get[*objects.Host](ctx, own, "BareMetalHost", c.Targets[0].Host); own.Err != nil {
			return own.Err
		}
	}
	return fmt.Errorf("host %s: no end after %d moves", keyOf(h), maxWrites)
}

// writes does the writes of a command. An eviction that fails does not keep the other pods.
func (r *Runner) writes(ctx context.Context, c *record, next move) (failed error) {
	for _, w := range next.writes {
		err := r.write(ctx, w, "command", c.ID, "action", c.Action, "reason", string(c.Reason))
		if err != nil && !w.evict {
			return err
		}
		if !errors.Is(err, errLater) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// consider makes a plan, or carries out the one that was made.
func (r *Runner) consider(ctx context.Context, alive map[string]bool) error {
	if r.o.Planner.Hold() != "" {
		r.plan, r.idle = nil, true
		return nil
	}
	if r.plan != nil && r.o.Now().Before(r.plan.ExecuteAfter) {
		return nil
	}
	s, err := r.o.Planner.State(ctx)
	if err != nil {
		r.idle = true
		return fmt.Errorf("state for a plan: %w", err)
	}
	r.sweepNodes(ctx, s, alive)
	if r.plan == nil {
		return r.make(ctx, s)
	}
	p := *r.plan
	r.plan = nil
	if s.Throttle.Waiting > 0 {
		return nil // the next pass says who
	}
	if err := r.o.Planner.Validate(ctx, p, s, r.o.Now()); err != nil {
		r.idle = true
		if why := new(disruption.Abandoned); errors.As(err, &why) {
			r.o.Log.Info("a plan does not hold any more: it is abandoned", "class", why.Class, "why", why.Why)
			return nil
		}
		return fmt.Errorf("validation of a plan: %w", err)
	}
	return r.begin(ctx, p, s)
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

// choose is the first action whose pool allows it to be carried out; -1: none. A Machine without owner has no pool: it
// allows that itself, which is seen when the action begins.
func (r *Runner) choose(p api.Plan, s *disruption.State) int {
	return slices.IndexFunc(p.Actions, func(a api.PlanAction) bool {
		if at, ok := r.refused[a.ID]; a.Decision == api.PlanReport || len(a.Hosts) == 0 || ok && r.o.Now().Sub(at) < refusedFor {
			return false
		}
		return a.Pool == "" || slices.ContainsFunc(s.Pools, func(known disruption.Pool) bool {
			return string(known.Kind)+" "+known.String() == a.Pool && known.Execute && (known.Scales || a.Decision == api.PlanReprovision)
		})
	})
}

// begin begins an action of a plan that was validated just now.
func (r *Runner) begin(ctx context.Context, p api.Plan, s *disruption.State) error {
	at := r.choose(p, s)
	if at < 0 || r.o.Planner.Hold() != "" {
		return nil
	}
	a, now := p.Actions[at], r.o.Now()
	c := recordOf(a, r.o.NewID(), now)
	seen, err := r.look(ctx, &c, nil)
	if err != nil {
		return err
	}
	if err := c.complete(seen, now); errors.As(err, new(*away)) {
		return err // the next plan is tried
	} else if err != nil {
		return r.refuse(a, err)
	}
	r.begun = &c
	args := []any{"command", c.ID, "action", a.ID, "reason", string(a.Reason), "evidence", a.Evidence, "savingPerHour", a.SavingPerHour}
	if err := r.write(ctx, c.first(seen), args...); errors.Is(err, errLater) {
		return nil // the next plan knows
	} else if err != nil {
		return err
	}
	r.tell(ctx, seen, corev1.EventTypeNormal, "PlannedWorkStarted", fmt.Sprintf("%s of %s begins: %s", c.Decision, c.Targets[0].Host, strings.Join(a.Evidence, "; ")))
	return r.finish(ctx, seen.hosts[0])
}

// refuse leaves an action that cannot be carried out alone for a while.
func (r *Runner) refuse(a api.PlanAction, err error) error {
	maps.DeleteFunc(r.refused, func(_ string, at time.Time) bool { return r.o.Now().Sub(at) >= refusedFor })
	r.refused[a.ID] = r.o.Now()
	r.o.Log.Warn("an action of the plan is not carried out", "action", a.ID, "decision", string(a.Decision), "pool", a.Pool, "error", err)
	return nil
}
