package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
)

// words of --breaker.
const (
	breakerOn  = "on"
	breakerOff = "off"
)

// maxThresholdOf and longestRecovery are the bounds of BREAKER_THRESHOLD and
// BREAKER_RECOVERY_TIMEOUT.
const (
	maxThresholdOf  = 1000
	longestRecovery = 10_000 * time.Hour
)

// breakerFaults tells what is wrong with the settings of the breakers.
func (o *Options) breakerFaults() []error {
	var errs []error
	b := o.Breakers
	if b == nil {
		return nil
	}
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if n := b.Ironic.FailureThreshold; n < 2 || n > maxThresholdOf {
		bad("--breaker-threshold %d: must be 2 to %d", n, maxThresholdOf)
	}
	if d := b.Others.RecoveryTimeout; d <= 0 || d > longestRecovery {
		bad("--breaker-recovery %v: must be above 0 and at most 10000h", d)
	}
	return errs
}

// probes tells whether the slot that h was given now makes it a probe.
func (t *throttle) probes(h *host) bool {
	if t.s.opt.Breakers == nil || !t.opened {
		return false
	}
	return slices.ContainsFunc(t.c.Breakers(t.s.clock).Breakers, func(b api.Breaker) bool {
		return b.State == string(breaker.HalfOpen) && h.within(b.Scope)
	})
}

// within tells whether h belongs to a scope, as it is written.
func (h *host) within(scope string) bool {
	switch scope {
	case admission.ScopeIronic, admission.ScopeGroup + ":" + h.group:
		return true
	}
	return false
}

// failureNotices notes what the breakers did.
func (t *throttle) failureNotices(all []admission.FailureNotice) {
	for _, n := range all {
		if n.Kind != admission.BreakerChanged {
			continue
		}
		t.opened = true
		t.s.meter.fails.turned(n)
	}
}
