package simulate_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

var (
	wholeStorms = flag.Bool("storms.whole", false, "play all storms, with up to 20,000 hosts, instead of small ones")
	stormSeeds  = flag.Int("storms.seeds", 1, "seeds of each storm and way in, from 1 on")
)

// storm is what the throttle must withstand, by both ways in: the limit holds in truth, and all hosts get through.
type storm struct {
	name   string
	whole  string                  // flags of simulate
	small  string                  // the same with fewer hosts, for make test; "": not played there
	via    measure.Via             // "": both
	once   bool                    // the small one by the check alone
	edit   func(*simulate.Options) // what no flag says
	bounds []bound
}

// bound holds a figure of a storm. With a storm to compare with, it holds the ratio of both, after few is added to each: a few
// are chance.
type bound struct {
	name        string
	least, most float64
	of          func(r simulate.Result) float64
	against     string
	few         float64
	mean        bool // over all seeds and not each: one seed of a small storm tells little
}

const (
	noFaults = "--failing 0 --boot-capacity -1 "
	broken   = "--failing 0.8 --fail-tries 20 --errors-known 2 --tenants 1 --breaker off --boot-capacity -1 "
	oneWork  = "--failing 0 --work 10m-20m "
	// slowRack is the conductor group whose hosts ask seldom.
	slowRack = "rack-1"
	// trouble begins in the middle of the first yes.
	trouble = " --trouble throttle@10s+1ns,throttle@1h+30s,ironic@2h+10m,bmo@3h+1ns,throttle@4h+10m,bmo@5h+10s,throttle@5h+5s"
)

var (
	use         = func(r simulate.Result) float64 { return r.SlotUse }
	jain        = func(r simulate.Result) float64 { return r.JainTenants }
	makespan    = func(r simulate.Result) float64 { return r.MakespanSeconds }
	healthy     = func(r simulate.Result) float64 { return r.HealthyMakespanSeconds }
	meanWait    = func(r simulate.Result) float64 { return r.MeanWaitSeconds }
	overtaken   = func(r simulate.Result) float64 { return float64(r.Overtaken) }
	failedWorks = func(r simulate.Result) float64 { return float64(r.FailedWorks) }
	half        = func(r simulate.Result) float64 { return r.EstimateHalf }
	ninety      = func(r simulate.Result) float64 { return r.EstimateMost }

	inUse = bound{name: "slots occupied while hosts wait", least: 0.985, most: 1, of: use}
	// parts are of time: each slot may have a long work in one tenant and a short one in another.
	parts = bound{name: "grants of two tenants apart", least: 1, most: 20, of: func(r simulate.Result) float64 {
		return float64(r.GrantSpread)
	}}
	// told are the bounds of the times that waiting hosts are told: half get their slot within the first, nine of ten within the
	// second.
	told = []bound{
		{name: "waits within the time for half", least: 0.4, most: 0.6, of: half, mean: true},
		{name: "waits within the time for nine of ten", least: 0.85, most: 0.97, of: ninety, mean: true},
	}
)

