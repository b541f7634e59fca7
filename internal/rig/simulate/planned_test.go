package simulate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

// plannedStorms plays storms of some seeds without planned work and with it, and returns the waits of
// all hosts that are not planned.
func plannedStorms(t *testing.T, o Options, seeds int) (without, with []time.Duration, done int, minutes float64) {
	t.Helper()
	for seed := range seeds {
		o.Seed = uint64(seed + 1)
		plain := o
		plain.Planned = 0
		for _, storm := range []Options{plain, o} {
			s, r := play(t, storm)
			if r.Unfinished() != "" || r.PeakWorking > o.Limit || r.OverLimitSeconds != 0 {
				t.Fatalf("seed %d: unfinished %q, %d work where %d may", o.Seed, r.Unfinished(), r.PeakWorking, o.Limit)
			}
			if r.Provisioned+r.Failed != o.Hosts || r.Hosts != o.Hosts {
				t.Fatalf("seed %d: %d provisioned, %d given up of %d", o.Seed, r.Provisioned, r.Failed, r.Hosts)
			}
			conserved(t, s, r)
			waits := &without
			if storm.Planned > 0 {
				waits = &with
				done, minutes = done+r.PlannedDone, minutes+r.PlannedSlotMinutes
			}
			for _, w := range r.trace.waits {
				*waits = append(*waits, w.lasted)
			}
		}
	}
	slices.Sort(without)
	slices.Sort(with)
	return without, with, done, minutes
}

// differs returns by how much, in percent, the figures of waits differ: mean, p50, p95 and p99, and how
// it is told.
func differs(without, with []time.Duration) (percent [4]float64, text string) {
	of := func(all []time.Duration) (f [4]float64) {
		for _, d := range all {
			f[0] += d.Seconds() / float64(len(all))
		}
		for i, q := range []float64{0.5, 0.95, 0.99} {
			f[i+1] = all[int(q*float64(len(all)-1))].Seconds()
		}
		return f
	}
	a, b := of(without), of(with)
	var parts []string
	for i, name := range []string{"mean", "p50", "p95", "p99"} {
		percent[i] = 100 * (b[i]/a[i] - 1)
		parts = append(parts, fmt.Sprintf("%s %.0f s, with planned work %.0f s (%+.2f %%)", name, a[i], b[i], percent[i]))
	}
	return percent, strings.Join(parts, "; ")
}

// plannedLoad is a storm in which each host does one work, so that its waits say what a host waits, beside
// twice as many planned hosts as there are slots.
func plannedLoad(limit int) Options {
	o := DefaultOptions()
	o.Limit, o.Hosts, o.Failing, o.Planned = limit, 30*limit, 0, 2*limit
	o.Work.Min, o.Work.Max = 10*time.Minute, 20*time.Minute
	return o
}

// While hosts wait, planned work costs them nothing: what is left is that other draws are made.
func TestPlannedWorkCostsRealHostsNothing(t *testing.T) {
	whole(t)
	for _, c := range []struct {
		via          measure.Via
		limit, seeds int
	}{
		{measure.ViaCheck, 10, 4},
		{measure.ViaCheck, 20, 3},
		{measure.ViaGateway, 10, 1},
	} {
		t.Run(fmt.Sprintf("%s, limit %d", c.via, c.limit), func(t *testing.T) {
			t.Parallel()
			o := plannedLoad(c.limit)
			o.Via = c.via
			without, with, _, _ := plannedStorms(t, o, c.seeds)
			percent, text := differs(without, with)
			t.Log(text)
			for _, p := range percent {
				if p > 1 || p < -1 {
					t.Errorf("the waits of real hosts differ by 1 %% or more: %s", text)
					break
				}
			}
		})
	}
}

// Where slots fall idle between waves that do not need them all, planned work gets much done, and
// nobody waits for it.
func TestPlannedWorkUsesWhatIsIdle(t *testing.T) {
	whole(t)
	o := plannedLoad(20)
	o.Hosts, o.Waves, o.WaveEvery = 60, 6, time.Hour // ten at once, and 13 slots are not planned work's, nor the reserve's
	without, with, done, minutes := plannedStorms(t, o, 4)
	_, text := differs(without, with)
	t.Logf("%s; %d done, %.0f minutes", text, done, minutes)
	longest := with[len(with)-1] - without[len(without)-1]
	if done < 100 || minutes <= 0 || longest > 10*time.Second {
		t.Errorf("%d done in %.0f minutes, the longest wait grew by %v", done, minutes, longest)
	}
}

// Planned work that began while nobody waited holds its slots when a wave comes. The cap bounds what that
// costs: a host waits longer by at most the part of the slots that planned work may hold, for the rest
// of one work.
func TestAWaveMeetsPlannedWorkOfAQuarterAtMost(t *testing.T) {
	whole(t)
	o := plannedLoad(20)
	o.Hosts, o.Waves, o.WaveEvery = 600, 6, 3*time.Hour
	without, with, done, minutes := plannedStorms(t, o, 2)
	percent, text := differs(without, with)
	t.Logf("%s; %d done, %.0f minutes", text, done, minutes)
	mean := func(all []time.Duration) (sum time.Duration) {
		for _, d := range all {
			sum += d / time.Duration(len(all))
		}
		return sum
	}
	bound := o.Work.Max / 4
	if more := mean(with) - mean(without); more > bound || percent[0] < -1 || done == 0 {
		t.Errorf("%d done; hosts wait %v longer, want at most %v: %s", done, more, bound, text)
	}
}

func TestPlannedOptions(t *testing.T) {
	for want, edit := range map[string]func(*Options){
		"--planned -1: must be 0 to 100000":        func(o *Options) { o.Planned = -1 },
		"goes with --policy throttle alone":        func(o *Options) { o.Planned, o.Policy = 1, measure.PolicyBMO },
		"--planned 3: does not go with --scenario": func(o *Options) { *o = ScenarioHang.With(*o); o.Planned = 3 },
		"--waves 0: must be 1 to 1000":             func(o *Options) { o.Waves = 0 },
		"--wave-every -1s: must be 0s to 10000h":   func(o *Options) { o.WaveEvery = -time.Second },
	} {
		o := DefaultOptions()
		edit(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
