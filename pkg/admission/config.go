package admission

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Mode says whether a refusal is given or only counted.
type Mode string

// The modes.
const (
	// Enforce refuses.
	Enforce Mode = "enforce"
	// Observe decides like Enforce, says yes to everybody, and counts what
	// Enforce would have refused.
	Observe Mode = "observe"
)

// Config is what a Controller needs to know. DefaultConfig is a usable one.
type Config struct {
	Mode  Mode
	Slots slots.Config
	Turns Turns
	// Breakers are nil where there are none.
	Breakers *Breakers
	// Holdoff says for how long failed hosts are left alone, and MaxFailed how many
	// may fail before a pool is paused.
	Holdoff   holdoff.Config
	MaxFailed holdoff.Quota
	// Holds are those of a file; HoldsKnown: there was such a file (BO-16).
	Holds      []holdoff.Record
	HoldsKnown bool
	// Hosts is nil where nobody knows the cluster.
	Hosts Hosts
	// Nodes is the list of all nodes; nil where there is none: then whoever asks is taken
	// for a host that exists, and their number has no bound.
	Nodes Nodes
	// Leading reports whether this process may say yes: that no other one decides for the
	// same Ironic (LH-27). It is asked with every decision, under the lock, and reads
	// clocks of its own: a process that was paused must not go by a now from before. nil:
	// always.
	Leading func() bool
	// GatewayRequests counts the requests that have come through the gateway; nil: there is none.
	GatewayRequests func() uint64
	// NotifyFailures gets the hosts that failed, the holds that ended, the breakers that opened, the
	// pools that were paused and the like, after the poll that showed it, as Notify is. It may be nil.
	NotifyFailures func([]FailureNotice)
	// Notify gets what happened to slots, after the poll that showed it, on
	// the goroutine that called Observe. It may be nil.
	Notify func([]slots.Notice)
}

// DefaultConfig returns the defaults of docs/settings.md.
func DefaultConfig() Config {
	everybody, _ := holdoff.ParseQuota("100%")
	return Config{
		Mode: Enforce, Slots: slots.DefaultConfig(), Turns: DefaultTurns(),
		Breakers: DefaultBreakers(), Holdoff: holdoff.DefaultConfig(), MaxFailed: everybody,
	}
}

// Breakers say what circuit breakers watch, and when they open (docs/spec/breaker.md).
type Breakers struct {
	// Scopes are the kinds that are watched: ScopeIronic and so on.
	Scopes []string
	// Ironic are the settings for the whole Ironic, Others those of every other scope.
	// The slots bound what runs at once, not MaxConcurrent.
	Ironic, Others breaker.Config
}

// DefaultBreakers returns the profile of docs/spec/breaker.md.
func DefaultBreakers() *Breakers {
	others := breaker.DefaultConfig()
	others.FailureWindow, others.ProbeLifetime = time.Hour, time.Hour
	others.RateLimitPerMinute, others.MaxConcurrent = 0, slots.MaxLimit
	whole := others
	whole.FailureThreshold, whole.RatioPercent, whole.RatioMinimum = 10, 50, 20
	return &Breakers{Scopes: []string{ScopeIronic, ScopeGroup}, Ironic: whole, Others: others}
}

func (b *Breakers) validate() error {
	if b == nil {
		return nil
	}
	var errs []error
	for _, kind := range b.Scopes {
		if !slices.Contains(api.ScopeKinds(), kind) {
			errs = append(errs, fmt.Errorf("breaker scopes: %q is not one of %v", kind, api.ScopeKinds()))
		}
	}
	for i, of := range []struct {
		name string
		breaker.Config
	}{{"breaker of the whole Ironic", b.Ironic}, {"breakers of parts", b.Others}} {
		if err := of.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", of.name, err))
		}
		if of.RateLimitPerMinute > 0 && (i > 0 || !slices.Contains(b.Scopes, ScopeIronic)) {
			errs = append(errs, fmt.Errorf("%s: rate limit %d: only the whole Ironic has one, and only as one of the breaker scopes", of.name, of.RateLimitPerMinute))
		}
		if of.FailureThreshold == 1 {
			errs = append(errs, fmt.Errorf("%s: failure threshold: 1 would let one host open it", of.name))
		}
	}
	return errors.Join(errs...)
}

// Validate reports every fault of c at once.
func (c Config) Validate() error {
	errs := []error{c.Slots.Validate()}
	if c.Mode != Enforce && c.Mode != Observe {
		errs = append(errs, fmt.Errorf("mode: %q is neither %q nor %q", c.Mode, Enforce, Observe))
	}
	return errors.Join(append(errs, c.Turns.validate(c.Slots.Limits), c.Breakers.validate(), c.Holdoff.Validate())...)
}

// settings is c with maps of its own and without holds, which are of one term.
func (c Config) settings() Config {
	c.Slots.Groups, c.Turns.Weights = maps.Clone(c.Slots.Groups), maps.Clone(c.Turns.Weights)
	c.Holdoff.Hosts = maps.Clone(c.Holdoff.Hosts)
	c.Holds, c.HoldsKnown = nil, false
	return c
}

// Turns are the settings of the fair turn, as in fairshare.Config, for all pools.
// DefaultTurns is a usable one.
type Turns struct {
	Ahead, Overtake          int // fairshare.Auto: by formula
	RedeemAfter, ClaimWindow time.Duration
	Threshold                int
	Cap, Reserve             int // of the total; pools within it that are smaller get less
	Weights                  map[string]float64
}

// DefaultTurns returns the defaults of docs/settings.md.
func DefaultTurns() Turns {
	d := fairshare.DefaultConfig(1)
	return Turns{
		Ahead: d.Ahead, Overtake: d.Overtake, RedeemAfter: d.RedeemAfter, ClaimWindow: d.ClaimWindow,
		Threshold: d.Threshold, Cap: d.Cap, Reserve: d.Reserve,
	}
}

func (t Turns) config(limit int) fairshare.Config {
	return fairshare.Config{
		Limit: limit, Ahead: t.Ahead, Overtake: t.Overtake, RedeemAfter: t.RedeemAfter, ClaimWindow: t.ClaimWindow,
		Threshold: t.Threshold, Cap: t.Cap, Reserve: t.Reserve, Weights: t.Weights,
	}
}

// within is config for a pool beside or within the total: numbers that are too
// large for it are cut.
func (t Turns) within(limit int) fairshare.Config {
	t.Cap = min(t.Cap, limit)
	if c := t.config(limit); c.Validate() != nil {
		t.Cap, t.Reserve = fairshare.Auto, fairshare.Auto
	}
	return t.config(limit)
}

func (t Turns) validate(limits slots.Limits) error {
	if limits.Total < 1 || limits.Total > slots.MaxLimit {
		return nil // its own fault is said already
	}
	return t.config(limits.Total).Validate()
}
