package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// The rules that may decide: the throttle, and that of today's BMO. The ways in which the operator asks.
const (
	PolicyThrottle = "throttle"
	PolicyBMO      = "bmo"

	ViaCheck   = "check"
	ViaGateway = "gateway"

	breakerOn, breakerOff = "on", "off"
)

// Options describe a storm, and say which rule decides. Start from DefaultOptions.
type Options struct {
	Hosts   int     // hosts to provision
	Limit   int     // slots
	Failing float64 // share of broken hosts: their first two deployments fail
	Tenants int     // namespaces; the first has four times as many hosts as each other one
	Sizes   []int   // hosts of each tenant, instead of Hosts and Tenants
	Workers int     // of the operator, as BMO_CONCURRENCY
	Via     string  // ViaCheck or ViaGateway
	Policy  string  // PolicyThrottle or PolicyBMO
	// LimitMode is api.LimitFixed, or api.LimitAdaptive: the throttle finds the limit, up to Limit.
	LimitMode string
	Duration  time.Duration // the storm ends after this; 0: when all hosts are done
	Seed      uint64
	// Work is how long the only deployment of each host takes. 0: each host passes its whole life, from registration to
	// deployment.
	Work fakeironic.Span
	// BootCapacity is how many hosts can boot at full speed at once; BootModel says what happens with more. 0 means a
	// capacity that fits Limit, and NoBootLimit any number of hosts.
	BootCapacity int
	BootModel    fakeironic.BootModel
	Breaker      string        // of the throttle: on or off
	Scenario     string        // what goes wrong with many hosts at once; "": nothing
	FixedAfter   time.Duration // when that is repaired, from the start of the storm; 0: the scenario's own time

	Record bool // keep what a picture needs
}

// NoBootLimit is a BootCapacity with which boots do not disturb each other.
const NoBootLimit = -1

// DefaultOptions returns a storm of some hundred hosts.
func DefaultOptions() Options {
	return Options{
		Hosts: 600, Limit: 20, Failing: 0.05, Tenants: 3, Workers: 8, Via: ViaCheck, Policy: PolicyThrottle, Seed: 1,
		LimitMode: api.LimitFixed, BootModel: fakeironic.BootCliff, Breaker: breakerOn,
	}
}

const (
	maxHosts   = 100_000
	maxWorkers = 1024
)

// Validate returns all wrong options, each with its flag, its value and the rule.
func (o *Options) Validate() error {
	var errs []error
	must := func(ok bool, flag string, value any, rule string) {
		if !ok {
			errs = append(errs, fmt.Errorf("--%s %v: must be %s", flag, value, rule))
		}
	}
	between := func(flag string, v, low, high int) {
		must(v >= low && v <= high, flag, v, fmt.Sprintf("%d to %d", low, high))
	}
	word := func(flag, value string, known ...string) {
		must(slices.Contains(known, value), flag, fmt.Sprintf("%q", value), strings.Join(known, " or "))
	}
	between("hosts", o.Hosts, 1, maxHosts)
	between("limit", o.Limit, 1, maxHosts)
	between("workers", o.Workers, 1, maxWorkers)
	between("tenants", o.Tenants, 1, max(1, min(o.Hosts, maxHosts)))
	between("boot-capacity", o.BootCapacity, NoBootLimit, maxHosts)
	must(o.Failing >= 0 && o.Failing <= 1, "failing", o.Failing, "0 to 1")
	must(o.Duration >= 0, "duration", o.Duration, "0s or more")
	word("via", o.Via, ViaCheck, ViaGateway)
	word("policy", o.Policy, PolicyThrottle, PolicyBMO)
	word("boot-model", string(o.BootModel), string(fakeironic.BootCliff), string(fakeironic.BootShared))
	word("limit-mode", o.LimitMode, api.LimitFixed, api.LimitAdaptive)
	word("breaker", o.Breaker, breakerOn, breakerOff)
	if o.Scenario != "" {
		word("scenario", o.Scenario, badImage, deadRack)
	}
	whole := o.Work == fakeironic.Span{}
	must(whole || o.Work.Min >= time.Minute && o.Work.Max <= 24*time.Hour,
		"work", o.Work, "1m to 24h, or 0s for a whole life")
	must(!o.adaptive() || o.Policy == PolicyThrottle,
		"limit-mode", "adaptive", "fixed with other policies than throttle")
	sum := 0
	for _, n := range o.Sizes {
		must(n >= 1, "tenant-hosts", n, "at least 1 each")
		sum += n
	}
	must(sum <= maxHosts, "tenant-hosts", sum, fmt.Sprintf("at most %d together", maxHosts))
	return errors.Join(errs...)
}

func (o *Options) adaptive() bool { return o.LimitMode == api.LimitAdaptive }

// sizes returns how many hosts each tenant has.
func (o *Options) sizes() []int {
	if len(o.Sizes) > 0 {
		return o.Sizes
	}
	out := make([]int, o.Tenants)
	const more = 3 // hosts of the first tenant beyond its turn, each round
	for i := range o.Hosts {
		if t := i % (o.Tenants + more); t < o.Tenants {
			out[t]++
		} else {
			out[0]++
		}
	}
	return out
}
