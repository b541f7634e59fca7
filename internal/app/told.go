package app

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// told is the decision as servers and gateway ask it: what it answers is passed on to
// those who tell hosts in the cluster how they stand.
type told struct {
	*admission.Controller
	app *App
}

// decider is what servers and gateway ask.
func (a *App) decider() told { return told{a.controller, a} }

// IsReady is Controller's.
func (d told) IsReady(now time.Time, ask api.Ask) api.Answer {
	answer := d.Controller.IsReady(now, ask)
	if !ask.DryRun {
		d.tell(ask, answer)
	}
	return answer
}

// Forward is Controller's.
func (d told) Forward(now time.Time, ask api.Ask, target ironic.Target) (api.Answer, *admission.Pass) {
	answer, pass := d.Controller.Forward(now, ask, target)
	d.tell(ask, answer)
	return answer, pass
}

// ReleaseHold is Controller's.
func (d told) ReleaseHold(now time.Time, namespace, name, episode string) (api.ReleaseAnswer, error) {
	answer, err := d.Controller.ReleaseHold(now, namespace, name, episode)
	if err == nil && answer.Released && d.app.recorder != nil {
		d.app.recorder.Released(answer.Hold.Namespace, answer.Hold.Name, "hand")
	}
	return answer, err
}

// findNode asks Ironic for the state of a node.
func (a *App) findNode(ctx context.Context, key string) (state string, found bool, err error) {
	node, found, err := a.client.Node(ctx, key)
	return string(node.State), found, err
}

// hasScope reports whether Ironic has a node in the scope of a breaker, which needs none
// that works or asks.
func (a *App) hasScope(ctx context.Context, scope string) (bool, error) {
	of, err := breaker.ParseScope(scope)
	if err != nil {
		return false, err
	}
	switch of.Kind {
	case admission.ScopeDriver:
		return a.client.HasNode(ctx, "driver", of.Name)
	case admission.ScopeGroup:
		found, err := a.client.HasNode(ctx, "conductor_group", of.Name)
		if found || err != nil || of.Name != admission.DefaultGroup {
			return found, err
		}
		return a.client.HasNode(ctx, "conductor_group", "")
	}
	return false, nil
}

// groups are the scopes of the conductor groups in the list of all nodes, which is read
// where it is not at hand; none where it does not come.
func (a *App) groups(ctx context.Context) []string {
	v, err := a.list.inventory.Get(ctx)
	if err != nil {
		return nil
	}
	found := map[string]bool{}
	for i := range v.Len() {
		found[v.At(i).ConductorGroup] = true
	}
	var scopes []string
	for name := range found {
		of := breaker.Scope{Kind: admission.ScopeGroup, Name: cmp.Or(name, admission.DefaultGroup)}
		scopes = append(scopes, of.String())
	}
	slices.Sort(scopes)
	return scopes
}

func (d told) tell(ask api.Ask, answer api.Answer) {
	h := d.app.recorder
	if h == nil || !d.app.mayStart() {
		return
	}
	if host, known := (knownHosts{d.app.hosts, d.app.now}).find(ask.Namespace, ask.Name, ask.NodeUUID); known {
		if fault := d.app.notes.fault(host.Namespace, host.Name); fault != "" {
			d.app.tellFault(host.Namespace, host.Name, fault)
		}
		h.Answered(host.Namespace, host.Name, forTenant(answer))
	}
}

// forTenant is an answer without what it tells of other hosts: an Event can be read by
// whoever owns the namespace.
func forTenant(a api.Answer) api.Answer {
	if a.Reason == api.ReasonBreakerOpen || a.Reason == api.ReasonHalfOpen || a.Reason == api.ReasonShortCircuit {
		a.Message = "too many other hosts have failed; this one starts when the cause is mended, or when a try of another one goes well"
	}
	return a
}
