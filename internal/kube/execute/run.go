// Package execute carries out plans of planned work: one action at a time, in steps that survive a kill at any write. What
// is under way is on the objects themselves; each change names the version that was seen.
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

// every is the time between two passes, and idle how many times as long it is while there is nothing to do: a pass then
// reads all nodes, pods and hosts.
const (
	every = 10 * time.Second
	idle  = 6
)

// maxWrites bounds the moves of one pass, should two processes ever work against each other.
const maxWrites = 200

// Planner makes plans of the clusters as they are now.
type Planner interface {
	// State reads them.
	State(ctx context.Context) (*disruption.State, error)
	// PlanOf and Validate are those of package disruption, with the settings that are in force.
	PlanOf(ctx context.Context, s *disruption.State, now time.Time) (api.Plan, error)
	Validate(ctx context.Context, p api.Plan, s *disruption.State, now time.Time) error
}

// Options are what a Runner needs.
type Options struct {
	Planner Planner
	// Hold says why nothing further may start now: a real host waits, a breaker is open, a pool is paused, the view is
	// stale; "" = it may. It must not wait.
	Hold func() string
	// Client returns the client of a cluster whose nodes are on our hosts, and for the zero key of the throttle's own.
	Client     func(ctx context.Context, of disruption.Key) (client.Client, error)
	Namespaces []string         // where hosts and Machines are looked for; none: everywhere
	Leading    func() bool      // whether this process leads: asked before each pass and write
	Now        func() time.Time // the clock
	Instance   string           // our name in Events
	Log        *slog.Logger     // of each write
}

// Runner carries out plans. Make one with New.
type Runner struct {
	o Options

	begun  string            // the record that this process has begun, as it was validated; "" = none
	plan   *api.Plan         // made, and not old enough yet
	warned map[string]string // what the log has
	idle   bool              // the last pass has found nothing to do
	swept  bool              // no mark was left then, and no command has been at work since

	mu      sync.Mutex
	running *api.PlanRunning // without LastError; nil: no command is unfinished
	err     string           // of the last pass
	failing time.Time        // since when each pass has failed
}

// New makes a Runner, which does nothing before Run.
func New(o Options) *Runner { return &Runner{o: o, warned: map[string]string{}} }

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
		return idle * every
	case r.plan == nil:
		return every
	}
	return min(every, max(time.Millisecond, r.plan.ExecuteAfter.Sub(r.o.Now())))
}

// pass goes on with what is unfinished, else removes marks that are left, and plans.
func (r *Runner) pass(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			r.plan = nil // it is due, maybe: rest would be none
		}
	}()
	r.idle = false
	if !r.o.Leading() {
		r.plan, r.begun, r.swept = nil, "", false // somebody else may have gone on since
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
		case !has || fault == nil && (c.ID != id || !c.of(h)):
			// The host has marks alone, or a copy of another host's record: the sweep removes them.
		case fault != nil: // what it is about to change, nobody knows here: nothing begins
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

// finish does what can be done now for the command whose record is on a host.
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
		if id, _, _ := done(h); err != nil || id != c.ID || !c.of(h) {
			return errors.Join(fmt.Errorf("somebody has removed or changed the record on host %s", host), err)
		}
		if known := r.Running(); known == nil || known.ID != c.ID { // also where the look fails
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
			r.begun = "" // the same record, put there again, is nobody's
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
