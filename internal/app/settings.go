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

// toIronic returns where Ironic is, unless a finder looks for it, and how to reach it. config.Load has filled the
// defaults in, so an empty path means that there is no file.
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
		s.Endpoint, s.Locate = "http://ironic", a.finder.Access // Locate replaces the URL
	}
	return s
}

// admissionConfig returns the settings of the Controller. hosts may ask for their own hold-offs; nil: none does.
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

// slotsConfig returns the settings of the ledger of slots.
func slotsConfig(c config.Config) slots.Config {
	l := c.Limits
	media, _ := strconv.Atoi(l.VirtualMedia) // 0 for a word
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

// breakers returns the settings of the circuit breakers; nil: they are off.
func breakers(b config.Breaker) *admission.Breakers {
	if !b.Enabled {
		return nil
	}
	d := admission.DefaultBreakers()
	// Where 10 failures open the breaker of the whole Ironic, 3 open that of a conductor group.
	d.Ironic.FailureThreshold, d.Others.FailureThreshold = b.Threshold, max(2, (3*b.Threshold+9)/10)
	d.Ironic.RecoveryTimeout, d.Others.RecoveryTimeout = b.RecoveryTimeout, b.RecoveryTimeout
	d.Ironic.RateLimitPerMinute = b.RateLimitPerMinute
	return d
}

// holdoffConfig returns the settings of the hold-offs, with those that single hosts ask for.
func holdoffConfig(h config.Holdoff, hosts *clusterhosts.Hosts) (holdoff.Config, holdoff.Quota, error) {
	quota, err := holdoff.ParseQuota(h.MaxFailed)
	if err != nil {
		return holdoff.Config{}, quota, fmt.Errorf("IRONIC_THROTTLE_MAX_FAILED: %w", err)
	}
	const longest = 48 * time.Hour // HOLDOFF_GROWTH makes no hold-off longer than this, and shortens none
	c := holdoff.Config{
		Timeout: h.Timeout, Stage: holdoff.Stage(h.Stage), Growth: h.Growth, GrowthCap: longest,
		Hosts: hosts.Holdoffs(h.Hosts, max(h.Timeout, longest)),
	}
	return c, quota, c.Validate()
}
