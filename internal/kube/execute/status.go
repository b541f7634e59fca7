package execute

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/tell"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// failsFor is how long all passes must fail before Warnings says so.
const failsFor = 5 * time.Minute

// page names the page that tells operators what to do.
const page = `docs/planned-work.md, "When it is stuck"`

// Running returns the unfinished command for GET /v1/plan; nil: there is none. It is safe for concurrent use.
func (r *Runner) Running() *api.PlanRunning {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil {
		return nil
	}
	shown := *r.running
	shown.LastError = r.err
	return &shown
}

// Warnings says what does not end by itself, and the remedy. The texts change only when the state does, so that the
// status does not change all the time. It is safe for concurrent use.
func (r *Runner) Warnings(now time.Time) (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	clock := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	if c := r.running; c != nil && c.Stuck {
		all = append(all, fmt.Sprintf("planned work is stuck: the %s of host %s has been in one step since %s (%s), and "+
			"waits: %s. To end it, remove the annotation %s of BareMetalHost %s (%s)",
			c.Decision, c.Hosts[0], clock(c.Since), c.Step, c.WaitsFor, commandMark, c.Hosts[0], page))
	}
	if r.err != "" && now.Sub(r.failing) >= failsFor {
		const text = "planned work has not gone on since %s: %s. It is tried again all the time (%s)"
		all = append(all, fmt.Sprintf(text, clock(r.failing), r.err, page))
	}
	return all
}

// show sets what Running returns.
func (r *Runner) show(c *record, next move) {
	var shown *api.PlanRunning
	if c != nil {
		shown = &api.PlanRunning{
			ID: c.ID, Decision: c.Decision, Reason: c.Reason, Hosts: []string{c.Host}, Replacement: c.Spare,
			Step: steps[c.Step], WaitsFor: next.wait, Since: c.Since, Stuck: next.stuck,
		}
		if c.Why != "" {
			shown.Step = "it is taken back, because " + ironic.Line(c.Why, maxText)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = shown
}

// report shows what a command does, and says once that it is stuck.
func (r *Runner) report(ctx context.Context, c *record, s *seen, next move) {
	known := r.Running()
	r.show(c, next)
	if next.stuck && !known.Stuck {
		text := fmt.Sprintf("%s of %s is stuck in step %s: %s", c.Decision, c.Host, c.Step, next.wait)
		r.o.Log.Warn("planned work is stuck", "where", text, "command", c.ID, "action", c.Action)
		r.tell(ctx, s, corev1.EventTypeWarning, "PlannedWorkStuck", text)
	}
}

// end logs how a command has ended, and writes Events.
func (r *Runner) end(ctx context.Context, c *record, s *seen) {
	r.show(nil, move{})
	what := fmt.Sprintf("%s of %s is ", c.Decision, c.Host)
	kind, reason, text := corev1.EventTypeNormal, "PlannedWorkFinished", what+"done"
	if c.Why != "" {
		kind, reason, text = corev1.EventTypeWarning, "PlannedWorkAbandoned", what+"abandoned: "+c.Why
	}
	r.o.Log.Info("planned work has ended", "how", text, "command", c.ID, "action", c.Action)
	r.tell(ctx, s, kind, reason, text)
}

// tell writes an Event on the host and on the owner. A lost Event is no failure.
func (r *Runner) tell(ctx context.Context, s *seen, eventType, reason, text string) {
	for _, o := range []client.Object{s.host, s.owner} {
		if !found(o) {
			continue
		}
		kind := o.GetObjectKind().GroupVersionKind()
		on := corev1.ObjectReference{
			APIVersion: kind.GroupVersion().String(), Kind: kind.Kind,
			Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
		}
		if err := r.own(ctx).Create(ctx, tell.Event(on, eventType, reason, text, r.o.Instance, r.o.Now())); err != nil {
			r.o.Log.Debug("no Event about planned work", "object", name(o), "error", err)
		}
	}
}

// note keeps the error of a pass, and logs it unless the process ends.
func (r *Runner) note(err error, ends bool) {
	text := line(err)
	r.mu.Lock()
	if text != "" && r.err == "" {
		r.failing = r.o.Now()
	}
	r.err = text
	r.mu.Unlock()
	if !ends {
		r.warn("planned work does not go on: it is tried again", err)
	}
}

// warn logs an error once, until it changes.
func (r *Runner) warn(what string, err error) {
	if text := line(err); text != r.warned[what] {
		r.warned[what] = text
		if err != nil {
			r.o.Log.Warn("planned work is held up", "what", what, "error", text)
		}
	}
}

// line returns an error as one line; "": none.
func line(err error) string {
	if err == nil {
		return ""
	}
	return ironic.Line(err.Error(), maxText)
}
