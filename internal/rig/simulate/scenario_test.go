package simulate

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
)

// TestBadImage: the image of all 500 hosts is bad. Without a breaker nine of ten
// of them fail at least; with it no more than limit + threshold + probes, and nobody has to
// touch the throttle when the image is mended.
func TestBadImage(t *testing.T) {
	whole(t)
	t.Parallel()
	o := ScenarioImage.With(DefaultOptions())
	o.Work, o.FixedAfter = fakeironic.Span{Min: 2 * time.Minute, Max: 2 * time.Minute}, 3*time.Hour
	s, on := play(t, o)
	conserved(t, s, on)
	if on.FailedHostsBeforeFix > on.FailedHostsBound || on.FailedHostsBound != o.Limit+10+s.meter.fails.probesThen {
		t.Errorf("%d hosts failed, %d may: limit %d, threshold 10, %d probes", on.FailedHostsBeforeFix, on.FailedHostsBound, o.Limit, s.meter.fails.probesThen)
	}
	if on.BreakerOpenings < 2 || on.Probes < on.BreakerOpenings {
		t.Errorf("%d openings, %d probes: no round of probes failed before the mending", on.BreakerOpenings, on.Probes)
	}
	if last := on.BreakerEvents[len(on.BreakerEvents)-1]; last.To != string(breaker.Closed) {
		t.Errorf("in the end the breaker of %s is %s", last.Scope, last.To)
	}
	if on.Provisioned != o.Hosts || on.Unfinished() != "" || on.Exceeded() || on.RecoverySeconds == 0 {
		t.Errorf("%d provisioned, %q, %d at work at once, %v s to recover", on.Provisioned, on.Unfinished(), on.PeakWorking, on.RecoverySeconds)
	}
	o.Breakers = nil
	_, off := play(t, o)
	if off.FailedHostsBeforeFix < o.Hosts*9/10 || off.FailedWorks < 5*on.FailedWorks || off.BreakerOpenings != 0 {
		t.Errorf("without a breaker %d hosts failed in %d tries, with it in %d; it opened %d times", off.FailedHostsBeforeFix, off.FailedWorks, on.FailedWorks, off.BreakerOpenings)
	}
}

// TestDeadRack: of four conductor groups one dies. Its breaker opens and no other; the
// other groups have the slots.
func TestDeadRack(t *testing.T) {
	whole(t)
	t.Parallel()
	o := ScenarioRack.With(DefaultOptions())
	o.Hosts, o.Limit, o.FixedAfter = 200, 10, 5*time.Hour
	s, on := play(t, o)
	conserved(t, s, on)
	o.Breakers = nil
	_, off := play(t, o)
	for _, e := range on.BreakerEvents {
		if e.Scope != "group:rack-1" {
			t.Errorf("the breaker of %s got %s", e.Scope, e.To)
		}
	}
	if on.BreakerOpenings == 0 || on.Provisioned != o.Hosts {
		t.Errorf("%d openings, %d provisioned", on.BreakerOpenings, on.Provisioned)
	}
	if on.SlotUseFault < 0.985 {
		t.Errorf("%.4f of the slots were occupied while the rack was dead, want 0.985", on.SlotUseFault)
	}
	if on.OthersUse < 2*off.OthersUse || on.FailingSlotSeconds > off.FailingSlotSeconds/4 || 3*on.HealthyMakespanSeconds > 2*off.HealthyMakespanSeconds {
		t.Errorf("with and without a breaker: others used %.3f and %.3f of the slots, the dead rack had %v and %v s, others were through after %v and %v s",
			on.OthersUse, off.OthersUse, on.FailingSlotSeconds, off.FailingSlotSeconds, on.HealthyMakespanSeconds, off.HealthyMakespanSeconds)
	}
}

// TestFlappingBMC: hosts that fail, go well and fail again open nothing, and the
// hold-off spaces their tries (BO-2, BO-5).
func TestFlappingBMC(t *testing.T) {
	whole(t)
	t.Parallel()
	o := ScenarioBMC.With(DefaultOptions())
	o.Hosts, o.Limit, o.Failing = 80, 8, 0.05
	s, r := play(t, o)
	conserved(t, s, r)
	o.Holdoff = 2 * time.Hour
	_, held := play(t, o)
	if r.BreakerOpenings != 0 || held.BreakerOpenings != 0 {
		t.Errorf("a breaker opened: %v, %v", r.BreakerEvents, held.BreakerEvents)
	}
	if r.FailedHosts != 4 || held.FailedHosts != 4 || r.FailedWorks < 3*r.FailedHosts {
		t.Errorf("%d and %d hosts failed, in %d tries", r.FailedHosts, held.FailedHosts, r.FailedWorks)
	}
	if 2*held.FailingShareHealthy > r.FailingShareHealthy || held.FailingShareHealthy == 0 {
		t.Errorf("they had %.4f of the work, and %.4f with a hold-off", r.FailingShareHealthy, held.FailingShareHealthy)
	}
	if most := float64(held.FailedWorks) / 4 * o.Holdoff.Seconds(); held.MakespanSeconds < 0.7*most {
		t.Errorf("%d failures of 4 hosts, each two hours apart, took %v s", held.FailedWorks, held.MakespanSeconds)
	}
}

