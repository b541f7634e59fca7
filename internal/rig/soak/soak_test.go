package soak

import (
	"flag"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	var before []string
	for seed := uint64(1); seed <= 6; seed++ {
		silent, told, again := Play(seed, false), Play(seed, true), Play(seed, true)
		if diff := cmp.Diff(told, again); diff != "" {
			t.Errorf("seed %d, told twice:\n%s", seed, diff)
		}
		if silent.Broken != told.Broken || !maps.Equal(silent.Tally, told.Tally) {
			t.Errorf("seed %d, told or not: %q and %q, %v and %v", seed, silent.Broken, told.Broken, silent.Tally, told.Tally)
		}
		if len(told.Story) == 0 || slices.Equal(told.Story, before) {
			t.Errorf("seed %d has no story of its own", seed)
		}
		before = told.Story
	}
}

// TestNoHistoryBreaksALaw: the laws are in law.go, answerlaw.go, turnlaw.go and drain.go.
func TestNoHistoryBreaksALaw(t *testing.T) {
	if *only != 0 {
		r := Play(*only, true)
		t.Logf("%s\nseed %d; %s", strings.Join(r.Story, "\n"), r.Seed, r.Broken)
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
	for _, what := range append(faults, "terms", "saves", "holds", "slots given to planned work") {
		if sum[string(what)] == 0 && histories >= 150 {
			t.Errorf("no history has %s: they are too tame to prove anything", what)
		}
	}
}

// playAll plays histories until all are played, the time is over or one breaks a law.
func playAll(histories uint64, lasts time.Duration) (sum map[string]int, played uint64, broken *Result) {
	var (
		mu      sync.Mutex // guards the results
		workers errgroup.Group
		begin   = time.Now()
		over    atomic.Bool
	)
	sum = map[string]int{}
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
