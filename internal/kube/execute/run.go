// Package execute carries out plans of planned work: one action at a time, in steps that survive a kill at any write. What
// is under way is on the objects themselves; each change names the version that was seen.
package execute

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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

// maxWrites bounds the writes of one pass, maxConflicts those of them that meet a newer version, should two processes ever
// work against each other, and maxRefused what is remembered of actions.
const (
	maxWrites    = 200
	maxConflicts = 5
	maxRefused   = 1000
)

// refusedFor is how long an action that could not be begun is left alone.
const refusedFor = 10 * time.Minute

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
	// Failed tells of an error of a workload cluster.
	Failed(of disruption.Key, err error)
}

// Options are what a Runner needs. Planner, Own and Clusters are required.
type Options struct {
	Planner  Planner
	Own      client.Client // of the cluster that the throttle runs in
	Clusters Clusters
	// Namespaces are where hosts and Machines are looked for; none: everywhere.
	Namespaces []string
	Leading    func() bool      // whether this process leads: asked before each pass and write; nil: it does
	Now        func() time.Time // nil: time.Now
	Every      time.Duration    // between two passes; 0: 10 s
	NewID      func() string    // of a command; nil: at random
	Instance   string           // our name in Events
	Log        *slog.Logger     // of each write; nil: silent
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
	alone   string           // hosts whose record another version has written
	err     error            // of the last pass
	failing time.Time        // since when each pass has failed; zero: the last one did not
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
	if len(o.Namespaces) == 0 {
		o.Namespaces = []string{""}
	}
	return &Runner{o: o, refused: map[string]time.Time{}, warned: map[string]string{}, tainted: true}
}

// Run works until ctx ends, and returns nil then. What is unfinished stays marked: whoever leads next goes on with it, or
// takes it back.
func (r *Runner) Run(ctx context.Context) error {
	for {
		err := r.pass(ctx)
		r.note(err, ctx.Err() != nil)
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
	hosts, err := marked[objects.HostSpec, objects.HostStatus](ctx, r, "BareMetalHost")
	if err != nil {
		return err
	}
	alive, alone := map[string]bool{}, ""
	var unfinished []*objects.Host
	for _, h := range hosts {
		c, err := read(h.Annotations[commandMark])
		switch {
		case h.Labels[commandMark] != c.ID: // of a host that is not the first of its command, or not ours
		case errors.Is(err, errUnknown):
			alone += " " + keyOf(h).String()
			alive[c.ID] = true
		case err == nil && c.of(h):
			unfinished = append(unfinished, h)
			alive[c.ID] = true
		}
	}
	r.leaveAlone(strings.TrimSpace(alone))
	if len(unfinished) > 0 {
		r.plan = nil
		for _, h := range unfinished {
			err = errors.Join(err, r.finish(ctx, h))
		}
		return err
	}
	r.show(nil, move{})
	if err := r.sweep(ctx, hosts, alive); err != nil {
		return err
	}
	if alone != "" { // what it is about to change, nobody knows here
		r.plan, r.idle = nil, true
		return nil
	}
	return r.consider(ctx, alive)
}

// finish does what can be done now for the command whose record is on a host.
func (r *Runner) finish(ctx context.Context, h *objects.Host) error {
	conflicts := 0
	for range maxWrites {
		c, err := read(h.Annotations[commandMark])
		if err != nil || h.Labels[commandMark] != c.ID || !c.of(h) {
			return errors.Join(fmt.Errorf("somebody has removed or changed the record on host %s", keyOf(h)), err)
		}
		r.meet(&c)
		s, err := r.look(ctx, &c, h)
		if err != nil {
			return fmt.Errorf("command %s: %w", c.ID, err)
		}
		next := c.next(s, moment{now: r.o.Now(), live: r.begun != nil && r.begun.same(c), hold: r.o.Planner.Hold()})
		r.report(ctx, &c, s, next)
		met, err := r.writes(ctx, &c, next)
		conflicts += met
		switch {
		case err != nil:
			return err
		case next.done && met == 0:
			r.end(ctx, &c, s)
			return nil
		case next.away != nil:
			return fmt.Errorf("command %s: %w", c.ID, next.away)
		case next.pause, len(next.writes) == 0, conflicts > maxConflicts:
			return nil
		}
		if h, err = get(ctx, r.o.Own, &objects.Host{}, "BareMetalHost", c.Targets[0].Host); err != nil {
			return err
		}
	}
	return fmt.Errorf("host %s: no end after %d writes", keyOf(h), maxWrites)
}

// writes does the writes of a command, and counts those that met a newer version. An eviction that fails does not keep the
// other pods.
func (r *Runner) writes(ctx context.Context, c *record, next move) (conflicts int, failed error) {
	for _, w := range next.writes {
		err := r.write(ctx, w, "command", c.ID, "action", c.Action, "reason", string(c.Reason))
		switch {
		case errors.Is(err, errLater):
			conflicts++
		case err != nil && !w.evict:
			return conflicts, err
		}
		if !errors.Is(err, errLater) {
			failed = errors.Join(failed, err)
		}
	}
	return conflicts, failed
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
		if at, ok := r.refused[a.ID]; a.Decision == api.PlanReport || ok && r.o.Now().Sub(at) < refusedFor {
			return false
		}
		return a.Pool == "" || slices.ContainsFunc(s.Pools, func(known disruption.Pool) bool {
			return pool{known.Kind, known.Key}.String() == a.Pool && known.Execute && (known.Scales || a.Decision == api.PlanReprovision)
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
	c, err := recordOf(a, r.o.NewID(), now)
	if err != nil {
		r.refuse(a, err)
		return nil
	}
	host, err := get(ctx, r.o.Own, &objects.Host{}, "BareMetalHost", c.Targets[0].Host)
	if err != nil {
		return err
	}
	seen, err := r.look(ctx, &c, host)
	if err != nil {
		return fmt.Errorf("action %s: %w", a.ID, err)
	}
	for _, n := range seen.nodes {
		if n.away != nil {
			return fmt.Errorf("action %s: %w", a.ID, n.away)
		}
	}
	if err := c.complete(seen, now); err != nil {
		r.refuse(a, err)
		return nil
	}
	r.begun = &c
	args := []any{"command", c.ID, "action", a.ID, "reason", string(a.Reason), "evidence", a.Evidence, "savingPerHour", a.SavingPerHour}
	if err := r.write(ctx, c.first(seen), args...); errors.Is(err, errLater) {
		return nil // the next plan knows
	} else if err != nil {
		return err
	}
	r.tell(ctx, seen, "Normal", "PlannedWorkStarted", fmt.Sprintf("%s of %s begins: %s", c.Decision, c.Targets[0].Host, strings.Join(a.Evidence, "; ")))
	return r.finish(ctx, seen.hosts[0])
}

// refuse leaves an action that cannot be carried out alone for a while.
func (r *Runner) refuse(a api.PlanAction, err error) {
	if len(r.refused) > maxRefused {
		clear(r.refused)
	}
	r.refused[a.ID] = r.o.Now()
	r.o.Log.Warn("an action of the plan is not carried out", "action", a.ID, "decision", string(a.Decision), "pool", a.Pool, "error", err)
}
