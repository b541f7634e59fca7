package simulate

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

// small is a storm that ends at once.
func small() Options {
	o := DefaultOptions()
	o.Hosts, o.Limit, o.Failing = 40, 5, 0.1
	return o
}

// play runs a storm and returns it with its inside.
func play(t *testing.T, o Options) (*sim, Result) {
	t.Helper()
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	s, err := newSim(o)
	if err != nil {
		t.Fatal(err)
	}
	why, err := s.play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, s.meter.result(why)
}

func TestEveryPolicyServesEverybody(t *testing.T) {
	whole(t)
	for _, policy := range policies {
		for _, via := range vias {
			t.Run(string(policy)+" "+string(via), func(t *testing.T) {
				t.Parallel()
				o := small()
				o.Policy, o.Via = policy, via
				s, r := play(t, o)
				if r.Unfinished() != "" || r.Provisioned+r.Failed != o.Hosts || r.Failed > 0 {
					t.Errorf("%d provisioned, %d given up, unfinished %q", r.Provisioned, r.Failed, r.Unfinished())
				}
				exact := policy == measure.PolicyThrottle
				if exact && (r.PeakWorking != o.Limit || r.OverLimitSeconds != 0) {
					t.Errorf("F-1: %d worked at once, for %v s above %d", r.PeakWorking, r.OverLimitSeconds, o.Limit)
				}
				if !exact && !r.Exceeded() {
					t.Errorf("%d worked at once: this rule is known to exceed %d", r.PeakWorking, o.Limit)
				}
				conserved(t, s, r)
			})
		}
	}
}

// conserved holds what no storm may lose or make.
func conserved(t *testing.T, s *sim, r Result) {
	t.Helper()
	m := &s.meter
	if m.healthyWaiting != 0 || m.healthyAsked != 0 || m.tenantsWaiting != 0 {
		t.Errorf("after the storm %d wait (%d were refused) in %d tenants", m.healthyWaiting, m.healthyAsked, m.tenantsWaiting)
	}
	truth := s.world.Truth(s.clock)
	if int64(truth.Working) != m.working.value || truth.HostTime != time.Duration(m.allWork.at(s.now)) {
		t.Errorf("the world knows %d at work and %v of work, the meter %d and %v",
			truth.Working, truth.HostTime, m.working.value, time.Duration(m.allWork.at(s.now)))
	}
	if truth.Started < len(m.waits) || len(m.waits) < r.Provisioned {
		t.Errorf("%d works begun, %d waits for one, %d hosts provisioned", truth.Started, len(m.waits), r.Provisioned)
	}
	if got := s.bmo.queue.len() + len(s.agenda.soon) + len(s.agenda.asleep); got == 0 {
		t.Error("nothing would go on: not even the poller")
	}
	grants := 0
	for _, n := range r.GrantsByTenant {
		grants += n
	}
	if grants < r.Provisioned {
		t.Errorf("%d grants for %d provisioned hosts", grants, r.Provisioned)
	}
	if r.SlotUse < 0 || r.SlotUse > 1 || r.FailingSlotShare < 0 || r.FailingSlotShare > 1 || r.JainTenants > 1 {
		t.Errorf("shares beyond 0..1: %+v", r)
	}
}

