package fakeironic

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// bootsAt checks that the boots of ids end at a moment, to the millisecond.
func bootsAt(t *testing.T, w *World, end time.Time, ids ...string) {
	t.Helper()
	const near = time.Millisecond
	for _, at := range []time.Time{end.Add(-near), end.Add(near)} {
		for _, id := range ids {
			if up := see(t, w, at, id).AgentURL; up != at.After(end) {
				t.Errorf("%v after the begin: host %s up %v", at.Sub(t0), id, up)
			}
		}
	}
}

// slowed is how long a boot takes among n at once with room for c: sqrt(1 + (n/c)^2) times as long.
func slowed(boot time.Duration, n, c float64) time.Duration {
	return time.Duration(float64(boot) * math.Sqrt(1+n/c*n/c))
}

// TestSharedBootsSlowDownByTheFormula: n boots at once, with less, as much and more room.
func TestSharedBootsSlowDownByTheFormula(t *testing.T) {
	for _, c := range []struct{ boots, capacity int }{{1, 10}, {5, 10}, {10, 10}, {30, 10}, {40, 5}, {1, 1}, {7, 3}, {3, 0}} {
		w, ids := storm(t, c.boots, Overload{Model: BootShared, BootCapacity: c.capacity})
		want := 3 * m
		if c.capacity > 0 {
			want = slowed(3*m, float64(c.boots), float64(c.capacity))
		}
		bootsAt(t, w, t0.Add(10*s+want), ids...)
		if truth := w.Truth(t0.Add(3 * time.Hour)); truth.LostBoots != 0 || truth.PeakBooting != c.boots || truth.Finished != c.boots {
			t.Errorf("%d boots with room for %d: %+v", c.boots, c.capacity, truth)
		}
	}
}

// TestSharedBootsFollowEachOther: the one that is alone, then not, then alone again is slowed for so long alone.
func TestSharedBootsFollowEachOther(t *testing.T) {
	w := newWorld(t, fixed(func(o *Options) { o.Fleet.Nodes = 2; o.Overload = Overload{Model: BootShared, BootCapacity: 2} }))
	ids := w.Idents()
	put(t, w, t0, ids[0], ironic.TargetActive, 202)
	put(t, w, t0.Add(time.Minute), ids[1], ironic.TargetActive, 202)
	// The speed of one boot and of two, and what of the first is left when the second begins.
	one, two := 1/math.Sqrt(1.25), 1/math.Sqrt(2)
	left := 180 - 60*one
	together := left / two
	seconds := func(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }
	bootsAt(t, w, t0.Add(70*s+seconds(together)), ids[0])
	bootsAt(t, w, t0.Add(70*s+seconds(together)+seconds((180-together*two)/one)), ids[1])
}

// TestSetOverloadChangesBootsUnderWay: what is left of a boot goes on at the new speed from that moment on.
func TestSetOverloadChangesBootsUnderWay(t *testing.T) {
	const half = 90 * s
	for _, c := range []struct {
		name        string
		first, then Overload
		speed       float64 // of 8 boots at once, after the change
		before      time.Duration
	}{
		{"cliff, half of the room", Overload{BootCapacity: 8}, Overload{BootCapacity: 4}, 0.5, half},
		{"cliff, twice the room", Overload{BootCapacity: 4}, Overload{BootCapacity: 8}, 1, 2 * half},
		{"cliff, no bound any more", Overload{BootCapacity: 2}, Overload{}, 1, 4 * half},
		{"a bound that was not there", Overload{}, Overload{Model: BootCliff, BootCapacity: 2}, 0.25, half},
		{"shared, half of the room", Overload{Model: BootShared, BootCapacity: 8}, Overload{Model: BootShared, BootCapacity: 4}, 1 / math.Sqrt(5), slowed(half, 1, 1)},
		{"from cliff to shared", Overload{BootCapacity: 8}, Overload{Model: BootShared, BootCapacity: 8}, 1 / math.Sqrt2, half},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, ids := storm(t, 8, c.first)
			change := t0.Add(10*s + c.before)
			if err := w.SetOverload(change, c.then); err != nil {
				t.Fatal(err)
			}
			bootsAt(t, w, change.Add(time.Duration(float64(half)/c.speed)), ids...)
		})
	}
}

// TestSetOverloadChangesWhatIsLost: boots that begin later are lost by the new rule; nothing that is under way is.
func TestSetOverloadChangesWhatIsLost(t *testing.T) {
	w := newWorld(t, fixed(func(o *Options) { o.Fleet.Nodes = 8 }))
	ids := w.Idents()
	for _, id := range ids[:4] {
		put(t, w, t0, id, ironic.TargetActive, 202)
	}
	if err := w.SetOverload(t0.Add(m), Overload{BootCapacity: 8, CollapseAbove: 2, CollapseChance: 1}); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids[4:] {
		put(t, w, t0.Add(m), id, ironic.TargetActive, 202)
	}
	if got := w.Truth(t0.Add(2 * time.Hour)); got.LostBoots != 4 || got.Failed != 4 || got.Finished != 4 {
		t.Errorf("%+v: want the last 4 boots lost", got)
	}
}

// TestSetOverloadSaysWhatIsWrong, and then all is as before.
func TestSetOverloadSaysWhatIsWrong(t *testing.T) {
	w, ids := storm(t, 8, Overload{BootCapacity: 4})
	for _, c := range []struct {
		o    Overload
		want string
	}{
		{Overload{BootCapacity: -1}, "boot-capacity -1: want >= 0"},
		{Overload{CollapseAbove: -2}, "collapse-above -2: want >= 0"},
		{Overload{CollapseChance: 1.5}, "collapse-chance 1.5: want 0..1"},
		{Overload{CollapseChance: math.NaN()}, "collapse-chance NaN: want 0..1"},
		{Overload{Model: "steep"}, `boot-model "steep": want cliff or shared`},
	} {
		if err := w.SetOverload(t0, c.o); err == nil || err.Error() != c.want {
			t.Errorf("SetOverload: %v, want %q", err, c.want)
		}
		o := fixed(nil)
		o.Overload = c.o
		if _, err := NewWorld(o, t0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewWorld: %v, want %q in it", err, c.want)
		}
	}
	bootsAt(t, w, t0.Add(10*s+6*m), ids...)
}
