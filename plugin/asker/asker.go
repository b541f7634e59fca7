// Package asker asks the throttle before BMO's provisioner starts work on a host. It knows
// nothing of BMO but a Host, so that its tests run without one. The provisioner around
// Ironic's that uses it is ../_bmo/main.go, built in a checkout of BMO (docs/plugin.md).
//
//	BMO: is there capacity?          HasCapacity   no: the host is delayed, back in 60 to 120 s
//	      │ yes, or it is among the next
//	BMO: do the work, or look at it  Wait          no: the host stays as it is, back in 10 s at most
//	      │ yes: it holds a slot
//	Ironic's provisioner
package asker

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// maxWait is the longest until a host that is among the next is looked at again. It is how
// often BMO looks at a host at work, too.
const maxWait = 10 * time.Second

// fewest is how many hosts are among the next at least. As many as there are slots are enough
// where work takes longer than a delayed host is away; a single look costs Ironic a few reads.
const fewest = 20

// Throttle is the part of api.Client that is needed.
type Throttle interface {
	IsReady(ctx context.Context, ask api.Ask) (api.Answer, error)
}

// Host is a BareMetalHost as far as the throttle wants to know it.
type Host struct {
	api.Ask // all but Op; BMHState is the present state

	Inspects   bool // inspection is not disabled
	WantsImage bool // an image is to be written, none is there
	LosesImage bool // the image that is there is not wanted any more
}

// Gate stands before the work on one host. It is made for one reconcile.
type Gate struct {
	Throttle Throttle
	Read     func(context.Context) (Host, error) // the host
	Log      logr.Logger
}

// HasCapacity reports whether BMO may go on with the host; false makes it delayed. A yes is no
// leave to start: that is Wait's. So hosts whose turn is next are told yes too, as many as there
// are slots and 20 at least, and take a freed slot within seconds instead of minutes. Without an answer it is a
// no. What is refused in mode observe, and let pass, is decided by builtIn, Ironic's own rule.
func (g Gate) HasCapacity(ctx context.Context, builtIn func(context.Context) (bool, error)) (bool, error) {
	answer, ok := g.ask(ctx, Host.next)
	if !ok {
		return false, nil
	}
	if answer.Reason == api.ReasonObserve {
		return builtIn(ctx)
	}
	among := answer.Position > 0 && answer.Position <= max(answer.Slots.Limit, fewest)
	return answer.Ready || among, nil
}

// Wait returns how long the host has to wait before it may do op, or go on with it: 0 is now.
func (g Gate) Wait(ctx context.Context, op api.Op) time.Duration {
	answer, ok := g.ask(ctx, func(Host) (api.Op, api.BMHState) { return op, stateOf(op) })
	if ok && answer.Ready {
		return 0
	}
	wait := maxWait
	if ok {
		wait = min(maxWait, max(time.Second, time.Duration(answer.RetryAfterSeconds)*time.Second))
	}
	return wait*3/4 + rand.N(wait/4) // those that were refused together do not come back together
}

// ask asks for what next says; ok is false without an answer.
func (g Gate) ask(ctx context.Context, next func(Host) (api.Op, api.BMHState)) (answer api.Answer, ok bool) {
	host, err := g.Read(ctx)
	if err != nil {
		g.Log.Error(err, "the BareMetalHost cannot be read, it has to wait")
		return api.Answer{}, false
	}
	host.Op, host.BMHState = next(host)
	answer, err = g.Throttle.IsReady(ctx, host.Ask)
	if err != nil {
		g.Log.Error(err, "the throttle does not answer, the host has to wait", "op", host.Op)
		return api.Answer{}, false
	}
	if !answer.Ready {
		g.Log.Info("the host has to wait", "op", host.Op, "reason", answer.Reason, "message", answer.Message)
	}
	return answer, true
}

// next is what the host wants to start in its present state: none where it wants nothing, so that a
// delayed host whose user has changed his mind is let through.
func (h Host) next() (api.Op, api.BMHState) {
	op, _ := api.OpFor(h.BMHState)
	switch {
	case op == api.OpInspect && !h.Inspects,
		op == api.OpPrepare, // often there is nothing to do; BMO's Prepare knows
		op == api.OpProvision && !h.WantsImage,
		op == api.OpDeprovision && h.BMHState != api.BMHDeprovisioning && !h.LosesImage && !h.Deleting:
		op = api.OpNone
	}
	return op, h.BMHState
}

// stateOf is the state of a host that does op.
func stateOf(op api.Op) api.BMHState {
	switch op {
	case api.OpInspect:
		return api.BMHInspecting
	case api.OpPrepare:
		return api.BMHPreparing
	case api.OpProvision:
		return api.BMHProvisioning
	case api.OpDeprovision:
		return api.BMHDeprovisioning
	}
	return api.BMHProvisioned
}
