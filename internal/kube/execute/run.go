// Package execute carries out plans of planned work: one action at a time, in steps that survive a kill at any write.
// Its state is on the objects themselves, and each change names the version that it has seen.
package execute

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// every is the time between two passes. While there is nothing to do, it is idle times as long, because such a pass
// reads all nodes, pods and hosts.
const (
	every = 10 * time.Second
	idle  = 6
)

// maxWrites bounds the moves of one pass, in case two processes ever work against each other.
const maxWrites = 200

// Planner makes plans from the present state of the clusters.
type Planner interface {
	// State reads the clusters.
	State(ctx context.Context) (*disruption.State, error)
	// PlanOf and Validate call package disruption with the settings in force.
	PlanOf(ctx context.Context, s *disruption.State, now time.Time) (api.Plan, error)
	Validate(ctx context.Context, p api.Plan, s *disruption.State, now time.Time) error
}

// Options are what a Runner needs.
type Options struct {
	Planner Planner
	// Hold says why nothing more may start now: a host waits for a slot, a breaker is open, a pool is paused, the view is
	// stale; "": it may. It must not block.
	Hold func() string
	// Client returns the client of a cluster whose nodes run on our hosts; the zero key is the throttle's own.
	Client     func(ctx context.Context, cluster disruption.Key) (client.Client, error)
	Namespaces []string    // of hosts and Machines; none: all
	Leading    func() bool // whether this process leads; called before each pass and write
	Now        func() time.Time
	Instance   string       // our name in Events
	Log        *slog.Logger // has a line for each write
}

// Runner carries out plans. Make one with New.
type Runner struct {
	o Options

	begun  string            // the record that this process has begun, as it was validated; "": none
	plan   *api.Plan         // a plan that waits until it is due
	warned map[string]string // the last warning of each kind in the log
	idle   bool              // the last pass found nothing to do
	swept  bool              // the last sweep left no mark, and no command has been at work since

	mu      sync.Mutex
	running *api.PlanRunning // without LastError; nil: no command is unfinished
	err     string           // of the last pass; "": none
	failing time.Time        // since when all passes have failed
}

// New returns a Runner, which does nothing before Run.
func New(o Options) *Runner { return &Runner{o: o, warned: map[string]string{}} }

// Run works until ctx ends, and then returns nil. An unfinished command stays marked: the next leader continues it, or
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

// rest returns the time to the next pass. The pass for a plan comes when the plan is due.
func (r *Runner) rest() time.Duration {
	switch {
	case r.idle:
		return idle * every
	case r.plan == nil:
		return every
	}
	return min(every, max(time.Millisecond, r.plan.ExecuteAfter.Sub(r.o.Now())))
}

// pass continues unfinished commands; without any, it removes marks that are left over, and plans.
func (r *Runner) pass(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			r.plan = nil // it may be due, and rest would then be none
		}
	}()
	r.idle = false
	if !r.o.Leading() {
		r.plan, r.begun, r.swept = nil, "", false // another process may have continued since
		r.show(nil, move{})
		return nil
	}
	own := r.own(ctx)
	hosts := marked[*objects.Host](ctx, r, own, "BareMetalHost")
	if own.Err != nil {
		return own.Err
	}
	unfinished := false
	for _, h := range hosts {
		text, has := h.Annotations[commandMark]
		id, _, _ := done(h)
		switch c, fault := read(text); {
		case !has || fault == nil && (c.ID != id || !c.isOf(h)):
			// The host has only marks, or a copy of another host's record: the sweep removes them.
		case fault != nil: // nobody knows here what that command changes, so nothing begins
			const text = "the record of planned work on host %s: %w, or remove its annotation %s"
			err = errors.Join(err, fmt.Errorf(text, keyOf(h), fault, commandMark))
		default:
			unfinished = true
			err = errors.Join(err, r.finish(ctx, keyOf(h)))
		}
	}
	if unfinished {
		r.plan = nil
		return err
	}
	r.show(nil, move{})
	if err != nil {
		return err
	}
	return r.consider(ctx, hosts)
}

// finish does all that is possible now for the command whose record is on the host.
func (r *Runner) finish(ctx context.Context, host string) error {
	r.swept = false
	for range maxWrites {
		own := r.own(ctx)
		h := objects.Get[*objects.Host](ctx, own, "BareMetalHost", host)
		if own.Err != nil {
			return own.Err
		}
		text := h.Annotations[commandMark]
		c, err := read(text)
		if id, _, _ := done(h); err != nil || id != c.ID || !c.isOf(h) {
			return errors.Join(fmt.Errorf("somebody has removed or changed the record on host %s", host), err)
		}
		if known := r.Running(); known == nil || known.ID != c.ID { // before look, which may fail
			r.show(&c, move{})
		}
		s, err := r.look(ctx, &c, h)
		if err != nil {
			return fmt.Errorf("command %s: %w", c.ID, err)
		}
		next := c.next(s, moment{now: r.o.Now(), live: text == r.begun, hold: r.o.Hold()})
		r.report(ctx, &c, s, next)
		switch err := r.writes(ctx, &c, next); {
		case errors.Is(err, errLater):
			return nil // the next pass looks again
		case err != nil:
			return err
		case next.done:
			r.begun = "" // if somebody writes the same record again, nobody has begun it
			r.end(ctx, &c, s)
			return nil
		case next.away != nil:
			return fmt.Errorf("command %s: %w", c.ID, next.away)
		case next.pause, len(next.writes) == 0:
			return nil
		}
	}
	return fmt.Errorf("host %s: no end after %d moves", host, maxWrites)
}

// writes does the writes of a move. An eviction that fails does not keep it from the other pods.
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
