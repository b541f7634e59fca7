package simulate

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// changing is a small storm in which the limit can move below a ceiling of 40.
func changing() Options {
	o := DefaultOptions()
	o.Hosts, o.Limit, o.Failing, o.BootCapacity, o.Adaptive, o.Record = 60, 40, 0, 24, true, true
	return o
}

// inForce is the limit at so long after the begin.
func (r *Result) inForce(after time.Duration) int {
	i, _ := slices.BinarySearchFunc(r.trace.series, r.trace.begun+int64(after), func(p point, at int64) int { return int(p.at - at) })
	return r.trace.series[min(i, len(r.trace.series)-1)].limit
}

func TestLimitModeAndBootChangeNameWhatIsWrong(t *testing.T) {
	for args, want := range map[string]string{
		"--limit-mode adaptiv":                         `--limit-mode "adaptiv": must be fixed or adaptive; did you mean adaptive?`,
		"--limit-mode=":                                "--limit-mode: must name at least one",
		"--limit-mode fixed,fixed":                     "--limit-mode fixed: is given twice",
		"--limit-mode adaptive --policy throttle,bmo":  "--limit-mode adaptive: goes with --policy throttle alone",
		"--limit-mode fixed,adaptive --policy bmo":     "--limit-mode adaptive: goes with --policy throttle alone",
		"--boot-model steep":                           `--boot-model "steep": must be cliff or shared`,
		"--boot-model share":                           "did you mean shared?",
		"--boot-change 12":                             `--boot-change "12": must be CAPACITY@TIME, such as 12@1h`,
		"--boot-change x@1h":                           `--boot-change "x@1h": must be CAPACITY@TIME`,
		"--boot-change 12@soon":                        `--boot-change "12@soon": must be CAPACITY@TIME`,
		"--boot-change 0@0s":                           `--boot-change "0@0s": the capacity must be -1, or 1 and more`,
		"--boot-change -2@1h":                          "--boot-change -2@1h0m0s: the capacity must be -1, or 1 to 100000",
		"--boot-change 200000@1h":                      "--boot-change 200000@1h0m0s: the capacity must be -1, or 1 to 100000",
		"--boot-change 12@-1s":                         "--boot-change 12@-1s: the time must be 0s to 10000h",
		"--boot-change 12@10001h":                      "--boot-change 12@10001h0m0s: the time must be 0s to 10000h",
		"--limit-mode fixed,adaptive --seed " + many(): "--limit, --limit-mode, --policy, --seed, --breaker and --holdoff: 1002 storms, must be at most 1000",
	} {
		if _, err := parse(args); err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("%.60s: %v\nwant once %q", args, err, want)
		}
	}
}

// many is 501 seeds.
func many() string {
	var seeds []string
	for i := range 501 {
		seeds = append(seeds, string(rune('0'+i/100))+string(rune('0'+i/10%10))+string(rune('0'+i%10)))
	}
	return strings.Join(seeds, ",")
}

func TestBootChangeReadsWhatItWrites(t *testing.T) {
	for _, want := range []BootChange{{12, time.Hour}, {NoBootLimit, 90 * time.Second}, {1, 0}} {
		var got BootChange
		if err := got.Set(want.String()); err != nil || got != want {
			t.Errorf("%s: %+v, %v", want, got, err)
		}
	}
	if got := (BootChange{}).String(); got != "" {
		t.Errorf("none is written %q", got)
	}
}

// TestLimitModesAreCompared: both stand side by side; the heading of the picture plays them again.
func TestLimitModesAreCompared(t *testing.T) {
	g, err := parse("--hosts 40 --limit 8,30 --limit-mode fixed,adaptive --boot-model shared --boot-capacity 20 --boot-change -1@10m --seed 3,4")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	storms := g.Storms()
	for _, o := range storms {
		got = append(got, map[bool]string{false: "fixed", true: "adaptive"}[o.Adaptive])
	}
	want := []string{"fixed", "fixed", "adaptive", "adaptive"}
	if diff := cmp.Diff(append(want, want...), got); diff != "" {
		t.Errorf("storms (-want +got):\n%s", diff)
	}
	lines := g.heading("", []Result{{Seed: 3}, {Seed: 4}})
	again, err := parse(strings.TrimPrefix(lines[0], "ironic-throttle-lab dev simulate "))
	if err != nil {
		t.Fatalf("%v: %q", err, lines[0])
	}
	if diff := cmp.Diff(storms, again.Storms()); diff != "" {
		t.Errorf("the flags of the heading play another storm:\n%s", diff)
	}
	if want := "boots 20 at once, shared smoothly, any number after 10m0s"; !strings.Contains(lines[1], want) {
		t.Errorf("%q is not in %q", want, lines[1])
	}
}