var storms = []storm{
	{name: "large", via: measure.ViaCheck, whole: noFaults + "--hosts 20000 --limit 200 --workers 32 --work 10m-12m --duration 2h", bounds: []bound{inUse}},
	{
		name: "equal", whole: noFaults + "--tenant-hosts 200,200,200 --work 10m-60m",
		small:  noFaults + "--tenant-hosts 15,15,15 --limit 5 --work 20m-30m",
		bounds: []bound{inUse, parts, {name: "Jain's index over equal tenants", least: 0.98, most: 1, of: jain}},
	},
	{
		name: "old errors", whole: noFaults + "--tenant-hosts 200,200,200 --work 10m-60m --old-errors 1",
		bounds: []bound{{name: "makespan, against no errors", most: 1.05, of: makespan, against: "equal"}},
	},
	{name: "uneven", whole: noFaults + "--tenant-hosts 1000,30,30 --work 10m-60m --duration 8h", bounds: []bound{inUse, parts}},
	{
		name: "silence", whole: noFaults + "--tenant-hosts 1000,30,30 --work 10m-60m --duration 8h --trouble bmo@1h+5m",
		bounds: []bound{parts, {
			name: "hosts served before an earlier one, against no silence", most: 1.1, of: overtaken, against: "uneven", few: 100,
		}},
	},
	{
		name: "weights", whole: noFaults + "--tenant-hosts 300,300 --tenant-weights tenant-1=3 --work 10m-20m --duration 4h",
		bounds: []bound{{name: "slots of weight 3, against weight 1", least: 2.5, most: 3.6, of: func(r simulate.Result) float64 {
			return float64(r.GrantsByTenant[0]) / float64(r.GrantsByTenant[1])
		}}},
	},
	{
		name: "one slot", via: measure.ViaGateway, whole: noFaults + "--hosts 10 --tenants 1 --limit 1 --work 4m-8m",
		small: noFaults + "--hosts 10 --tenants 1 --limit 1 --work 4m-8m", bounds: []bound{inUse},
	},
	{
		name: "pools", whole: noFaults + "--hosts 40 --tenants 1 --limit 2 --groups 8 --work 10m-60m",
		small: noFaults + "--hosts 24 --tenants 1 --limit 2 --groups 8 --work 20m-30m", once: true,
		edit: func(o *simulate.Options) { o.PoolLimits = map[string]int{slowRack: 1} },
		bounds: []bound{
			// At the end only the hosts that ask seldom are left, and their slot is idle until one of them asks.
			{name: "slots occupied while hosts wait", least: 0.92, most: 1, of: use, mean: true},
			{name: "wait of the hosts that ask seldom, against the others", most: 3, mean: true, of: func(r simulate.Result) float64 {
				return r.WaitsByPool[slowRack].MeanSeconds / max(1, r.WaitsByPool[""].MeanSeconds)
			}},
		},
	},
	{
		name: "troubles", whole: noFaults + "--hosts 600 --work 10m-60m" + trouble,
		small: noFaults + "--hosts 60 --limit 5 --work 20m-30m" + trouble,
	},
	{
		name: "broken", whole: broken + "--hosts 500 --work 10m-60m", small: broken + "--hosts 50 --limit 8 --work 20m-30m",
		bounds: []bound{
			{name: "failing hosts that worked at once while more than L healthy ones waited", most: 5, of: func(r simulate.Result) float64 {
				return float64(r.FailingPeakCrowded)
			}},
			{name: "healthy hosts, against alone on the other slots", most: 1.3, of: healthy, against: "alone"},
		},
	},
	{
		name: "alone", whole: broken + "--hosts 500 --limit 15 --work 10m-60m", small: broken + "--hosts 50 --limit 6 --work 20m-30m",
		edit: func(o *simulate.Options) { o.BrokenAbsent = true },
	},
	{
		name: "adaptive", whole: "--hosts 600 --limit 100 --limit-mode adaptive --boot-capacity 25 --boot-change 12@1h" + trouble,
		small: "--hosts 60 --limit 40 --limit-mode adaptive --boot-capacity 24 --boot-change 8@10m --trouble throttle@8m+30s,bmo@15m+1m", once: true,
		bounds: []bound{{name: "limit on average", least: 1, most: 60, of: func(r simulate.Result) float64 { return r.LimitMean }}},
	},
	{name: "no planned work", whole: oneWork + "--hosts 600"},
	{
		name: "planned work", whole: oneWork + "--hosts 600 --planned 40",
		bounds: []bound{{name: "mean wait, against no planned work", most: 1.01, of: meanWait, against: "no planned work"}},
	},
	{
		name: "planned work between waves", whole: oneWork + "--hosts 60 --waves 6 --wave-every 1h --planned 40",
		small: oneWork + "--hosts 60 --waves 6 --wave-every 1h --planned 40", once: true,
		bounds: []bound{
			{name: "planned work done", least: 20, most: 1000, of: func(r simulate.Result) float64 { return float64(r.PlannedDone) }},
			{name: "longest wait in seconds", most: 20, of: func(r simulate.Result) float64 { return r.LongestWaitSeconds }},
		},
	},
	{
		name: "bad image", whole: "--scenario bad-image --fixed-after 3h --work 2m-2m",
		small: "--scenario bad-image --hosts 80 --limit 8 --fixed-after 1h --work 2m-2m", once: true,
		bounds: []bound{
			{name: "hosts that failed, beyond limit + threshold + probes", least: -1000, of: func(r simulate.Result) float64 {
				return float64(r.FailedHostsBeforeFix - r.FailedHostsBound)
			}},
			{name: "failures, against no breaker", most: 0.25, of: failedWorks, against: "bad image, no breaker"},
		},
	},
	{
		name: "bad image, no breaker", whole: "--scenario bad-image --breaker off --fixed-after 3h --work 2m-2m",
		small: "--scenario bad-image --breaker off --hosts 80 --limit 8 --fixed-after 1h --work 2m-2m", once: true,
	},
	{
		name: "dead rack", whole: "--scenario dead-rack --hosts 200 --limit 10 --fixed-after 5h",
		bounds: []bound{
			{name: "the other racks, against no breaker", most: 0.67, of: healthy, against: "dead rack, no breaker"},
		},
	},
	{name: "dead rack, no breaker", whole: "--scenario dead-rack --breaker off --hosts 200 --limit 10 --fixed-after 5h"},
	{
		name: "hanging", whole: "--scenario hanging --hosts 40 --limit 8", small: "--scenario hanging --hosts 20 --limit 4", once: true,
		bounds: []bound{{name: "a quarter is written off", least: 0.25, most: 0.25, of: func(r simulate.Result) float64 {
			return float64(r.WrittenOff) / float64(r.Limit)
		}}},
	},
	{name: "times told", whole: "--hosts 600", bounds: told},
	{name: "times told, equal works", whole: "--hosts 300 --work 20m-20m", via: measure.ViaCheck, bounds: told},
	{name: "times told, many failing", whole: "--hosts 300 --failing 0.2", via: measure.ViaCheck, bounds: told},
}

