package simulate_test

import (
	"flag"
	"slices"
	"testing"
	"time"

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
	via    string                  // "": both
	once   bool                    // the small one by the check alone
	edit   func(*simulate.Options) // what no flag says
	bounds []bound
}

// bound holds a figure of a storm. With a storm to compare with, it holds the ratio of both.
type bound struct {
	name        string
	least, most float64
	of          func(r simulate.Result) float64
	against     string
}

const (
	noFaults = "--failing 0 --boot-capacity -1 "
	badImage = "--scenario bad-image --failing 0 --work 2m-2m "
)

var (
	use         = func(r simulate.Result) float64 { return r.SlotUse }
	healthy     = func(r simulate.Result) float64 { return r.HealthyMakespanSeconds }
	failedWorks = func(r simulate.Result) float64 { return float64(r.FailedWorks) }

	inUse = bound{name: "slots occupied while hosts wait", least: 0.985, most: 1, of: use}
)

var storms = []storm{
	{name: "large", via: simulate.ViaCheck, whole: noFaults + "--hosts 20000 --limit 200 --workers 32 --work 10m-12m --duration 2h", bounds: []bound{inUse}},
	{
		name: "equal", whole: noFaults + "--tenant-hosts 200,200,200 --work 10m-60m",
		small: noFaults + "--tenant-hosts 15,15,15 --limit 5 --work 20m-30m",
		bounds: []bound{inUse, {name: "Jain's index over equal tenants", least: 0.98, most: 1, of: func(r simulate.Result) float64 {
			return r.JainTenants
		}}},
	},
	{name: "uneven", whole: noFaults + "--tenant-hosts 1000,30,30 --work 10m-60m --duration 8h", bounds: []bound{inUse}},
	{
		name: "one slot", via: simulate.ViaGateway, whole: noFaults + "--hosts 10 --tenants 1 --limit 1 --work 4m-8m",
		small: noFaults + "--hosts 10 --tenants 1 --limit 1 --work 4m-8m", bounds: []bound{inUse},
	},
	{
		name: "adaptive", whole: "--hosts 600 --limit 100 --limit-mode adaptive --boot-capacity 25",
		small: "--hosts 60 --limit 40 --limit-mode adaptive --boot-capacity 24", once: true,
		bounds: []bound{{name: "limit on average", least: 1, most: 60, of: func(r simulate.Result) float64 { return r.LimitMean }}},
	},
	{
		name: "bad image", whole: badImage + "--hosts 500", small: badImage + "--hosts 80 --limit 8", once: true,
		edit:   repairedAfter(3*time.Hour, time.Hour),
		bounds: []bound{{name: "failures, against no breaker", most: 0.25, of: failedWorks, against: "bad image, no breaker"}},
	},
	{
		name: "bad image, no breaker", whole: badImage + "--hosts 500 --breaker off", small: badImage + "--hosts 80 --limit 8 --breaker off", once: true,
		edit: repairedAfter(3*time.Hour, time.Hour),
	},
	{
		name: "dead rack", whole: "--scenario dead-rack --failing 0 --hosts 200 --limit 10",
		bounds: []bound{{name: "the other racks, against no breaker", most: 0.67, of: healthy, against: "dead rack, no breaker"}},
	},
	{name: "dead rack, no breaker", whole: "--scenario dead-rack --breaker off --failing 0 --hosts 200 --limit 10"},
}

func repairedAfter(whole, small time.Duration) func(*simulate.Options) {
	return func(o *simulate.Options) {
		if o.FixedAfter = small; *wholeStorms {
			o.FixedAfter = whole
		}
	}
}

// TestStormsKeepEveryBound plays small storms; `make storms` plays all of them whole, with more seeds.
func TestStormsKeepEveryBound(t *testing.T) {
	if testing.Short() {
		t.Skip("a storm is one goroutine, which the race detector makes twenty times slower")
	}
	for _, via := range []string{simulate.ViaCheck, simulate.ViaGateway} {
		t.Run(via, func(t *testing.T) {
			t.Parallel()
			var played []storm
			results := map[string][]simulate.Result{}
			for _, s := range storms {
				flags := s.small
				if *wholeStorms {
					flags = s.whole
				}
				again := s.once && !*wholeStorms && via != simulate.ViaCheck
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
func play(t *testing.T, s storm, via, flags string) (results []simulate.Result) {
	g, err := parse(flags + " --via " + via)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	o := g.Storms()[0] // there is but one
	if s.edit != nil {
		s.edit(&o)
	}
	for o.Seed = 1; o.Seed <= uint64(*stormSeeds); o.Seed++ {
		r, err := simulate.Run(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if r.PeakWorking > o.Limit || r.OverLimitSeconds > 0 || r.Why != "" {
			t.Errorf("%s, seed %d: %d hosts worked at once, limit %d; %s", s.name, r.Seed, r.PeakWorking, o.Limit, r.Why)
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
			v /= max(1e-9, b.of(results[b.against][i]))
		}
		values = append(values, v)
	}
	t.Logf("%s: %s: %.4g", name, b.name, values)
	if slices.ContainsFunc(values, func(v float64) bool { return v < b.least || v > b.most }) {
		t.Errorf("%s: %s: %.4g, must be %v to %v", name, b.name, values, b.least, b.most)
	}
}
