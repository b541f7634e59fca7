package simulate

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// parse reads a command line as simulate does.
func parse(args string) (Grid, error) {
	g := DefaultGrid()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	g.Flags(fs)
	if err := fs.Parse(strings.Split(args, " ")); err != nil {
		var invalid *pflag.InvalidValueError
		if errors.As(err, &invalid) {
			err = fmt.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), errors.Unwrap(invalid))
		}
		return g, err
	}
	return g, g.Validate()
}

// TestFlagsNameValueAndRule: no word of Go's own in what a user reads.
func TestFlagsNameValueAndRule(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--policy throtle", `--policy "throtle": must be throttle or bmo; did you mean throttle?`},
		{"--policy nothing", `--policy "nothing": must be throttle or bmo`},
		{"--via gatway", `--via "gatway": must be check or gateway; did you mean gateway?`},
		{"--trouble bm@1h+5m", `--trouble "bm@1h+5m": "bm" must be throttle, bmo or ironic; did you mean bmo?`},
		{"--trouble bmo@soon+5m", `--trouble "bmo@soon+5m": AT "soon" must be a duration, such as 1h`},
		{"--trouble bmo@1h+", `--trouble "bmo@1h+": FOR "" must be a duration, such as 5m`},
		{"--trouble ironic@1h+0s", `--trouble "ironic@1h+0s": FOR must be above 0`},
		{"--tenant-hosts 5,5 --hosts 10", "--tenant-hosts and --hosts: one of both, --tenant-hosts says the hosts of each tenant"},
		{"--tenant-hosts 5,5 --tenants 2", "--tenant-hosts and --tenants: one of both, --tenant-hosts says the hosts of each tenant"},
		{"--tenant-weights tenant-4=2", "--tenant-weights tenant-4: there is no such tenant, they are tenant-1, tenant-2, tenant-3"},
		{"--tenant-hosts 9,9,9,9,9 --tenant-weights prod=2", "--tenant-weights prod: there is no such tenant, they are tenant-1 to tenant-5"},
		{"--tenant-weights tenant-01=2", "--tenant-weights tenant-01: there is no such tenant, they are tenant-1, tenant-2, tenant-3"},
		{"--tenant-weights tenant-1=0", `--tenant-weights "tenant-1=0": must give each tenant a weight 0.01..100, tenant-1 has "0"`},
		{"--tenant-weights tenant-1=100.1", `--tenant-weights "tenant-1=100.1": must give each tenant a weight 0.01..100, tenant-1 has "100.1"`},
		{"--tenant-weights tenant-1=1e1", `--tenant-weights "tenant-1=1e1": must give each tenant a weight 0.01..100, tenant-1 has "1e1"`},
		{"--tenant-weights tenant-1", `--tenant-weights "tenant-1": must be TENANT=WEIGHT pairs such as tenant-1=3,tenant-2=0.5`},
		{"--tenant-weights tenant-1=1,tenant-1=2", `--tenant-weights "tenant-1=1,tenant-1=2": must name each tenant once, "tenant-1" comes twice`},
		{"--failing-threshold 0", "--failing-threshold 0: must be 1 to 9"},
		{"--failing-cap many", `--failing-cap "many": must be auto or a whole number`},
		{"--failing-cap -1", `--failing-cap "-1": must be auto or a whole number`},
		{"--failing-cap 0", "--failing-cap 0: must be auto or 1 to 20 with --limit 20"},
		{"--limit 40,4 --failing-cap 10", "--failing-cap 10: must be auto or 1 to 4 with --limit 4"},
		{"--failing-cap 21", "--failing-cap 21: must be auto or 1 to 20 with --limit 20"},
	} {
		_, err := parse(c.args)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v, want\n%s", c.args, err, c.want)
		}
	}
}

func TestTurnFlagsReachTheThrottle(t *testing.T) {
	g, err := parse("--tenant-weights tenant-1=3,tenant-2=0.5 --failing-threshold 3 --failing-cap 18")
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSim(g.Storms()[0])
	if err != nil {
		t.Fatal(err)
	}
	for until := s.clock.Add(5 * time.Minute); s.clock.Before(until); { // the throttle has settled, hosts wait
		e, _ := s.agenda.pop()
		s.advance(e.at)
		if err := s.handle(e); err != nil {
			t.Fatal(err)
		}
	}
	weights := map[string]float64{}
	line := s.rule.(*throttle).c.QueueOf(s.clock, api.QueueQuery{}).Pools[0]
	for _, tenant := range line.Tenants {
		weights[tenant.Tenant] = tenant.Weight
	}
	if len(weights) != 3 || weights["tenant-1"] != 3 || weights["tenant-2"] != 0.5 || weights["tenant-3"] != 1 {
		t.Errorf("weights %v", weights)
	}
}

