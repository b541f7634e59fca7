// Package bmopatch is what the BareMetal Operator would get to ask a throttle before it
// starts work on a host (docs/check.md). It is a proposal in compiled form: nothing
// of ironic-throttle uses it.
package bmopatch

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Variables of the operator.
const (
	urlVariable      = "PROVISIONING_THROTTLE_URL"      // such as http://127.0.0.1:8087; unset: no throttle
	fallbackVariable = "PROVISIONING_THROTTLE_FALLBACK" // deny (default) or builtin
)

// timeout bounds an ask: a reconcile never hangs on the throttle (LH-29).
const timeout = 2 * time.Second

// Throttle asks ironic-throttle whether a host may start. It is safe for concurrent use.
type Throttle struct {
	client  *api.Client
	builtin bool
}

// FromEnv returns the throttle that the environment names, or nil where it names none.
func FromEnv() (*Throttle, error) {
	url := os.Getenv(urlVariable)
	if url == "" {
		return nil, nil //nolint:nilnil // no throttle is no fault
	}
	client, err := api.NewClient(url, api.WithTimeout(timeout))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", urlVariable, err)
	}
	t := &Throttle{client: client}
	switch fallback := os.Getenv(fallbackVariable); fallback {
	case "", "deny":
	case "builtin":
		t.builtin = true
	default:
		return nil, fmt.Errorf("%s: %q must be deny or builtin", fallbackVariable, fallback)
	}
	return t, nil
}

// HasCapacity reports whether host, in state or about to enter it, may work now. A no is
// never an error: the host is delayed and asks again. Where the throttle does not answer
// nothing new starts, so that the limit holds, unless the user wants the operator's own
// rule then: that gives the limit up.
func (t *Throttle) HasCapacity(
	ctx context.Context, log logr.Logger, host *metal3api.BareMetalHost, state metal3api.ProvisioningState,
	virtualMedia bool, builtin func(context.Context) (bool, error),
) (bool, error) {
	answer, err := t.client.IsReady(ctx, api.Ask{
		Namespace: host.Namespace, Name: host.Name, UID: string(host.UID),
		NodeUUID:   host.Status.Provisioning.ID,
		Op:         operation(host, state),
		BMHState:   api.BMHState(state),
		ErrorCount: host.Status.ErrorCount, // and ProvisioningFailCount, where the status has it
		Deleting:   !host.DeletionTimestamp.IsZero(), VirtualMedia: virtualMedia,
	})
	switch {
	case err != nil && t.builtin:
		log.Error(err, "the throttle does not answer, deciding without it")
		return builtin(ctx)
	case err != nil:
		log.Error(err, "the throttle does not answer, the host has to wait")
	case !answer.Ready:
		log.Info("the host has to wait", "reason", answer.Reason, "message", answer.Message, "position", answer.Position)
	}
	return err == nil && answer.Ready, nil
}

// operation is what host wants in state: none when nothing is left to start, so that a
// delayed host whose user has changed his mind is let through.
func operation(host *metal3api.BareMetalHost, state metal3api.ProvisioningState) api.Op {
	op, starts := api.OpFor(api.BMHState(state))
	resting := op == api.OpProvision && state != metal3api.StateProvisioning && !host.NeedsProvisioning()
	kept := op == api.OpDeprovision && state != metal3api.StateDeprovisioning && host.DeletionTimestamp.IsZero()
	if !starts || resting || kept {
		return api.OpNone
	}
	return op
}