// TestTheTruthNeverAboveTheCeiling: whatever the limit does below it, and whoever is killed.
func TestTheTruthNeverAboveTheCeiling(t *testing.T) {
	whole(t)
	changes := map[string]func(*Options){
		"as it is":        func(*Options) {},
		"failing hosts":   func(o *Options) { o.Failing = 0.3 },
		"halved capacity": func(o *Options) { o.BootChange = BootChange{o.BootCapacity / 2, 12 * time.Minute} },
		"no capacity any more, then a tenth": func(o *Options) {
			o.BootChange, o.BootCapacity = BootChange{3, 8 * time.Minute}, NoBootLimit
		},
		"by gateway": func(o *Options) { o.Via = measure.ViaGateway },
		"throttle killed while the limit moves": func(o *Options) {
			for i := range 12 {
				o.Troubles = append(o.Troubles, Trouble{TroubleThrottle, time.Duration(i*151+80) * time.Second, time.Duration(1+i*i) * time.Second})
			}
		},
		"everything killed": func(o *Options) {
			o.BootChange = BootChange{8, 10 * time.Minute}
			for i, kind := range []TroubleKind{TroubleThrottle, TroubleBMO, TroubleIronic, TroubleThrottle, TroubleBMO} {
				o.Troubles = append(o.Troubles, Trouble{kind, time.Duration(i*7+5) * time.Minute, time.Duration(i+1) * 20 * time.Second})
			}
		},
	}
	for _, model := range []fakeironic.BootModel{fakeironic.BootCliff, fakeironic.BootShared} {
		for name, change := range changes {
			t.Run(string(model)+", "+name, func(t *testing.T) {
				t.Parallel()
				o := changing()
				o.BootModel = model
				change(&o)
				s, r := play(t, o)
				if r.Unfinished() != "" || r.PeakWorking > o.Limit || r.OverLimitSeconds != 0 {
					t.Errorf("%d worked at once where %d may, for %v s; unfinished %q", r.PeakWorking, o.Limit, r.OverLimitSeconds, r.Unfinished())
				}
				moved := false
				for _, p := range r.trace.series {
					moved = moved || p.limit != r.trace.series[0].limit
					if p.limit < 1 || p.limit > o.Limit {
						t.Fatalf("the limit was %d, must be 1 to %d", p.limit, o.Limit)
					}
				}
				if len(r.Windows) == 0 || name == "as it is" && !moved {
					t.Errorf("%d windows, the limit moved: %v", len(r.Windows), moved)
				}
				conserved(t, s, r)
			})
		}
	}
}

// TestARestartedThrottleKnowsItsLimit: it goes on from what the killed one had learned.
func TestARestartedThrottleKnowsItsLimit(t *testing.T) {
	o := changing()
	o.BootCapacity = NoBootLimit
	kill := Trouble{TroubleThrottle, 15 * time.Minute, 20 * time.Second}
	o.Troubles = []Trouble{kill}
	_, r := play(t, o)
	before, after := r.inForce(kill.At-samplePeriod), r.inForce(kill.At+kill.For+2*samplePeriod)
	if before <= 20 || after != before {
		t.Errorf("the limit was %d before the kill and %d after the restart", before, after)
	}
	for i := 1; i < len(r.Windows); i++ {
		if !r.Windows[i].At.After(r.Windows[i-1].At) {
			t.Errorf("window %d ended at %v, the one before at %v", i, r.Windows[i].At, r.Windows[i-1].At)
		}
	}
}

// TestALaterStormBeginsWithWhatWasLearned, and its windows are its own.
func TestALaterStormBeginsWithWhatWasLearned(t *testing.T) {
	o := changing()
	o.BootCapacity = NoBootLimit
	_, first := play(t, o)
	if first.LimitAtEnd <= 20 {
		t.Fatalf("the limit ended at %d", first.LimitAtEnd)
	}
	o.Learned, o.Later, o.Duration = first.Learned, 24*time.Hour, time.Minute
	_, second := play(t, o)
	if got := second.inForce(0); got != first.LimitAtEnd || len(second.Windows) > 0 {
		t.Errorf("the first storm ended with a limit of %d, the second begins with %d, and %d windows", first.LimitAtEnd, got, len(second.Windows))
	}
	o.Later = -time.Second
	if err := o.Validate(); err == nil || err.Error() != "later -1s: must be 0s to 10000h" {
		t.Errorf("error %v", err)
	}
}

