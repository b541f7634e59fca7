package simulate_test

import (
	"context"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

var (
	wholeStorms = flag.Bool("storms.whole", false, "play the storms with all of their hosts, up to 20,000, instead of a tenth")
	stormSeeds  = flag.Int("storms.seeds", 1, "seeds of each storm and way in, from 1 on")
)

// storm is what the throttle must stand, by both ways in.
type storm struct {
	name    string
	long    bool // played whole alone
	checked bool // small: by the check alone, the gateway is as the others have it
	options simulate.Options
	bounds  []bound
}

// bound is a figure that must not be above most, or not below least where most is 0.
type bound struct {
	name        string
	most, least float64
	mean        bool        // over all seeds instead of each: storms too small for one seed to tell
	via         measure.Via // "" is both
	of          func(r simulate.Result, of reference) float64
}

// reference is the result of another storm with the same seed and way in.
type reference func(storm string) simulate.Result

func most(name string, m float64, of func(simulate.Result) float64) bound {
	return bound{name: name, most: m, of: func(r simulate.Result, _ reference) float64 { return of(r) }}
}

// used is the least part of the slots that is occupied while hosts wait.
func used(least float64) bound {
	return bound{name: "slots occupied", least: least, of: func(r simulate.Result, _ reference) float64 { return r.SlotUse }}
}

func mean(via measure.Via, b bound) bound {
	b.mean, b.via = true, via
	return b
}

// against compares a figure with that of another storm; a few are chance.
func against(name string, m float64, other string, few float64, of func(simulate.Result) float64) bound {
	return bound{name: name, most: m, of: func(r simulate.Result, ref reference) float64 {
		return (few + of(r)) / max(1, few+of(ref(other)))
	}}
}

func fairParts() bound {
	return most("grants of two tenants apart", 10, func(r simulate.Result) float64 { return float64(r.GrantSpread) })
}

func makespan(r simulate.Result) float64 { return r.MakespanSeconds }
func healthy(r simulate.Result) float64  { return r.HealthyMakespanSeconds }

func minutes(low, high int) fakeironic.Span {
	return fakeironic.Span{Min: time.Duration(low) * time.Minute, Max: time.Duration(high) * time.Minute}
}

// slowRack is the conductor group whose hosts ask seldom.
const slowRack = "rack-1"

// storms are all of them. Small ones have a tenth of the hosts, a quarter of the slots, and more even work.
func storms(whole bool) []storm {
	base, hosts, jain := simulate.DefaultOptions(), 10, 0.99
	base.Failing, base.BootCapacity, base.Work = 0, simulate.NoBootLimit, minutes(10, 60)
	if !whole {
		base.Limit, base.Work, hosts, jain = base.Limit/4, minutes(20, 30), 1, 0.98 // a few dozen works tell less
	}
	with := func(edit func(*simulate.Options)) simulate.Options {
		o := base
		edit(&o)
		return o
	}
	equal := func(o *simulate.Options) { o.Sizes = []int{20 * hosts, 20 * hosts, 20 * hosts} }
	uneven := func(o *simulate.Options) { o.Sizes, o.Duration = []int{100 * hosts, 3 * hosts, 3 * hosts}, 8*time.Hour }
	single := func(o *simulate.Options) { o.Hosts, o.Tenants, o.Limit = 10, 1, 1 }
	return slices.Concat([]storm{
		{name: "large", long: true, bounds: []bound{used(0.985)}, options: with(func(o *simulate.Options) {
			o.Hosts, o.Tenants, o.Limit, o.Workers, o.Work = 20_000, 3, 200, 32, minutes(10, 12)
		})},
		{name: "equal", checked: true, options: with(equal), bounds: []bound{used(0.985), {
			name: "Jain's index over equal tenants", least: jain, of: func(r simulate.Result, _ reference) float64 { return r.JainTenants },
		}}},
		{name: "uneven", checked: true, options: with(uneven), bounds: []bound{used(0.985), fairParts()}},
		{name: "single", long: true, options: with(single), bounds: []bound{mean("", used(0.985))}},
		{name: "single, short work", options: with(func(o *simulate.Options) { single(o); o.Work = minutes(4, 8) }),
			bounds: []bound{mean(measure.ViaGateway, used(0.985)), mean(measure.ViaCheck, used(0.92))}},
		{name: "pools", options: with(func(o *simulate.Options) {
			o.Hosts, o.Tenants, o.Limit, o.Groups, o.PoolLimits = 40, 1, 2, 8, map[string]int{slowRack: 1}
		}), bounds: []bound{
			// At the end only the hosts that ask seldom are left, and their slot is idle until one of them asks.
			mean("", used(0.92)),
			mean("", most("wait of the hosts that ask seldom, against the others", 3, func(r simulate.Result) float64 {
				return r.WaitsByPool[slowRack].MeanSeconds / max(1, r.WaitsByPool[""].MeanSeconds)
			})),
		}},
		{name: "old errors", checked: true, options: with(func(o *simulate.Options) { equal(o); o.OldErrors = 1 }),
			bounds: []bound{against("makespan, against no errors", 1.05, "equal", 0, makespan)}},
		{name: "silence", checked: true, options: with(func(o *simulate.Options) {
			uneven(o)
			o.Troubles = []simulate.Trouble{{Kind: simulate.TroubleBMO, At: time.Hour, For: 5 * time.Minute}}
		}), bounds: []bound{fairParts(), against("hosts served before an earlier one, against no silence", 1.1, "uneven", 100,
			func(r simulate.Result) float64 { return float64(r.Overtaken) })}},
		{name: "troubles", options: with(func(o *simulate.Options) { equal(o); o.Troubles = troubles() })},
	}, brokenHosts(with, 50*hosts, base.Limit))
}

// brokenHosts are storms in which four of five hosts are broken. Breakers would open, and rightly: the fair turn alone is
// judged here.
func brokenHosts(with func(func(*simulate.Options)) simulate.Options, hosts, limit int) []storm {
	broken := func(o *simulate.Options) {
		o.Hosts, o.Tenants, o.Failing, o.FailTries, o.ErrorsKnown, o.Breakers = hosts, 1, 0.8, 20, 2, nil
	}
	quarter := max(1, (limit+3)/4) // what failing hosts may hold while healthy ones want it
	return []storm{
		{name: "broken", options: with(broken), bounds: []bound{
			most("failing hosts that worked at once while more than L healthy ones waited", float64(quarter),
				func(r simulate.Result) float64 { return float64(r.FailingPeakCrowded) }),
			against("healthy hosts, against alone on the other slots", 1.3, "alone", 0, healthy),
		}},
		{name: "alone", options: with(func(o *simulate.Options) { broken(o); o.BrokenAbsent, o.Limit = true, limit-quarter })},
		{name: "unknown", long: true, options: with(func(o *simulate.Options) { broken(o); o.ErrorsKnown = 0 })},
	}
}

func troubles() []simulate.Trouble {
	return []simulate.Trouble{
		{Kind: simulate.TroubleThrottle, At: 10 * time.Second}, // in the middle of the first yes
		{Kind: simulate.TroubleThrottle, At: time.Hour, For: 30 * time.Second},
		{Kind: simulate.TroubleIronic, At: 2 * time.Hour, For: 10 * time.Minute},
		{Kind: simulate.TroubleBMO, At: 3 * time.Hour},
		{Kind: simulate.TroubleThrottle, At: 4 * time.Hour, For: 10 * time.Minute},
		{Kind: simulate.TroubleBMO, At: 5 * time.Hour, For: 10 * time.Second},
		{Kind: simulate.TroubleThrottle, At: 5 * time.Hour, For: 5 * time.Second},
	}
}

// TestStormsKeepEveryBound: small by default; `make storms` plays them whole, with ten seeds.
func TestStormsKeepEveryBound(t *testing.T) {
	all := slices.DeleteFunc(storms(*wholeStorms), func(s storm) bool { return s.long && !*wholeStorms })
	for _, via := range []measure.Via{measure.ViaCheck, measure.ViaGateway} {
		t.Run(string(via), func(t *testing.T) {
			t.Parallel()
			mine := slices.DeleteFunc(slices.Clone(all), func(s storm) bool { return s.checked && via != measure.ViaCheck && !*wholeStorms })
			results, err := play(t.Context(), mine, via)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range mine {
				s.judge(t, via, results)
			}
		})
	}
}

// play plays each storm with each seed.
func play(ctx context.Context, all []storm, via measure.Via) (map[string][]simulate.Result, error) {
	var names []string
	var options []simulate.Options
	for _, s := range all {
		for seed := range *stormSeeds {
			o := s.options
			o.Policy, o.Via, o.Seed = measure.PolicyThrottle, via, uint64(seed+1)
			names, options = append(names, s.name), append(options, o)
		}
	}
	results := map[string][]simulate.Result{}
	return results, simulate.Compare(ctx, options, nil, func(i int, r simulate.Result) error {
		results[names[i]] = append(results[names[i]], r)
		return nil
	})
}

// judge holds the results of a storm against its bounds: each keeps the limit in truth, and comes to its end.
func (s storm) judge(t *testing.T, via measure.Via, results map[string][]simulate.Result) {
	for _, r := range results[s.name] {
		if r.PeakWorking > s.options.Limit || r.Unfinished() != "" {
			t.Errorf("%s, seed %d: %d hosts worked at once, limit %d; %s", s.name, r.Seed, r.PeakWorking, s.options.Limit, r.Unfinished())
		}
	}
	for _, b := range s.bounds {
		if b.via != "" && b.via != via {
			continue
		}
		var sum float64
		for i, r := range results[s.name] {
			v := b.of(r, func(other string) simulate.Result { return results[other][i] })
			if sum += v; !b.mean && !b.kept(v) {
				t.Errorf("%s: %s: %.4g by seed %d; at most %v, at least %v", s.name, b.name, v, r.Seed, b.most, b.least)
			}
		}
		if v := sum / float64(len(results[s.name])); b.mean && !b.kept(v) {
			t.Errorf("%s: %s: %.4g is the mean of the seeds; at most %v, at least %v", s.name, b.name, v, b.most, b.least)
		}
	}
}

func (b bound) kept(v float64) bool { return v >= b.least && (b.most == 0 || v <= b.most) }