// TestStormsKeepEveryBound plays small storms; `make storms` plays all of them whole, with more seeds.
func TestStormsKeepEveryBound(t *testing.T) {
	if testing.Short() {
		t.Skip("a storm is one goroutine, which the race detector makes twenty times slower")
	}
	for _, via := range []measure.Via{measure.ViaCheck, measure.ViaGateway} {
		t.Run(string(via), func(t *testing.T) {
			t.Parallel()
			var played []storm
			results := map[string][]simulate.Result{}
			for _, s := range storms {
				flags := s.small
				if *wholeStorms {
					flags = s.whole
				}
				again := s.once && !*wholeStorms && via != measure.ViaCheck
				if flags == "" || again || s.via != "" && s.via != via {
					continue
				}
				played = append(played, s)
				results[s.name] = play(t, s, via, flags)
			}
			for _, s := range played {
				for _, b := range s.bounds {
					b.judge(t, s.name, results)
				}
			}
		})
	}
}

// play plays a storm with each seed: the limit holds, and it comes to its end.
func play(t *testing.T, s storm, via measure.Via, flags string) (results []simulate.Result) {
	g := simulate.DefaultGrid()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	g.Flags(fs)
	if err := fs.Parse(strings.Fields(flags + " --via " + string(via))); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	for g.Seeds = nil; len(g.Seeds) < *stormSeeds; {
		g.Seeds = append(g.Seeds, uint(len(g.Seeds)+1))
	}
	if err := g.Validate(); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	for _, o := range g.Storms() {
		if s.edit != nil {
			s.edit(&o)
		}
		r, err := simulate.Run(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if r.PeakWorking > o.Limit || r.OverLimitSeconds > 0 || r.Unfinished() != "" {
			t.Errorf("%s, seed %d: %d hosts worked at once, limit %d; %s", s.name, r.Seed, r.PeakWorking, o.Limit, r.Unfinished())
		}
		results = append(results, r)
	}
	return results
}

func (b bound) judge(t *testing.T, name string, results map[string][]simulate.Result) {
	var values []float64
	for i, r := range results[name] {
		v := b.of(r)
		if b.against != "" {
			v = (b.few + v) / max(1e-9, b.few+b.of(results[b.against][i]))
		}
		values = append(values, v)
	}
	if b.mean {
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		values = []float64{sum / float64(len(values))}
	}
	t.Logf("%s: %s: %.4g", name, b.name, values)
	if slices.ContainsFunc(values, func(v float64) bool { return v < b.least || v > b.most }) {
		t.Errorf("%s: %s: %.4g, must be %v to %v", name, b.name, values, b.least, b.most)
	}
}
