package admission

import (
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// The search plays random histories against the real Controller in virtual time
// and looks for one in which more hosts work than law F-1 allows,
// or in which a slot is lost for ever. The rows of docs/spec/slots.md came out of such
// searches. A history that is found here becomes a short test of its own in
// pkg/slots: it then stays, however this model changes.
var (
	searchHistories = flag.Int("search.histories", 60, "how many random histories to play")
	searchSeed      = flag.Uint64("search.seed", 1, "the first seed")
	searchOnly      = flag.Uint64("search.only", 0, "play this seed alone and print it")
)

// rounds is how many random histories to play. Each is one goroutine, which the race
// detector makes ten times slower and has nothing to say about: make test plays all of
// them without it, and a few with it (-short).
func rounds() int {
	if testing.Short() {
		return min(*searchHistories, 20)
	}
	return *searchHistories
}

// whole skips a long test of one goroutine where a part is wanted, as rounds does.
func whole(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long, and one goroutine")
	}
}

func TestF1_TruthNeverExceedsTheLimitInRandomHistories(t *testing.T) {
	if *searchOnly != 0 {
		w := newWorld(*searchOnly)
		w.verbose = true
		w.play()
		t.Log("\n" + strings.Join(w.trace, "\n"))
		if w.broken != "" {
			t.Fatalf("seed %d: %s", *searchOnly, w.broken)
		}
		return
	}
	var seeds []uint64
	for i := range rounds() {
		seeds = append(seeds, *searchSeed+uint64(i))
	}
	var sum tallyOfRuns
	failed := 0
	for _, seed := range seeds {
		w := newWorld(seed)
		w.play()
		sum.add(w)
		if w.broken != "" {
			t.Errorf("seed %d: %s (see it with -search.only=%d)", seed, w.broken, seed)
			if failed++; failed == 10 {
				t.Fatal("ten broken histories are enough")
			}
		}
	}
	t.Logf("%d histories: %+v", len(seeds), sum)
	if sum.Works == 0 || sum.Full == 0 || sum.Restarts == 0 || sum.Broken == 0 || sum.Remade == 0 || sum.Outages == 0 || sum.Lost == 0 || sum.Unmoved == 0 ||
		sum.Holds == 0 || sum.Mispaired == 0 || sum.Renamed == 0 || sum.Counted == 0 || sum.Planned == 0 || sum.Yielded == 0 || sum.Resized == 0 {
		t.Fatalf("the histories are too tame to prove anything: %+v", sum)
	}
}

// tallyOfRuns shows that the histories were worth playing.
type tallyOfRuns struct {
	Asks, Yes, Works, Full, Held, Done, Restarts, Outages, Broken, Doubled, Foreign, Remade, Jumps, Unmoved int
	Moves, Holds, Mispaired, Renamed, Failed, Counted, Lost, Planned, Yielded, Resized                      int
}

func (s *tallyOfRuns) add(w *world) {
	r := w.runs
	s.Asks += r.Asks
	s.Yes += r.Yes
	s.Works += r.Works
	s.Unmoved += r.Unmoved
	s.Full += r.Full
	s.Held += r.Held
	s.Done += r.Done
	s.Restarts += r.Restarts
	s.Outages += r.Outages
	s.Broken += r.Broken
	s.Doubled += r.Doubled
	s.Foreign += r.Foreign
	s.Remade += r.Remade
	s.Jumps += r.Jumps
	s.Lost += r.Lost
	s.Planned += r.Planned
	s.Yielded += r.Yielded
	s.Resized += r.Resized
	s.Moves += r.Moves
	s.Holds += r.Holds
	s.Mispaired += r.Mispaired
	s.Renamed += r.Renamed
	s.Failed += r.Failed
	s.Counted += r.Counted
}

// event is something that happens at a virtual moment.
type event struct {
	at  time.Time
	seq int
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if !e[i].at.Equal(e[j].at) {
		return e[i].at.Before(e[j].at)
	}
	return e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

// after schedules f in d.
func (w *world) after(d time.Duration, f func()) {
	w.seq++
	heap.Push(&w.queue, event{at: w.now.Add(d), seq: w.seq, do: f})
}

func (w *world) chance(p float64) bool { return w.rng.Float64() < p }

func (w *world) between(a, b time.Duration) time.Duration {
	return a + time.Duration(w.rng.Float64()*float64(b-a))
}

func (w *world) logf(format string, args ...any) {
	if w.verbose {
		w.trace = append(w.trace, fmt.Sprintf("%9.1fs ", w.now.Sub(epoch).Seconds())+fmt.Sprintf(format, args...))
	}
}

func rngFor(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }
