package execute

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// settled is how old the youngest Machine of a pool must be before a command begins: the creation time tells Machines
// from those that come later.
const settled = time.Minute

// consider reads the clusters, removes marks that are left over, and makes a plan, or carries out the one that is due.
func (r *Runner) consider(ctx context.Context, hosts []*objects.Host) error {
	held := r.o.Hold() != ""
	if r.plan != nil && r.o.Now().Before(r.plan.ExecuteAfter) && !held {
		return nil
	}
	p := r.plan
	if r.plan, r.idle = nil, true; held && r.swept {
		return nil
	}
	s, err := r.o.Planner.State(ctx)
	if err != nil {
		return fmt.Errorf("state for a plan: %w", err)
	}
	if err := r.sweep(ctx, s, hosts); err != nil {
		return err
	}
	switch {
	case held || r.o.Hold() != "" || s.Throttle.Waiting > 0:
		return nil
	case p == nil:
		return r.make(ctx, s)
	}
	err = r.o.Planner.Validate(ctx, *p, s, r.o.Now())
	if why := new(disruption.Abandoned); errors.As(err, &why) {
		r.o.Log.Info("a plan no longer holds: it is abandoned", "why", why.Why)
		return nil
	} else if err != nil {
		return fmt.Errorf("validation of a plan: %w", err)
	}
	return r.begin(ctx, p, s)
}

// make makes a plan, and keeps it if it has something to do.
func (r *Runner) make(ctx context.Context, s *disruption.State) error {
	p, err := r.o.Planner.PlanOf(ctx, s, r.o.Now())
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	some := slices.ContainsFunc(p.Actions, func(a api.PlanAction) bool { return allowed(a, s) })
	if p.DryRun || p.Blocked != "" || !some {
		return nil
	}
	r.plan, r.idle = &p, false
	return nil
}

// allowed reports whether the pool of an action allows it to be carried out.
func allowed(a api.PlanAction, s *disruption.State) bool {
	return len(a.Hosts) > 0 && slices.ContainsFunc(s.Pools, func(p disruption.Pool) bool {
		return string(p.Kind)+" "+p.String() == a.Pool && p.Execute && (p.Scales || a.Decision == api.PlanReprovision)
	})
}

// begin begins the first possible action of a plan that has just been validated.
func (r *Runner) begin(ctx context.Context, p *api.Plan, s *disruption.State) error {
	var refused error
	defer func() { r.warn("an action of the plan is not carried out", refused) }()
	for _, a := range p.Actions {
		if !allowed(a, s) {
			continue
		}
		c := recordOf(a, strings.ToLower(rand.Text())[:16], r.o.Now())
		seen, err := r.look(ctx, &c, nil)
		if err != nil {
			return err
		}
		if err := c.complete(seen); err != nil {
			refused = errors.Join(refused, fmt.Errorf("%s of %s: %w", a.Decision, c.Host, err))
			continue
		}
		return r.first(ctx, &c, seen, a)
	}
	return nil
}

// first writes the record of a command on its host: from now on, another process finds it.
func (r *Runner) first(ctx context.Context, c *record, s *seen, a api.PlanAction) error {
	r.begun, r.idle = c.text(), false
	w := c.plan(s.host)
	w.what, w.to = "begins planned work", string(c.Step)
	w.annotations[commandMark] = r.begun
	args := []any{
		"command", c.ID, "action", a.ID, "reason", string(a.Reason), "evidence", a.Evidence, "savingPerHour", a.SavingPerHour,
	}
	if err := r.write(ctx, w, args...); errors.Is(err, errLater) {
		return nil // the host has changed: the next plan sees that
	} else if err != nil {
		return err
	}
	text := fmt.Sprintf("%s of %s begins: %s", c.Decision, c.Host, strings.Join(a.Evidence, "; "))
	r.tell(ctx, s, corev1.EventTypeNormal, "PlannedWorkStarted", text)
	return r.finish(ctx, c.Host)
}

// recordOf returns the record for the first host of an action. The next plan decides on its other hosts. It does not
// look at the cluster.
func recordOf(a api.PlanAction, id string, now time.Time) record {
	h := a.Hosts[0]
	r := record{
		Version: version, ID: id, Action: a.ID, Decision: a.Decision, Reason: a.Reason, Pool: a.Pool,
		Started: now, Step: begun, Since: now,
		Host: h.Name, Machine: h.Machine, Node: h.Node, PowerOff: h.PowerOff && a.Decision != api.PlanReprovision,
	}
	if a.Replacement != nil {
		r.Spare = a.Replacement.Name
	}
	return r
}

// complete enters what the cluster shows, and fails if the action no longer fits it.
func (r *record) complete(s *seen) error {
	if s.node.away != nil {
		return s.node.away
	}
	r.HostUID, r.MachineUID, r.Consumer = string(s.host.UID), string(s.machine.UID), consumer(s.host)
	for _, m := range s.members {
		if m.CreationTimestamp.After(r.Newest) {
			r.Newest = m.CreationTimestamp.Time
		}
	}
	if why := r.refused(s, moment{now: r.Started, live: true}); why != "" {
		return errors.New(why)
	}
	if r.Decision != api.PlanRelease && r.Started.Sub(r.Newest) < settled {
		return fmt.Errorf("%s has a Machine that is younger than %s", r.Pool, settled)
	}
	return r.fault() // else pass would refuse the record that begin has written
}
