package app

import (
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/clusterhosts"
	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// ironicTimeout bounds one request to Ironic.
const ironicTimeout = 30 * time.Second

// toIronic says how Ironic is reached, and where, unless the cluster says that. Defaults were filled in by
// internal/config, so an empty path stays empty.
func (a *App) toIronic(o Options, log *slog.Logger) ironic.Settings {
	c := o.Config.Ironic
	s := ironic.Settings{
		Endpoint:             c.Endpoint,
		AuthRootDir:          c.AuthRootDir,
		CACertFile:           c.CACertFile,
		Insecure:             c.Insecure,
		MinTLS:               o.Config.Access.MinVersion(),
		ClientCertFile:       c.ClientCertFile,
		ClientPrivateKeyFile: c.ClientKeyFile,
		ClientTimeout:        ironicTimeout,
		CountExtras:          o.Config.Limits.ExtraStates,
		Transport:            o.Transport,
		Log:                  log,
	}
	if a.finder != nil {
		s.Endpoint, s.Locate = "http://ironic", a.finder.Access // what the URL says counts nowhere
	}
	return s
}

// admissionConfig is what the decision needs of c; hosts may have hold-offs of their own, nil: none has.
func admissionConfig(c config.Config, hosts *clusterhosts.Hosts) (admission.Config, error) {
	holds, quota, err := holdoffConfig(c.Holdoff, hosts)
	return admission.Config{
		Mode:      admission.Mode(c.Mode),
		Adaptive:  c.Limits.Mode == config.LimitAdaptive,
		Weights:   c.Limits.Weights,
		Breakers:  breakers(c.Breaker),
		Holdoff:   holds,
		MaxFailed: quota,
		Slots:     slotsConfig(c),
	}, err
}

// slotsConfig is what the slots need of c.
func slotsConfig(c config.Config) slots.Config {
	l := c.Limits
	media, _ := strconv.Atoi(l.VirtualMedia) // or it is a word
	return slots.Config{
		Limits: slots.Limits{
			Total: l.Total, Groups: l.Pools, VirtualMedia: media, ExemptVirtualMedia: l.VirtualMedia == config.MediaExempt,
			StuckCap: (l.Total + 3) / 4,
		},
		Count: slots.CountMode(l.CountMode), CountExtra: l.ExtraStates, StuckAfter: l.StuckAfter,
		LeaseTTL: c.Leases.TTL, Linger: c.Leases.Linger, Settle: c.Leases.StartupSettle,
		MaxStale: c.View.MaxStale, ListMaxAge: c.View.ListMaxAge,
	}
}

// breakers are what circuit breakers watch; nil when they are off.
func breakers(b config.Breaker) *admission.Breakers {
	if !b.Enabled {
		return nil
	}
	d := admission.DefaultBreakers()
	// 3 of a conductor group where 10 open that of the whole Ironic.
	d.Ironic.FailureThreshold, d.Others.FailureThreshold = b.Threshold, max(2, (3*b.Threshold+9)/10)
	d.Ironic.RecoveryTimeout, d.Others.RecoveryTimeout = b.RecoveryTimeout, b.RecoveryTimeout
	d.Ironic.RateLimitPerMinute = b.RateLimitPerMinute
	return d
}

// holdoffConfig is what the decision needs of h, with what single hosts ask for.
func holdoffConfig(h config.Holdoff, hosts *clusterhosts.Hosts) (holdoff.Config, holdoff.Quota, error) {
	quota, err := holdoff.ParseQuota(h.MaxFailed)
	if err != nil {
		return holdoff.Config{}, quota, fmt.Errorf("IRONIC_THROTTLE_MAX_FAILED: %w", err)
	}
	const longest = 48 * time.Hour // that HOLDOFF_GROWTH makes; it shortens none
	c := holdoff.Config{
		Timeout: h.Timeout, Stage: holdoff.Stage(h.Stage), Growth: h.Growth, GrowthCap: longest,
		Hosts: hosts.Holdoffs(h.Hosts, max(h.Timeout, longest)),
	}
	return c, quota, c.Validate()
}