// TestWeightsDecideWhoStarts: of three tenants of one size the one with weight 3
// gets three times as much while all of them wait, and its share is even then.
func TestWeightsDecideWhoStarts(t *testing.T) {
	whole(t)
	o := small()
	o.Sizes, o.Failing, o.BootCapacity, o.Duration = []int{60, 60, 60}, 0, NoBootLimit, 4*time.Hour
	o.Work = fakeironic.Span{Min: 10 * time.Minute, Max: 20 * time.Minute}
	o.Turns.Weights = map[string]float64{"tenant-1": 3, "tenant-2": 0.5}
	grants, jain := make([]int, 3), 0.0
	const seeds = 4 // one is five slots for four hours: little
	for o.Seed = 1; o.Seed <= seeds; o.Seed++ {
		_, r := play(t, o)
		for i, n := range r.GrantsByTenant {
			grants[i] += n
		}
		jain += r.JainTenants / seeds
		if r.GrantSpread > 12 { // parts are of time
			t.Errorf("seed %d: grants %v, apart %d", o.Seed, r.GrantsByTenant, r.GrantSpread)
		}
	}
	a, b, c := grants[0], grants[1], grants[2]
	if a < 3*b || a > 8*b || a < 2*c || a > 4*c || c <= b || jain < 0.92 {
		t.Errorf("grants %v, Jain %v", grants, jain)
	}
	o.Turns = DefaultOptions().Turns
	if _, r := play(t, o); r.GrantsByTenant[0] > 2*r.GrantsByTenant[1] {
		t.Errorf("without weights %v", r.GrantsByTenant)
	}
}

// TestCapAndThresholdOfTheFlags: more failing hosts with a larger cap, and none
// that counts as failing below the threshold. No seed exceeds the cap, and some reach it.
func TestCapAndThresholdOfTheFlags(t *testing.T) {
	whole(t)
	o := small()
	o.Hosts, o.Limit, o.Tenants, o.Failing, o.FailTries, o.ErrorsKnown = 80, 8, 4, 0.5, 9, 3 // of one tenant one would go before the healthy ones
	o.BootCapacity, o.Duration = NoBootLimit, time.Hour
	o.Work = fakeironic.Span{Min: 10 * time.Minute, Max: 12 * time.Minute}
	for _, c := range []struct{ most, threshold, peak int }{{1, 2, 1}, {2, 2, 2}, {1, 9, 0}} {
		o.Turns.Cap, o.Turns.Threshold = c.most, c.threshold
		peak := 0
		for o.Seed = 1; o.Seed <= 4; o.Seed++ {
			_, r := play(t, o)
			peak = max(peak, r.FailingPeakCrowded)
		}
		if peak != c.peak {
			t.Errorf("cap %d, threshold %d: %d failing hosts while healthy ones waited, want %d", c.most, c.threshold, peak, c.peak)
		}
	}
}

// TestFailingHostsBehindTheCapWaitForNoTurn: a tenant of which only such hosts
// wait is passed over rightly, and does not count in what grants are apart.
func TestFailingHostsBehindTheCapWaitForNoTurn(t *testing.T) {
	whole(t)
	o := DefaultOptions()
	o.Hosts, o.Limit, o.Failing, o.ErrorsKnown = 150, 10, 0.5, 3
	if _, r := play(t, o); r.GrantSpread > 30 { // parts are of time, and works that fail last long
		t.Errorf("grants were %d apart", r.GrantSpread)
	}
}

func TestNotesOnStderr(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string // each line begins with
	}{
		{"--hosts 10 --limit 2 --tenants 1", nil},
		{"--hosts 10 --limit 2,3 --tenants 1 --boot-capacity 30", nil},
		{"--hosts 10 --limit 2,3 --tenants 1 --boot-capacity -1", nil},
		{"--hosts 10 --limit 2,3 --tenants 1", []string{
			"without --boot-capacity each limit has a network made for it, so a larger limit always looks better; tell what yours can boot at once, such as --boot-capacity 30",
		}},
		{"--hosts 10 --limit 2 --tenants 1 --trouble bmo@1m+1m,ironic@90h+1m --seed 1,2", []string{
			"--trouble ironic@90h0m0s+1m0s: never came in 2 of 2 storms, of which the first was over after ",
		}},
		{"--hosts 10 --limit 2 --tenants 1 --policy bmo --failing-cap 1", []string{
			"--tenant-weights, --failing-threshold and --failing-cap are settings of the policy throttle",
		}},
		{"--hosts 10 --limit 2 --tenants 1 --duration 1m", nil},
	} {
		g, err := parse(c.args)
		if err != nil {
			t.Fatal(err)
		}
		_, _, stderr := runGrid(t, g, true)
		lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
		if stderr == "" {
			lines = nil
		}
		if len(lines) != len(c.want) {
			t.Errorf("%s: says %q", c.args, stderr)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(lines[i], want) {
				t.Errorf("%s: says %q, want %q", c.args, lines[i], want)
			}
		}
	}
}

func TestNearWords(t *testing.T) {
	for word, want := range map[measure.Policy]string{
		"throtle": "; did you mean throttle?", "bmp": "; did you mean bmo?", "": "",
		measure.Policy(strings.Repeat("throttle", 1000)): "", "xyz": "",
	} {
		if got := didYouMean(word, policies); got != want {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
}
