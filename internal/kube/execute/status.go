package execute

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/tell"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// failsFor is how long passes may fail in a row until somebody is warned.
const failsFor = 5 * time.Minute

// page is where an operator reads what to do.
const page = `docs/planned-work.md, "When it is stuck"`

// Running is what GET /v1/plan shows of the command that is unfinished; nil: none is.
func (r *Runner) Running() *api.PlanRunning {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil {
		return nil
	}
	shown := *r.running
	shown.LastError = line(r.err)
	return &shown
}

// Warnings tell of what does not end by itself, and of the remedy. Their times are such that stay, so that a status does
// not change by them.
func (r *Runner) Warnings(now time.Time) (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.running; c != nil && c.Stuck {
		all = append(all, fmt.Sprintf("planned work is stuck: the %s of host %s has been in one step since %s (%s), and waits: %s. "+
			"To end it, remove the annotation %s of BareMetalHost %s (%s)",
			c.Decision, c.Hosts[0], clock(c.Since), c.Step, c.WaitsFor, commandMark, c.Hosts[0], page))
	}
	if r.err != nil && now.Sub(r.failing) >= failsFor {
		all = append(all, fmt.Sprintf("planned work has not gone on since %s: %s. It is tried again all the time (%s)", clock(r.failing), line(r.err), page))
	}
	return all
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// line is an error in one line.
func line(err error) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// words say what a step does.
func (r *record) words() string {
	if r.Why != "" {
		return steps[r.Step] + ", because " + r.Why
	}
	return steps[r.Step]
}

// show keeps what Running tells.
func (r *Runner) show(c *record, next move) {
	var shown *api.PlanRunning
	if c != nil {
		shown = &api.PlanRunning{
			ID: c.ID, Decision: c.Decision, Reason: c.Reason, Pool: c.Pool, Replacement: c.Spare, Step: c.words(),
			WaitsFor: next.wait, Since: c.Since, Stuck: next.stuck,
		}
		for _, t := range c.Targets {
			shown.Hosts = append(shown.Hosts, t.Host)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = shown
}

// report shows what a command does, and tells once where it is stuck.
func (r *Runner) report(ctx context.Context, c *record, s *seen, next move) {
	known := r.Running()
	r.show(c, next)
	if next.stuck && !known.Stuck {
		text := fmt.Sprintf("%s of %s is stuck in step %s: %s", c.Decision, c.Targets[0].Host, c.Step, next.wait)
		r.o.Log.Warn("planned work is stuck", "where", text, "command", c.ID, "action", c.Action)
		r.tell(ctx, s, corev1.EventTypeWarning, "PlannedWorkStuck", text)
	}
}

// end tells how a command has ended.
func (r *Runner) end(ctx context.Context, c *record, s *seen) {
	r.begun = nil
	r.show(nil, move{})
	kind, reason, text := corev1.EventTypeNormal, "PlannedWorkFinished", fmt.Sprintf("%s of %s is done", c.Decision, c.Targets[0].Host)
	if c.Why != "" {
		kind, reason = corev1.EventTypeWarning, "PlannedWorkAbandoned"
		text = fmt.Sprintf("%s of %s is abandoned: %s", c.Decision, c.Targets[0].Host, c.Why)
	}
	r.o.Log.Info("planned work has ended", "how", text, "command", c.ID, "action", c.Action)
	r.tell(ctx, s, kind, reason, text)
}

// tell puts an Event on the host and on the owner. That one is lost is no failure.
func (r *Runner) tell(ctx context.Context, s *seen, kind, reason, text string) {
	for _, o := range []client.Object{s.hosts[0], s.owner} {
		if !found(o) {
			continue
		}
		of := o.GetObjectKind().GroupVersionKind()
		on := corev1.ObjectReference{
			APIVersion: of.GroupVersion().String(), Kind: of.Kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
		}
		if err := r.o.Own.Create(ctx, tell.Event(on, kind, reason, text, r.o.Instance, r.o.Now())); err != nil {
			r.o.Log.Debug("no Event about planned work", "object", name(o), "error", err)
		}
	}
}

// note keeps the error of a pass. One of a process that ends is none.
func (r *Runner) note(err error, ends bool) {
	r.mu.Lock()
	if err != nil && r.err == nil {
		r.failing = r.o.Now()
	}
	r.err = err
	r.mu.Unlock()
	if !ends {
		r.warn("command", err)
	}
}

// warn tells the log of an error once, until it is another one.
func (r *Runner) warn(about string, err error) {
	if text := line(err); text != r.warned[about] {
		r.warned[about] = text
		if err != nil {
			r.o.Log.Warn("planned work does not go on: it is tried again", "with", about, "error", cut(text))
		}
	}
}
