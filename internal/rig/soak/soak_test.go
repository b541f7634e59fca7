package soak

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	count = flag.Int("soak", 0, "how many histories; 0: the few of make test")
	lasts = flag.Duration("soak.for", 0, "play histories for so long instead")
	first = flag.Uint64("soak.seed", 1, "the first seed")
	only  = flag.Uint64("soak.only", 0, "tell the history of this seed")
	plain = flag.Bool("soak.plain", false, "do not tell the history that broke a law")
)

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(-1) // a history leaves little behind
	debug.SetMemoryLimit(256 << 20)
	os.Exit(m.Run())
}

// One seed is one history, whatever else runs and however often; one that is told has its faults, and a line for each answer.
func TestOneSeedIsOneHistory(t *testing.T) {
	t.Parallel()
	seen := map[uint64]uint64{}
	for seed := uint64(1); seed <= 6; seed++ {
		a, b := Play(seed), Tell(seed)
		if a.Hash != b.Hash || a.Broken != b.Broken || a.Tally.String() != b.Tally.String() {
			t.Errorf("seed %d: %016x and %016x, %q and %q", seed, a.Hash, b.Hash, a.Broken, b.Broken)
		}
		if other, twice := seen[a.Hash]; twice {
			t.Errorf("seeds %d and %d have one hash", other, seed)
		}
		seen[a.Hash] = seed
		if asks := strings.Count(strings.Join(b.Story, "\n"), " asks replica "); asks != b.Tally.Asks {
			t.Errorf("seed %d: %d asks are told of %d", seed, asks, b.Tally.Asks)
		}
	}
}

// TestNoHistoryBreaksALaw: the laws are in law.go, turnlaw.go, failurelaw.go, holdlaw.go, waits.go and drain.go. A history that
// breaks one is told with as few faults as it takes.
func TestNoHistoryBreaksALaw(t *testing.T) {
	if *only != 0 {
		r := Tell(*only)
		t.Logf("%s\nseed %d with %s; hash %016x; %s", strings.Join(r.Story, "\n"), r.Seed, strings.Join(r.Faults, ", "), r.Hash, r.Broken)
		return
	}
	histories := *count
	switch {
	case histories == 0 && testing.Short():
		histories = 20
	case histories == 0:
		histories = 150
	}
	begin := time.Now()
	sum, played, broken := playAll(uint64(histories), *lasts)
	t.Logf("%d histories from seed %d in %v\n%s", played, *first, time.Since(begin).Round(time.Second), &sum)
	if broken != nil {
		t.Errorf("seed %d: %s (see all of it with -args -soak.only=%d)", broken.Seed, broken.Broken, broken.Seed)
		if !*plain {
			r := Shrink(broken.Seed)
			t.Logf("with %s:\n%s", strings.Join(r.Faults, ", "), strings.Join(r.Story[max(0, len(r.Story)-60):], "\n"))
		}
		return
	}
	for f, n := range sum.Faults {
		if n == 0 && histories >= 150 && fault(f) != bareNames && fault(f) != slowPolls {
			t.Errorf("no history has %s", faultNames[f])
		}
	}
	if histories >= 150 && (sum.Adapted == 0 || sum.Planned == 0 || sum.Held == 0 || sum.Terms == 0 || sum.Saves == 0) {
		t.Error("the histories are too tame to prove anything")
	}
}

// playAll plays histories until all are played, the time is over or one breaks a law.
func playAll(histories uint64, lasts time.Duration) (sum Tally, played int, broken *Result) {
	var (
		mu      sync.Mutex
		workers sync.WaitGroup
		begin   = time.Now()
		next    = *first
	)
	take := func() (seed uint64, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if broken != nil || lasts == 0 && next-*first >= histories || lasts > 0 && time.Since(begin) >= lasts {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				seed, ok := take()
				if !ok {
					return
				}
				r := Play(seed)
				mu.Lock()
				sum.Add(&r.Tally)
				played++
				if r.Broken != "" && (broken == nil || seed < broken.Seed) {
					broken = &r
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return sum, played, broken
}

func TestShrinkKeepsWhatItTakes(t *testing.T) {
	takes := mask(1<<kills | 1<<skew)
	if got := shrink(func(m mask) bool { return m&takes == takes }); got != takes {
		t.Errorf("%v, want %v", got.names(), takes.names())
	}
}