func TestSameOptionsSameBytes(t *testing.T) {
	g := DefaultGrid()
	g.Hosts, g.Limits, g.Failing, g.Seeds = 30, []int{4, 8}, 0.1, []uint{1}
	g.Policies = []string{"throttle", "bmo"}
	play := func() string {
		var out, progress bytes.Buffer
		if _, err := g.Run(t.Context(), Output{Stdout: &out, Stderr: &progress, JSON: true}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if diff := cmp.Diff(play(), play()); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
}

func TestSeedsDiffer(t *testing.T) {
	whole(t)
	o := small()
	_, a := play(t, o)
	o.Seed = 2
	_, b := play(t, o)
	if a.MakespanSeconds == b.MakespanSeconds {
		t.Error("two seeds gave the same storm")
	}
}

// TestTroublesDoNotBreakTheLimit: kills, restarts and outages in a row.
func TestTroublesDoNotBreakTheLimit(t *testing.T) {
	whole(t)
	for _, via := range vias {
		o := small()
		o.Hosts, o.Via = 30, via
		for i := range 12 {
			kinds := []TroubleKind{TroubleThrottle, TroubleBMO, TroubleIronic}
			o.Troubles = append(o.Troubles, Trouble{
				Kind: kinds[i%3], At: time.Duration(i*191) * time.Second, For: time.Duration(i*i*5) * time.Second,
			})
		}
		s, r := play(t, o)
		if r.Exceeded() || r.Provisioned != o.Hosts || r.Unfinished() != "" {
			t.Errorf("by %s: %d worked at once with limit %d, %d of %d provisioned, %q",
				via, r.PeakWorking, r.Limit, r.Provisioned, r.Hosts, r.Unfinished())
		}
		conserved(t, s, r)
	}
}

// TestBMOOvershootsByItsWorkers: decide, then act (docs/dev/reference/bmo.md); and it sees no more
// than one page.
func TestBMOOvershootsByItsWorkers(t *testing.T) {
	whole(t)
	o := small()
	o.Policy, o.Hosts, o.Limit, o.Failing, o.BootCapacity = measure.PolicyBMO, 100, 10, 0, NoBootLimit
	_, r := play(t, o)
	if most := o.Limit + o.Workers - 1; r.PeakWorking <= o.Limit || r.PeakWorking > most {
		t.Errorf("%d worked at once, want more than %d and at most %d", r.PeakWorking, o.Limit, most)
	}
	o.Hosts, o.Duration = 3*pageNodes, time.Hour
	o.Work = fakeironic.Span{Min: 10 * time.Minute, Max: 20 * time.Minute}
	if _, r = play(t, o); r.PeakWorking < 2*(o.Limit+o.Workers) {
		t.Errorf("%d of %d worked at once, want far more: those beyond the first page are not seen", r.PeakWorking, o.Hosts)
	}
}

// TestTenantsOfUnequalSize: a tenant with many hosts gets no more than its part;
// who asks first would get almost everything.
func TestTenantsOfUnequalSize(t *testing.T) {
	whole(t)
	o := small()
	o.Sizes, o.Failing, o.BootCapacity = []int{100, 10, 10}, 0, NoBootLimit
	o.Work = fakeironic.Span{Min: 10 * time.Minute, Max: 20 * time.Minute}
	if _, r := play(t, o); r.GrantSpread > 12 {
		t.Errorf("grants apart: %d, want at most 12, as parts are of time", r.GrantSpread)
	}
}

// TestKnownBrokenHostsAreHeldBack: with healthy hosts waiting they get CAP
// slots, told by a check or by somebody who watches BareMetalHosts.
func TestKnownBrokenHostsAreHeldBack(t *testing.T) {
	whole(t)
	for _, c := range []struct {
		via           measure.Via
		untold, above bool
	}{{measure.ViaCheck, true, false}, {measure.ViaGateway, false, false}, {measure.ViaGateway, true, true}} {
		o := small()
		o.Hosts, o.Limit, o.Tenants, o.Failing, o.FailTries, o.ErrorsKnown = 80, 8, 1, 0.5, 9, 3
		o.Via, o.ErrorsUntold, o.BootCapacity = c.via, c.untold, NoBootLimit
		o.Work = fakeironic.Span{Min: 10 * time.Minute, Max: 12 * time.Minute}
		o.Duration = time.Hour
		o.Seed = 3 // where nothing is told, a matter of luck: 1 to 7 of eight seeds
		_, r := play(t, o)
		if above := r.FailingPeakCrowded > 2; above != c.above {
			t.Errorf("by %s, untold %v: %d failing hosts at once with healthy ones waiting", c.via, c.untold, r.FailingPeakCrowded)
		}
	}
}

// whole skips a storm where only a part is wanted. A storm is one goroutine in virtual time,
// which the race detector makes twenty times slower: make test plays all storms without it,
// and with it those that show how several are played side by side.
func whole(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a long storm")
	}
}

// TestTwentyThousandHosts: size costs memory and events, nothing else.
func TestTwentyThousandHosts(t *testing.T) {
	whole(t)
	o := DefaultOptions()
	o.Hosts, o.Limit, o.Workers, o.Duration = 20_000, 200, 32, 8*time.Minute
	o.Work = fakeironic.Span{Min: 10 * time.Minute, Max: 20 * time.Minute}
	_, r := play(t, o)
	if r.PeakWorking != o.Limit || r.Unfinished() != "" {
		t.Errorf("%d worked at once, want %d; %q", r.PeakWorking, o.Limit, r.Unfinished())
	}
}

// TestResultFields holds the words that scripts rely on: those of the demo, then
// our own.
func TestResultFields(t *testing.T) {
	_, r := play(t, Options{
		Hosts: 1, Limit: 1, Tenants: 1, Workers: 1, Via: measure.ViaCheck, Policy: measure.PolicyThrottle, BootCapacity: NoBootLimit, Turns: DefaultOptions().Turns,
		Groups: 1, Images: 1, Waves: 1, BootModel: fakeironic.BootCliff,
	})
	var got, want []string
	names := func(v any) (out []string) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		in := json.NewDecoder(bytes.NewReader(text))
		depth, key := 0, false
		for {
			token, err := in.Token()
			if err != nil {
				return out
			}
			if d, ok := token.(json.Delim); ok {
				depth += map[json.Delim]int{'{': 1, '[': 1, '}': -1, ']': -1}[d]
				key = depth == 1
				continue
			}
			if name, ok := token.(string); ok && depth == 1 && key {
				out, key = append(out, name), false
				continue
			}
			key = depth == 1
		}
	}
	got, want = names(r), names(r.Summary)
	want = append(want, "seed", "finished", "healthyMakespanSeconds", "longestWaitSeconds", "grantsByTenant", "grantSpread", "overtaken",
		"failingPeak", "failingPeakCrowded",
		"scenario", "breaker", "holdoffSeconds", "failedWorks", "failedHosts", "failedHostsBeforeFix", "failedHostsBound",
		"breakerOpenings", "probes", "recoverySeconds", "failingSlotSeconds", "failingShareHealthy",
		"hung", "writtenOff", "firstWrittenOffSeconds", "othersUseBefore", "othersUse", "slotUseFault", "breakerEvents",
		"estimatedWaits", "estimateHalf", "estimateMost", "estimateMostLater", "estimatePlaces", "plannedDone", "plannedSlotMinutes",
		"limitMode", "limitMean", "limitAtEnd", "recommendedLimit", "limitVerdict", "limitEvidence")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
