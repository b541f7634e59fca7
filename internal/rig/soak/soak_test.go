package soak

import (
	"flag"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

var (
	count = flag.Int("soak", 0, "how many histories; 0: the few of make test")
	lasts = flag.Duration("soak.for", 0, "play histories for so long instead")
	first = flag.Uint64("soak.seed", 1, "the first seed")
	only  = flag.Uint64("soak.only", 0, "tell the history of this seed")
)

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(-1) // a history leaves little behind
	debug.SetMemoryLimit(256 << 20)
	os.Exit(m.Run())
}

// One seed is one history, whatever else runs and however often, told or not.
func TestOneSeedIsOneHistory(t *testing.T) {
	t.Parallel()
	seen := map[uint64]uint64{}
	for seed := uint64(1); seed <= 6; seed++ {
		a, b := Play(seed, false), Play(seed, true)
		if a.Hash != b.Hash || a.Broken != b.Broken || !maps.Equal(a.Tally, b.Tally) {
			t.Errorf("seed %d: %016x and %016x, %q and %q", seed, a.Hash, b.Hash, a.Broken, b.Broken)
		}
		if other, twice := seen[a.Hash]; twice {
			t.Errorf("seeds %d and %d have one hash", other, seed)
		}
		seen[a.Hash] = seed
	}
}

// TestNoHistoryBreaksALaw: the laws are in law.go, answerlaw.go, turnlaw.go and drain.go.
func TestNoHistoryBreaksALaw(t *testing.T) {
	if *only != 0 {
		r := Play(*only, true)
		t.Logf("%s\nseed %d; hash %016x; %s", strings.Join(r.Story, "\n"), r.Seed, r.Hash, r.Broken)
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
	t.Logf("%d histories from seed %d in %v: %v", played, *first, time.Since(begin).Round(time.Second), sum)
	if broken != nil {
		t.Errorf("seed %d: %s (see all of it with -args -soak.only=%d)", broken.Seed, broken.Broken, broken.Seed)
		return
	}
	for _, what := range append(faultNames[:], "terms", "saves", "holds", "slots given below the ceiling", "slots given to planned work") {
		if sum[what] == 0 && histories >= 150 {
			t.Errorf("no history has %s: they are too tame to prove anything", what)
		}
	}
}

// playAll plays histories until all are played, the time is over or one breaks a law.
func playAll(histories uint64, lasts time.Duration) (sum Tally, played uint64, broken *Result) {
	var (
		mu      sync.Mutex // guards the results
		workers errgroup.Group
		begin   = time.Now()
		over    atomic.Bool
	)
	sum = Tally{}
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for ; !over.Load() && (lasts == 0 && played < histories || time.Since(begin) < lasts); played++ {
		seed := *first + played
		workers.Go(func() error {
			r := Play(seed, false)
			mu.Lock()
			defer mu.Unlock()
			for what, n := range r.Tally {
				sum[what] += n
			}
			if r.Broken != "" && (broken == nil || seed < broken.Seed) {
				broken = &r
				over.Store(true)
			}
			return nil
		})
	}
	_ = workers.Wait() // no history is an error
	return sum, played, broken
}