// TestHangingHosts: as many hosts as there are slots hang for ever. A quarter of
// them is written off, and the others go on in their slots.
func TestHangingHosts(t *testing.T) {
	whole(t)
	t.Parallel()
	for _, via := range vias {
		o := ScenarioHang.With(DefaultOptions())
		o.Hosts, o.Limit, o.Via = 40, 8, via
		_, r := play(t, o)
		if r.Hung != o.Limit || r.WrittenOff != 2 || r.Provisioned != o.Hosts-r.Hung || r.Unfinished() != "" {
			t.Errorf("by %s: %d hang, %d written off, %d provisioned, %q", via, r.Hung, r.WrittenOff, r.Provisioned, r.Unfinished())
		}
		if r.FirstWrittenOffSeconds < 90*60 || r.OthersUseBefore != 0 || r.OthersUse < 0.2 || r.OthersUse > 0.25 {
			t.Errorf("by %s: others used %.3f of the slots, and %.3f after %v s", via, r.OthersUseBefore, r.OthersUse, r.FirstWrittenOffSeconds)
		}
		if r.Exceeded() || r.OverLimitSeconds != 0 || r.TruthUse > 1 {
			t.Errorf("F-1: by %s %d worked at once that were not written off, for %v s more than %d", via, r.PeakWorking, r.OverLimitSeconds, r.Limit)
		}
	}
}

// TestScenarioFlags: a scenario says what no flag says; what cannot be is named.
func TestScenarioFlags(t *testing.T) {
	parse := func(args string) (Grid, error) {
		g := DefaultGrid()
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		g.Flags(fs)
		if err := fs.Parse(strings.Fields(args)); err != nil {
			return g, err
		}
		return g, g.Validate()
	}
	g, err := parse("--scenario dead-rack --hosts 80 --breaker on,off --holdoff 0s,2h --policy throttle,bmo --breaker-recovery 5m --breaker-threshold 7")
	if err != nil {
		t.Fatal(err)
	}
	storms := g.Storms()
	if len(storms) != 5 || storms[4].Policy != measure.PolicyBMO {
		t.Fatalf("%d storms", len(storms))
	}
	if o := storms[1]; o.Hosts != 80 || o.Groups != 4 || o.FixedAfter != 6*time.Hour || o.Failing != 0 || o.Holdoff != 2*time.Hour {
		t.Errorf("%+v", o)
	}
	if b := storms[0].Breakers; b.Ironic.FailureThreshold != 7 || b.Ironic.RecoveryTimeout != 5*time.Minute || b.Others.RecoveryTimeout != 5*time.Minute || storms[2].Breakers != nil {
		t.Errorf("breakers %+v, %+v", b, storms[2].Breakers)
	}
	if d := DefaultGrid().Breakers.Ironic; d.FailureThreshold != 10 {
		t.Errorf("the flags have changed the defaults: %+v", d)
	}
	for args, want := range map[string]string{
		"--scenario bad-imag":                    `--scenario "bad-imag": must be bad-image, dead-rack, flapping-bmc or hanging; did you mean bad-image?`,
		"--scenario dead-rack --groups 1":        "--groups 1: must be 2 or more with --scenario dead-rack",
		"--scenario dead-rack --fixed-after 20m": "--fixed-after 20m0s: must be above 30m0s",
		"--fixed-after 1h":                       "--fixed-after 1h0m0s: goes with --scenario bad-image or dead-rack only",
		"--breaker offf":                         `--breaker "offf": must be on or off; did you mean off?`,
		"--breaker-threshold 1":                  "--breaker-threshold 1: must be 2 to 1000",
		"--breaker-recovery 0s":                  "--breaker-recovery 0s: must be above 0",
		"--breaker-scopes grop":                  `--breaker-scopes "grop": must be ironic or group; did you mean group?`,
		"--holdoff=-1s":                          "--holdoff -1s: must not be negative",
		"--images 0":                             "--images 0: must be 1 to 64",
		"--holdoff soon":                         "must be durations, such as 0s,2h",
		"--hosts 1 --seed 1 --limit 1 --holdoff 1h,1h --breaker on": "--holdoff 1h0m0s: is given twice",
	} {
		if _, err := parse(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", args, err, want)
		}
	}
}

// TestFailureRows: the table speaks of failures where there is something to say.
func TestFailureRows(t *testing.T) {
	table := func(r ...Result) string {
		var out strings.Builder
		if err := WriteTable(&out, r); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	on := Failures{Breaker: breakerOn}
	if text := table(Result{Failures: on}); strings.Contains(text, "breaker") || strings.Contains(text, "hold-off") {
		t.Errorf("nothing has failed:\n%s", text)
	}
	opened := on
	opened.BreakerOpenings = 1
	if text := table(Result{Failures: opened}); !strings.Contains(text, "breakers opened 1") {
		t.Errorf("a breaker has opened:\n%s", text)
	}
	image := Failures{Scenario: ScenarioImage, Breaker: breakerOn, FailedHosts: 31, FailedHostsBeforeFix: 30, FailedHostsBound: 40, RecoverySeconds: 90}
	for _, want := range []string{"hosts that failed 31", "before the repair 30", "threshold + probes 40", "from the repair to the end 1m30s"} {
		if text := table(Result{Failures: image}); !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
