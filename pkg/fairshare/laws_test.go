package fairshare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// F-1 … F-6 at once, in 3,000 worlds where anything may happen.
func TestF1F2F3F4F5F6_InAnyWorld(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { drawWorld(t, func(*traits) {}) })
}

// F-1 … F-6 in 3,000 worlds where no host goes away, so that there are hardly any
// un-calls and F-2 is tight.
func TestF1F2F3F4F5F6_InCalmWorlds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawWorld(t, func(tr *traits) { tr.vanish, tr.bars, tr.ends = 0, false, 0 })
	})
}

// The reference model keeps the laws as well: what breaks one of them is a fault of
// the code and not of the rules.
func TestF1F2F3F4F5F6_InTheModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		err := inWorld(seed, 1+int(seed%maxGuests), 70, func(*traits) {}, func(cfg Config, tenants []string) turns { return newModel(cfg, tenants) })
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func drawWorld(t *rapid.T, shape func(*traits)) {
	seed, hosts, steps := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, maxGuests).Draw(t, "hosts"), rapid.IntRange(30, 110).Draw(t, "steps")
	err := inWorld(seed, hosts, steps, shape, func(cfg Config, tenants []string) turns {
		s, err := newActual(cfg, tenants)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
	if err != nil {
		t.Fatal(err)
	}
}

// inWorld lets a world live for a while. An error ends with what happened last.
func inWorld(seed uint64, hosts, steps int, shape func(*traits), build func(Config, []string) turns) error {
	live := func(trace []string) (*world, error) {
		r := rand.New(rand.NewPCG(seed, 0))
		tr := drawTraits(r)
		tr.hosts = hosts
		shape(&tr)
		w := newWorld(r, tr, build)
		w.trace = trace
		return w, w.live(tr, steps)
	}
	_, err := live(nil)
	if err == nil {
		return nil
	}
	w, _ := live([]string{})
	return fmt.Errorf("%w\n%s\n%s", err, configText(w.cfg), strings.Join(w.trace[max(0, len(w.trace)-20):], "\n"))
}
