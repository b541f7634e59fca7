package stress

import (
	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

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

// failingCap is a quarter of the slots, at least one.
func failingCap(limit int) int { return max(1, (limit+3)/4) }

// heldBack says that failing hosts hold no more while healthy ones want the slots.
func heldBack(limit int) Bound {
	return most("failing hosts that worked at once while more than L healthy ones waited", float64(failingCap(limit)),
		func(r simulate.Result) float64 { return float64(r.FailingPeakCrowded) })
}

// spread is the acceptance of tenants of 1000/30/30 hosts.
func spread() Bound {
	return most("grants of two tenants apart", 10, func(r simulate.Result) float64 { return float64(r.GrantSpread) })
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

// slowPool compares the wait of hosts of a pool that ask seldom with that of the others.
func slowPool() Bound {
	return most("wait of the hosts that ask seldom, against the others", 3, func(r simulate.Result) float64 {
		return r.WaitsByPool[slowRack].MeanSeconds / max(1, r.WaitsByPool[""].MeanSeconds)
	})
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
