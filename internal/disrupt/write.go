package disrupt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// The reasons of Events.
const (
	eventStarted   = "PlannedWorkStarted"
	eventFinished  = "PlannedWorkFinished"
	eventAbandoned = "PlannedWorkAbandoned"
	eventStuck     = "PlannedWorkStuck"
)

var errNotLeading = errors.New("this process leads no more")

// write does one change, and writes it into the log.
func (r *Runner) write(ctx context.Context, c *Command, w Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !r.o.Leading() {
		return errNotLeading
	}
	args := []any{"what", w.What, "kind", string(w.Object.Kind), "object", w.Object.Key.String()}
	if w.From != "" || w.To != "" {
		args = append(args, "from", w.From, "to", w.To)
	}
	if c == nil {
		args = append(args, "command", w.Object.Label, "why", "its command is no more")
	} else {
		args = append(args, "command", c.ID, "action", c.Action, "reason", string(c.Reason), "evidence", c.Evidence, "savingPerHour", c.Saving)
	}
	switch err := r.o.Cluster.Do(ctx, w); {
	case err == nil:
		r.o.Log.Info("planned work", args...)
		return nil
	case errors.Is(err, ErrConflict), errors.Is(err, ErrBudget), errors.Is(err, ErrGone):
		r.o.Log.Debug("planned work: not now", append(args, "error", err)...)
		return err
	default:
		return fmt.Errorf("planned work: %s %s: %s: %w", w.Object.Kind, w.Object.Key, w.What, err)
	}
}

// begin begins an action of a plan that was validated just now.
func (r *Runner) begin(ctx context.Context, p api.Plan, s *disruption.State) error {
	at := r.choose(p, s)
	if at < 0 || r.o.Planner.Hold() != "" {
		return nil
	}
	now := r.o.Now()
	c, err := commandOf(p.Actions[at], r.o.NewID(), now)
	if err != nil {
		r.refuse(p.Actions[at], err)
		return nil
	}
	seen, err := r.o.Cluster.Look(ctx, c)
	if err != nil {
		return fmt.Errorf("action %s: %w", c.Action, err)
	}
	if err := c.complete(seen, now); err != nil {
		r.refuse(p.Actions[at], err)
		return nil
	}
	r.live[c.ID] = c
	if err := r.write(ctx, &c, c.first(seen)); err != nil {
		if errors.Is(err, ErrConflict) || errors.Is(err, ErrGone) {
			return nil // the next plan knows
		}
		return err
	}
	r.tell(ctx, &c, seen, Notice{Reason: eventStarted, Message: fmt.Sprintf("%s of %s begins: %s", c.Decision, c.Targets[0].Host, c.Evidence)})
	return r.resume(ctx, c)
}

// refuse leaves an action that cannot be carried out alone for a while.
func (r *Runner) refuse(a api.PlanAction, err error) {
	const most = 1000
	if len(r.refused) > most {
		clear(r.refused)
	}
	r.refused[a.ID] = r.o.Now()
	r.o.Log.Warn("an action of the plan is not carried out", "action", a.ID, "decision", string(a.Decision), "pool", a.Pool, "error", err)
}

// finish tells how a command has ended.
func (r *Runner) finish(ctx context.Context, c *Command, s *Seen) {
	delete(r.live, c.ID)
	delete(r.told, c.ID)
	r.show(nil, step{})
	n := Notice{Reason: eventFinished, Message: fmt.Sprintf("%s of %s is done", c.Decision, c.Targets[0].Host)}
	level := slog.LevelInfo
	if c.Abandoned != "" {
		n = Notice{Warning: true, Reason: eventAbandoned, Message: fmt.Sprintf("%s of %s is abandoned: %s", c.Decision, c.Targets[0].Host, c.Abandoned)}
		level = slog.LevelWarn
	}
	r.o.Log.Log(ctx, level, "planned work has ended", "how", n.Message, "command", c.ID, "action", c.Action)
	r.tell(ctx, c, s, n)
}

// tellStrays tells of marks that cannot be removed. They are no reason to do nothing: what has one is left alone.
func (r *Runner) tellStrays(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != r.stray {
		r.o.Log.Warn("marks of planned work that is no more cannot be removed", "error", cut(text))
	}
	r.stray = text
}

// report tells of a command that is stuck, once.
func (r *Runner) report(ctx context.Context, c *Command, s *Seen, st step) {
	if !st.stuck {
		delete(r.told, c.ID)
		return
	}
	if r.told[c.ID] {
		return
	}
	r.told[c.ID] = true
	n := Notice{Warning: true, Reason: eventStuck, Message: fmt.Sprintf("%s of %s is stuck in stage %s: %s", c.Decision, c.Targets[0].Host, c.Stage, st.wait)}
	r.o.Log.Warn("planned work is stuck", "where", n.Message, "command", c.ID, "action", c.Action)
	r.tell(ctx, c, s, n)
}

// tell puts an Event on the host and on the owner. That one is lost is no failure.
func (r *Runner) tell(ctx context.Context, c *Command, s *Seen, n Notice) {
	objects := []Object{s.Hosts[0].Object}
	if s.Owner.Found() {
		objects = append(objects, s.Owner.Object)
	}
	for _, o := range objects {
		if err := r.o.Cluster.Tell(ctx, o, n); err != nil {
			r.o.Log.Debug("no Event about planned work", "command", c.ID, "object", o.Key.String(), "error", err)
		}
	}
}
