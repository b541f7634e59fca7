package app

import (
	"log/slog"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// ironicSettings says how Ironic is reached. Defaults were filled in by
// internal/config, so an empty path stays empty.
func ironicSettings(o Options, log *slog.Logger) ironic.Settings {
	c := o.Config.Ironic
	return ironic.Settings{
		Endpoint:             c.Endpoint,
		AuthRootDir:          c.AuthRootDir,
		CACertFile:           c.CACertFile,
		Insecure:             c.Insecure,
		ClientCertFile:       c.ClientCertFile,
		ClientPrivateKeyFile: c.ClientKeyFile,
		ClientTimeout:        c.Timeout,
		CountExtras:          o.Config.Limits.ExtraStates,
		Images:               watches(o.Config.Breaker, config.ScopeImage),
		Transport:            o.Transport,
		Log:                  log,
	}
}

// toIronic is ironicSettings, where the cluster says the rest of it.
func (a *App) toIronic(o Options, log *slog.Logger) ironic.Settings {
	s := ironicSettings(o, log)
	if a.finder != nil {
		s.Endpoint, s.Locate = "http://ironic", a.finder.Access // what the URL says counts nowhere
	}
	return s
}

func watches(b config.Breaker, kind string) bool { return b.Enabled && slices.Contains(b.Scopes, kind) }

// admissionConfig is what the decision needs of c.
func admissionConfig(c config.Config) (admission.Config, error) {
	holds, quota, err := holdoffConfig(c.Holdoff, nil)
	return admission.Config{
		Mode:      admission.Mode(c.Mode),
		Adaptive:  c.Limits.Mode == config.LimitAdaptive,
		Turns:     turns(c.Turns),
		Breakers:  breakers(c.Breaker),
		Holdoff:   holds,
		MaxFailed: quota,
		Slots: slots.Config{
			Limits:             slotLimits(c.Limits),
			ExemptVirtualMedia: c.Limits.ExemptVirtualMedia,
			Count:              slots.CountMode(c.Limits.CountMode),
			CountExtra:         c.Limits.ExtraStates,
			LeaseTTL:           c.Leases.TTL,
			Linger:             c.Leases.Linger,
			Settle:             c.Leases.StartupSettle,
			MaxStale:           c.View.MaxStale,
			ListMaxAge:         c.View.ListMaxAge,
			StuckAfter:         c.Limits.StuckAfter,
		},
	}, err
}

// slotLimits is the part of the limits that changes while running.
func slotLimits(l config.Limits) slots.Limits {
	return slots.Limits{Total: l.Total, Groups: l.Pools, VirtualMedia: l.VirtualMedia, StuckCap: l.StuckCap}
}

// turns is the rest of what changes while running.
func turns(t config.Turns) admission.Turns {
	return admission.Turns{
		Threshold: t.FailingThreshold, Cap: int(t.FailingCap), Weights: t.Weights,
	}
}

// breakers are what circuit breakers watch; nil when they are off.
func breakers(b config.Breaker) *admission.Breakers {
	if !b.Enabled {
		return nil
	}
	d := admission.DefaultBreakers()
	d.Scopes = b.Scopes
	for _, c := range []*breaker.Config{&d.Ironic, &d.Others} {
		c.Mode = breaker.Mode(b.Mode)
		c.FailureThreshold = b.GroupThreshold
		c.FailureWindow, c.RecoveryTimeout = b.FailureWindow, b.RecoveryTimeout
		c.HalfOpenMaxRequests = b.HalfOpenMaxRequests
	}
	d.Ironic.FailureThreshold = b.Threshold
	if d.Ironic.RatioPercent = b.Ratio; b.Ratio == 0 {
		d.Ironic.RatioMinimum = 0 // both or none
	}
	d.Ironic.RateLimitPerMinute = b.RateLimitPerMinute
	return d
}
