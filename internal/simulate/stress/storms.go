package stress

import (
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/measure"
	"github.com/ironic-throttle/ironic-throttle/internal/simulate"
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

// Bound is a figure of the throttle that must not be above Most, or not below
// Least.
type Bound struct {
	Name        string
	Via         measure.Via // "" is both
	Of          func(r simulate.Result, ref reference) float64
	Most, Least float64
	least       bool
	// Mean over all seeds instead of the worst: of storms too small for one seed to
	// tell.
	Mean bool
}

// reference is the result of another storm with the same seed, way in and policy.
type reference func(storm string) simulate.Result

func most(name string, bound float64, of func(simulate.Result) float64) Bound {
	return Bound{Name: name, Most: bound, Of: func(r simulate.Result, _ reference) float64 { return of(r) }}
}

func least(name string, bound float64, of func(simulate.Result) float64) Bound {
	b := most(name, 0, of)
	b.Least, b.least = bound, true
	return b
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
	minutes := func(low, high int) fakeironic.Span {
		return fakeironic.Span{Min: time.Duration(low) * time.Minute, Max: time.Duration(high) * time.Minute}
	}
	base := simulate.DefaultOptions()
	base.Failing, base.BootCapacity, base.Work = 0, simulate.NoBootLimit, minutes(10*small.work, 60/small.work)
	with := func(edit func(*simulate.Options)) simulate.Options {
		o := base
		edit(&o)
		return o
	}
	base.Limit /= small.limit
	equal := []int{200 / small.hosts, 200 / small.hosts, 200 / small.hosts}
	uneven := []int{1000 / small.hosts, 30 / small.hosts, 30 / small.hosts}
	broken := func(o *simulate.Options) {
		o.Hosts, o.Tenants, o.Failing, o.FailTries, o.ErrorsKnown = 500/small.hosts, 1, 0.8, 20, 2
	}
	use := least("slots occupied (CONTRACT 2.5)", 0.985, func(r simulate.Result) float64 { return r.SlotUse })
	return []Storm{
		{
			Name: "large", Title: "200 slots, 20,000 hosts, BMO with 32 workers", Long: true,
			Options: with(func(o *simulate.Options) {
				o.Hosts, o.Tenants, o.Limit, o.Workers, o.Work = 20_000, 3, 200, 32, minutes(10, 12)
			}),
			Bounds: []Bound{use},
		},
		{
			Name: "equal", Title: "20 slots, 600 hosts, 3 equal tenants",
			Options: with(func(o *simulate.Options) { o.Sizes = equal }),
			Bounds: []Bound{
				use,
				least("Jain's index over equal tenants", 0.99, func(r simulate.Result) float64 { return r.JainTenants }),
				shareError(),
			},
		},
		{
			Name: "uneven", Title: "20 slots, tenants of 1000, 30 and 30 hosts with equal weights, the first 8 hours",
			Options: with(func(o *simulate.Options) { o.Sizes, o.Duration = uneven, 8*time.Hour }),
			Bounds:  []Bound{use, spread()},
		},
		{
			Name: "single", Title: "1 slot, 10 hosts",
			Options: with(func(o *simulate.Options) { o.Hosts, o.Tenants, o.Limit = 10, 1, 1 }),
			Bounds:  []Bound{mean(use)},
		},
		{
			Name: "single-short", Title: "1 slot, 10 hosts, work of 4 to 8 minutes",
			Options: with(func(o *simulate.Options) { o.Hosts, o.Tenants, o.Limit, o.Work = 10, 1, 1, minutes(4, 8) }),
			Bounds:  []Bound{by(measure.ViaGateway, mean(use)), by(measure.ViaCheck, mean(atLeast(use, 0.92)))},
		},
		{
			Name: "broken", Title: "20 slots, 400 of 500 hosts broken and known to be",
			Options: with(broken),
			Bounds:  append(failing(base.Limit), slower("healthy hosts, against alone on L - CAP slots", 1.3, "alone", healthy)),
		},
		{
			Name: "alone", Title: "the 100 healthy hosts of these alone, on L - CAP slots", Only: true,
			Options: with(func(o *simulate.Options) {
				broken(o)
				o.BrokenAbsent, o.Limit = true, base.Limit-failingCap(base.Limit)
			}),
		},
		{
			Name: "unknown", Title: "20 slots, 400 of 500 hosts broken, nobody knows (no bound)", Long: true,
			Options: with(func(o *simulate.Options) {
				broken(o)
				o.ErrorsKnown = 0
			}),
		},
		{
			Name: "old-errors", Title: "as equal, all hosts with one old error", Only: true,
			Options: with(func(o *simulate.Options) { o.Sizes, o.OldErrors = equal, 1 }),
			Bounds:  []Bound{slower("makespan, against no errors", 1.05, "equal", makespan)},
		},
		{
			Name: "troubles", Title: "as equal; throttle killed, Ironic away for 10 min, BMO restarted", Only: true,
			Options: with(func(o *simulate.Options) {
				o.Sizes = equal
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
			Options: with(func(o *simulate.Options) {
				o.Sizes, o.Duration = uneven, 8*time.Hour
				o.Troubles = []simulate.Trouble{{Kind: simulate.TroubleBMO, At: time.Hour, For: 5 * time.Minute}}
			}),
			Bounds: []Bound{
				most("calls that expired", 0, func(r simulate.Result) float64 { return float64(r.CallsExpired) }),
				spread(),
				overtaken("uneven"),
			},
		},
	}
}

// failingCap and failingReserve are CAP and RESERVE of CONTRACT 3.5.
func failingCap(limit int) int     { return max(1, (limit+3)/4) }
func failingReserve(limit int) int { return max(1, (limit+9)/10) }

// failing is F-4 as the truth shows it.
func failing(limit int) []Bound {
	return []Bound{
		most("F-4: failing hosts that worked at once", float64(limit-failingReserve(limit)),
			func(r simulate.Result) float64 { return float64(r.FailingPeak) }),
		most("F-4: the same while more than L healthy ones wait", float64(failingCap(limit)),
			func(r simulate.Result) float64 { return float64(r.FailingPeakCrowded) }),
	}
}

// spread is the acceptance of tenants of 1000/30/30 hosts.
func spread() Bound {
	return most("grants of two tenants apart", 4, func(r simulate.Result) float64 { return float64(r.GrantSpread) })
}

// shareError is F-2 for grants of tenants of weight 1: how much of the bound is
// used up.
func shareError() Bound {
	return most("F-2: grants of two tenants apart, part of the bound", 1, func(r simulate.Result) float64 {
		return float64(r.GrantSpread) / float64(2+2*r.MostCalled)
	})
}

// slower compares a figure with that of another storm.
func slower(name string, bound float64, storm string, of func(simulate.Result) float64) Bound {
	return Bound{Name: name, Most: bound, Of: func(r simulate.Result, ref reference) float64 {
		return of(r) / max(1, of(ref(storm)))
	}}
}

// overtaken compares how many later hosts of the same tenant were served before
// some host; a few more or less are chance.
func overtaken(storm string) Bound {
	const few = 100
	return Bound{
		Name: "hosts served before an earlier one, against no silence", Most: 1.1,
		Of: func(r simulate.Result, ref reference) float64 {
			return float64(few+r.Overtaken) / float64(few+ref(storm).Overtaken)
		},
	}
}

func healthy(r simulate.Result) float64  { return r.HealthyMakespanSeconds }
func makespan(r simulate.Result) float64 { return r.MakespanSeconds }

func by(via measure.Via, b Bound) Bound {
	b.Via = via
	return b
}

func mean(b Bound) Bound {
	b.Name, b.Mean = b.Name+", mean of the seeds", true
	return b
}

func atLeast(b Bound, bound float64) Bound {
	b.Least = bound
	return b
}
