package soak

import (
	"strings"
	"testing"
)

// One seed is one history, whatever else runs and however often.
func TestOneSeedIsOneHistory(t *testing.T) {
	t.Parallel()
	seen := map[uint64]uint64{}
	for seed := uint64(1); seed <= 12; seed++ {
		a, b := Play(seed), Tell(seed)
		if a.Hash != b.Hash || a.Broken != b.Broken || a.Tally.String() != b.Tally.String() {
			t.Errorf("seed %d: %016x and %016x, %q and %q", seed, a.Hash, b.Hash, a.Broken, b.Broken)
		}
		if other, twice := seen[a.Hash]; twice {
			t.Errorf("seeds %d and %d have one hash", other, seed)
		}
		seen[a.Hash] = seed
	}
}

// The short version of make soak. The laws are in law.go, turnlaw.go, failurelaw.go, holdlaw.go, waits.go and drain.go.
func TestNoHistoryBreaksALaw(t *testing.T) {
	t.Parallel()
	histories := uint64(150)
	if testing.Short() {
		histories = 20
	}
	var sum Tally
	for seed := uint64(1); seed <= histories; seed++ {
		r := Play(seed)
		sum.Add(&r.Tally)
		if r.Broken != "" {
			t.Fatalf("seed %d: %s (see it with go run ./hack/soak -only %d)", seed, r.Broken, seed)
		}
	}
	t.Logf("%d histories\n%s", histories, &sum)
	if !testing.Short() {
		for f, n := range sum.Faults {
			if n == 0 && fault(f) != bareNames && fault(f) != slowPolls {
				t.Errorf("no history has %s", faultNames[f])
			}
		}
		if sum.Adapted == 0 || sum.Planned == 0 || sum.Held == 0 || sum.Terms == 0 || sum.Saves == 0 {
			t.Errorf("the histories are too tame to prove anything:\n%s", &sum)
		}
	}
}

func TestShrinkKeepsWhatItTakes(t *testing.T) {
	takes := mask(1<<kills | 1<<skew)
	if got := shrink(func(m mask) bool { return m&takes == takes }); got != takes {
		t.Errorf("%v, want %v", got.names(), takes.names())
	}
}

// A history that is told has its faults, and a line for each answer.
func TestTell(t *testing.T) {
	r := Tell(3)
	asks := 0
	for _, line := range r.Story {
		if strings.Contains(line, " asks replica ") {
			asks++
		}
	}
	if r.Broken != "" || asks != r.Tally.Asks || len(r.Faults) == 0 {
		t.Errorf("%q, %d asks of %d, faults %v", r.Broken, asks, r.Tally.Asks, r.Faults)
	}
}
