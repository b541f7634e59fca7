package simulate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
)

// Options say which storm is played and who decides. DefaultOptions is the place
// to start from.
type Options struct {
	Hosts   int     // that want to be provisioned, 1..100000
	Limit   int     // slots
	Failing float64 // share of broken hosts, 0..1
	Tenants int     // namespaces; the first has four times the hosts of each other
	// Sizes are the hosts of each tenant, instead of Hosts and Tenants.
	Sizes   []int
	Workers int // of the operator, as BMO_CONCURRENCY
	Via     measure.Via
	Policy  measure.Policy
	// Adaptive lets the throttle find the limit; Limit is the most then.
	Adaptive bool
	// Duration ends the storm after so much time; 0 is when all hosts are
	// through.
	Duration time.Duration
	Seed     uint64

	// Work is how long a host works, 0 to play its whole life: registered,
	// inspected, cleaned, deployed. Otherwise there is one deployment of that
	// length.
	Work fakeironic.Span
	// FailTries is how many deployments of a broken host fail.
	FailTries int
	// ErrorsKnown is the number of failures that the broken hosts have behind them
	// at the start, OldErrors of all the others.
	ErrorsKnown, OldErrors int
	// BrokenAbsent leaves the broken hosts out, with all others as they are.
	BrokenAbsent bool
	// BootCapacity is how many hosts boot at full speed at once: DHCP, TFTP and
	// image server. More share it as BootModel says; with fakeironic.BootCliff seven of ten
	// further boots are lost above 5/4 of it. 0 makes it for the limit, NoBootLimit takes it away.
	BootCapacity int
	BootModel    fakeironic.BootModel
	BootChange   BootChange
	// Turns are the settings of the fair turn, for the throttle alone. Threshold is
	// also what counts as a failing host in what is measured of every policy.
	Turns admission.Turns
	// Breakers are the throttle's circuit breakers, nil for none.
	Breakers *admission.Breakers
	// Holdoff is FAILED_HOST_HOLDOFF, 0 for none.
	Holdoff time.Duration
	// Troubles befall the site.
	Troubles []Trouble
	// Scenario is what goes wrong with many hosts at once, and FixedAfter when that is
	// repaired, counted from the start; see Scenario.With.
	Scenario   Scenario
	FixedAfter time.Duration
	// Groups is how many conductor groups the hosts are in, in turn.
	Groups int
	// PoolLimits are the slots of conductor groups, for the throttle alone: "rack-1" is the
	// first. Their hosts are then refused for 60 to 120 s, all others for 3 to 4 s,
	// whatever the way in.
	PoolLimits map[string]int

	// Planned is how many hosts that are provisioned already get planned work, over and over.
	Planned int
	// Waves is in how many parts the hosts come, one each WaveEvery.
	Waves     int
	WaveEvery time.Duration

	// Record keeps what --plot and --csv need.
	Record bool
}

// NoBootLimit as a BootCapacity: boots do not disturb each other.
const NoBootLimit = -1

// DefaultOptions is a storm of some hundred hosts.
func DefaultOptions() Options {
	return Options{
		Hosts: 600, Limit: 20, Failing: 0.05, Tenants: 3, Workers: 8,
		Via: measure.ViaCheck, Policy: measure.PolicyThrottle, Seed: 1, FailTries: 2, Groups: 1, Waves: 1,
		BootModel: fakeironic.BootCliff,
		Turns:     admission.DefaultTurns(), Breakers: admission.DefaultBreakers(),
	}
}

// Bounds of a simulation.
const (
	maxHosts   = 100_000
	maxWorkers = 1024
	maxErrors  = 9
	maxTries   = 20
)

// Validate reports every option that cannot be, each with its flag, its value
// and the rule.
func (o *Options) Validate() error {
	var errs []error
	bad := func(ok bool, flag string, value any, rule string) {
		if !ok {
			errs = append(errs, fmt.Errorf("--%s %v: %s", flag, value, rule))
		}
	}
	between := func(flag string, v, low, high int) {
		bad(v >= low && v <= high, flag, v, fmt.Sprintf("must be %d to %d", low, high))
	}
	between("hosts", o.Hosts, 1, maxHosts)
	between("limit", o.Limit, 1, maxHosts)
	between("workers", o.Workers, 1, maxWorkers)
	between("tenants", o.Tenants, 1, max(1, min(o.Hosts, maxHosts)))
	bad(o.Failing >= 0 && o.Failing <= 1, "failing", o.Failing, "must be 0 to 1")
	bad(o.Duration >= 0, "duration", o.Duration, "must not be negative")
	bad(slices.Contains(vias, o.Via), "via", fmt.Sprintf("%q", o.Via), "must be check or gateway"+didYouMean(o.Via, vias))
	bad(slices.Contains(policies, o.Policy), "policy", fmt.Sprintf("%q", o.Policy), "must be throttle or bmo"+didYouMean(o.Policy, policies))
	between("fail-tries", o.FailTries, 0, maxTries)
	between("errors-known", o.ErrorsKnown, 0, maxErrors)
	between("old-errors", o.OldErrors, 0, maxErrors)
	bad(o.Work.Min == 0 && o.Work.Max == 0 || o.Work.Min >= shortestWork && o.Work.Max <= longestWork, "work", o.Work,
		fmt.Sprintf("must be within %v and %v, or 0 for a whole life", shortestWork, longestWork))
	sum := 0
	for _, n := range o.Sizes {
		bad(n >= 1, "tenant-hosts", n, "must be at least 1 each")
		sum += n
	}
	bad(sum <= maxHosts, "tenant-hosts", sum, fmt.Sprintf("must be at most %d together", maxHosts))
	for _, t := range o.Troubles {
		if err := t.validate(); err != nil {
			errs = append(errs, fmt.Errorf("--trouble %s: %w", t, err))
		}
	}
	return errors.Join(slices.Concat(errs, o.failureFaults(), o.turnFaults(), o.plannedFaults(), o.overloadFaults(), o.sizingFaults())...)
}

var (
	vias     = []measure.Via{measure.ViaCheck, measure.ViaGateway}
	policies = []measure.Policy{measure.PolicyThrottle, measure.PolicyBMO}
)

// sizes are the hosts of each tenant.
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
