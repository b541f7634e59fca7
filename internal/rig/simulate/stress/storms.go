package stress

import (
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

// Storm is one scenario with what the throttle must reach in it.
type Storm struct {
	Name, Title string
	Options     simulate.Options // without policy, way in and seed
	// Long: the other policies play one seed.
	Long bool
	// Only the throttle plays it: a reference, or a law of its own.
	Only   bool
	Bounds []Bound
}

// Storms lists all scenarios, the longest first.
func Storms() []Storm { return storms(site{1, 1, 1}) }

// Small lists those that end soon, with fewer hosts and slots and more even work.
func Small() []Storm {
	return slices.DeleteFunc(storms(site{10, 4, 2}), func(s Storm) bool { return s.Long })
}

// site says how small a site is: its hosts and slots are divided, the span of its
// work gets closer from both ends.
type site struct{ hosts, limit, work int }

func storms(small site) []Storm {
	base := simulate.DefaultOptions()
	base.Failing, base.BootCapacity, base.Work = 0, simulate.NoBootLimit, minutes(10*small.work, 60/small.work)
	base.Limit /= small.limit
	f := factory{base: base, equal: []int{200, 200, 200}, uneven: []int{1000, 30, 30}, broken: 500 / small.hosts, jain: 0.99}
	if small.hosts > 1 {
		f.jain = 0.98 // a few dozen works tell less
	}
	for i := range f.equal {
		f.equal[i] /= small.hosts
		f.uneven[i] /= small.hosts
	}
	return slices.Concat(f.fair(), f.few(), f.failing(), f.troubled())
}

func minutes(low, high int) fakeironic.Span {
	return fakeironic.Span{Min: time.Duration(low) * time.Minute, Max: time.Duration(high) * time.Minute}
}

// factory makes storms of one size.
type factory struct {
	base          simulate.Options
	equal, uneven []int // hosts of tenants
	broken        int   // hosts of which four of five are broken
	jain          float64
}

func (f factory) with(edit func(*simulate.Options)) simulate.Options {
	o := f.base
	edit(&o)
	return o
}

// slowRack is the conductor group whose hosts ask seldom.
const slowRack = "rack-1"

var use = least("slots occupied", 0.985, func(r simulate.Result) float64 { return r.SlotUse })

// fair are storms of several tenants.
func (f factory) fair() []Storm {
	return []Storm{
		{
			Name: "large", Title: "200 slots, 20,000 hosts, BMO with 32 workers", Long: true,
			Options: f.with(func(o *simulate.Options) {
				o.Hosts, o.Tenants, o.Limit, o.Workers, o.Work = 20_000, 3, 200, 32, minutes(10, 12)
			}),
			Bounds: []Bound{use},
		},
		{
			Name: "equal", Title: "20 slots, 600 hosts, 3 equal tenants",
			Options: f.with(func(o *simulate.Options) { o.Sizes = f.equal }),
			Bounds: []Bound{
				use,
				least("Jain's index over equal tenants", f.jain, func(r simulate.Result) float64 { return r.JainTenants }),
			},
		},
		{
			Name: "uneven", Title: "20 slots, tenants of 1000, 30 and 30 hosts with equal weights, the first 8 hours",
			Options: f.with(func(o *simulate.Options) { o.Sizes, o.Duration = f.uneven, 8*time.Hour }),
			Bounds:  []Bound{use, spread()},
		},
	}
}

// few are storms for one slot.
func (f factory) few() []Storm {
	return []Storm{
		{
			Name: "single", Title: "1 slot, 10 hosts",
			Options: f.with(func(o *simulate.Options) { o.Hosts, o.Tenants, o.Limit = 10, 1, 1 }),
			Bounds:  []Bound{mean(use)},
		},
		{
			Name: "single-short", Title: "1 slot, 10 hosts, work of 4 to 8 minutes",
			Options: f.with(func(o *simulate.Options) { o.Hosts, o.Tenants, o.Limit, o.Work = 10, 1, 1, minutes(4, 8) }),
			Bounds:  []Bound{by(measure.ViaGateway, mean(use)), by(measure.ViaCheck, mean(atLeast(use, 0.92)))},
		},
		{
			Name: "pools", Title: "2 slots, 5 hosts of a conductor group with 1 that ask every 60 to 120 s, 35 others every 3 to 4 s", Only: true,
			Options: f.with(func(o *simulate.Options) {
				o.Hosts, o.Tenants, o.Limit, o.Groups, o.PoolLimits = 40, 1, 2, 8, map[string]int{slowRack: 1}
			}),
			// At the end only the hosts that ask seldom are left, and their slot is idle until one of them asks.
			Bounds: []Bound{mean(atLeast(use, 0.92)), mean(slowPool())},
		},
	}
}

// failing are storms with hosts that have errors.
func (f factory) failing() []Storm {
	broken := func(o *simulate.Options) {
		o.Hosts, o.Tenants, o.Failing, o.FailTries, o.ErrorsKnown = f.broken, 1, 0.8, 20, 2
		o.Breakers = nil // they would open, and rightly: here the fair turn alone is judged
	}
	return []Storm{
		{
			Name: "broken", Title: "20 slots, 400 of 500 hosts broken and known to be",
			Options: f.with(broken),
			Bounds:  []Bound{heldBack(f.base.Limit), slower("healthy hosts, against alone on L - CAP slots", 1.3, "alone", healthy)},
		},
		{
			Name: "alone", Title: "the 100 healthy hosts of these alone, on L - CAP slots", Only: true,
			Options: f.with(func(o *simulate.Options) {
				broken(o)
				o.BrokenAbsent, o.Limit = true, f.base.Limit-failingCap(f.base.Limit)
			}),
		},
		{
			Name: "unknown", Title: "20 slots, 400 of 500 hosts broken, nobody knows (no bound)", Long: true,
			Options: f.with(func(o *simulate.Options) {
				broken(o)
				o.ErrorsKnown = 0
			}),
		},
		{
			Name: "old-errors", Title: "as equal, all hosts with one old error", Only: true,
			Options: f.with(func(o *simulate.Options) { o.Sizes, o.OldErrors = f.equal, 1 }),
			Bounds:  []Bound{slower("makespan, against no errors", 1.05, "equal", makespan)},
		},
	}
}

// troubled are storms with outages.
func (f factory) troubled() []Storm {
	return []Storm{
		{
			Name: "troubles", Title: "as equal; throttle killed, Ironic away for 10 min, BMO restarted", Only: true,
			Options: f.with(func(o *simulate.Options) {
				o.Sizes = f.equal
				o.Troubles = []simulate.Trouble{
					{Kind: simulate.TroubleThrottle, At: 10 * time.Second}, // in the middle of the first yes
					{Kind: simulate.TroubleThrottle, At: time.Hour, For: 30 * time.Second},
					{Kind: simulate.TroubleIronic, At: 2 * time.Hour, For: 10 * time.Minute},
					{Kind: simulate.TroubleBMO, At: 3 * time.Hour},
					{Kind: simulate.TroubleThrottle, At: 4 * time.Hour, For: 10 * time.Minute},
					{Kind: simulate.TroubleBMO, At: 5 * time.Hour, For: 10 * time.Second},
					{Kind: simulate.TroubleThrottle, At: 5 * time.Hour, For: 5 * time.Second},
				}
			}),
		},
		{
			Name: "silence", Title: "as uneven; BMO silent for 5 minutes, then back", Only: true,
			Options: f.with(func(o *simulate.Options) {
				o.Sizes, o.Duration = f.uneven, 8*time.Hour
				o.Troubles = []simulate.Trouble{{Kind: simulate.TroubleBMO, At: time.Hour, For: 5 * time.Minute}}
			}),
			Bounds: []Bound{
				spread(),
				overtaken("uneven"),
			},
		},
	}
}