// TestTheFirstLimitIsInForceForItsTime, and then the other one.
func TestTheFirstLimitIsInForceForItsTime(t *testing.T) {
	o := changing()
	o.Adaptive, o.BootChange, o.Record = false, BootChange{}, true
	o.FirstLimit, o.FirstFor = 3, 10*time.Minute
	_, r := play(t, o)
	for after, want := range map[time.Duration]int{0: 3, 590 * time.Second: 3, 620 * time.Second: o.Limit, 30 * time.Minute: o.Limit} {
		if got := r.inForce(after); got != want {
			t.Errorf("after %v the limit is %d, want %d", after, got, want)
		}
	}
	if r.PeakWorking != o.Limit || r.LimitAtEnd != o.Limit || r.LimitMean >= float64(o.Limit) || r.LimitMode != "fixed" {
		t.Errorf("peak %d, limit %v on average, %d at the end, %s", r.PeakWorking, r.LimitMean, r.LimitAtEnd, r.LimitMode)
	}
	for _, change := range []func(*Options){
		func(o *Options) { o.FirstLimit = o.Limit + 1 }, func(o *Options) { o.FirstLimit = -1 }, func(o *Options) { o.FirstFor = -1 },
		func(o *Options) { o.Adaptive = true }, func(o *Options) { o.Policy = measure.PolicyBMO },
	} {
		wrong := o
		change(&wrong)
		if err := wrong.Validate(); err == nil || !strings.Contains(err.Error(), "first limit ") {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

// TestResultTellsOfTheLimit: a fixed limit is what it is all the time.
func TestResultTellsOfTheLimit(t *testing.T) {
	whole(t)
	o := changing()
	_, r := play(t, o)
	if r.LimitMode != "adaptive" || r.LimitMean <= 1 || r.LimitMean >= 40 || r.LimitAtEnd != r.trace.series[len(r.trace.series)-1].limit {
		t.Errorf("%+v", r.Sizing)
	}
	if !slices.Contains(api.SizingVerdicts(), r.LimitVerdict) {
		t.Errorf("verdict %q", r.LimitVerdict)
	}
	for _, policy := range policies {
		o := small()
		o.Policy = policy
		_, r := play(t, o)
		if r.LimitMode != "fixed" || r.LimitMean != 5 || r.LimitAtEnd != 5 || len(r.Windows) > 0 || !slices.Contains(api.SizingVerdicts(), r.LimitVerdict) {
			t.Errorf("%s: %+v", policy, r.Sizing)
		}
	}
	table := func(results ...Result) string {
		var out strings.Builder
		if err := WriteTable(&out, results); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	fixed := Result{Sizing: Sizing{LimitMode: "fixed", LimitMean: 8, LimitAtEnd: 8}}
	if got := table(fixed); strings.Contains(got, "limit mode") || strings.Contains(got, "recommended") {
		t.Errorf("a fixed limit, and\n%s", got)
	}
	adaptive := Result{Sizing: Sizing{LimitMode: "adaptive", LimitMean: 8.25, LimitAtEnd: 9, RecommendedLimit: 10}}
	got := table(fixed, adaptive)
	for name, want := range map[string][]string{
		"limit mode": {"fixed", "adaptive"}, "limit in force, mean": {"8.0", "8.2"}, "limit in force, at the end": {"8", "9"}, "recommended limit": {"-", "10"},
	} {
		if diff := cmp.Diff(want, cell(t, got, name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestSameOptionsSameBytesWithALimitThatMoves, in what is printed and in the picture.
func TestSameOptionsSameBytesWithALimitThatMoves(t *testing.T) {
	whole(t)
	play := func() string {
		g := smallGrid()
		g.Options, g.Limits, g.LimitModes, g.Seeds = changing(), []int{40}, []string{"fixed", "adaptive"}, []uint{1, 2}
		g.BootModel, g.BootChange = fakeironic.BootShared, BootChange{10, 10 * time.Minute}
		g.Troubles, g.troubles = nil, []string{"throttle@8m+30s"}
		g.Plot = filepath.Join(t.TempDir(), "a.html")
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := g.Run(t.Context(), Output{Stdout: &out, Stderr: io.Discard, JSON: true}); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(g.Plot)
		if err != nil {
			t.Fatal(err)
		}
		return out.String() + string(page)
	}
	if diff := cmp.Diff(play(), play()); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
}
