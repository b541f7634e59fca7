package fakeironic

import (
	"math"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// TestSharedBootsSlowDownByTheFormula: n boots at once take sqrt(1 + (n/c)^2) times as long, to the millisecond, with
// less, as much and more room.
func TestSharedBootsSlowDownByTheFormula(t *testing.T) {
	for _, c := range []struct{ boots, capacity int }{{1, 10}, {10, 10}, {40, 5}, {7, 3}, {3, 0}} {
		w, ids := storm(t, c.boots, Overload{Model: BootShared, BootCapacity: c.capacity})
		end := 10*s + 3*m
		if c.capacity > 0 {
			load := float64(c.boots) / float64(c.capacity)
			end = 10*s + time.Duration(float64(3*m)*math.Sqrt(1+load*load))
		}
		for _, id := range ids {
			watch(t, w, id, 0, look{end - time.Millisecond, ironic.DeployWait, false})
		}
		for _, id := range ids {
			watch(t, w, id, 0, look{end + time.Millisecond, ironic.DeployWait, true})
		}
		if truth := w.Truth(t0.Add(3 * time.Hour)); truth.LostBoots != 0 || truth.Finished != c.boots {
			t.Errorf("%d boots with room for %d: %+v", c.boots, c.capacity, truth)
		}
	}
}

// TestBootsEndWithTheirWork: whoever stops waiting for a boot leaves its room to the others.
func TestBootsEndWithTheirWork(t *testing.T) {
	for name, end := range map[string]func(*World, string){
		"deleted": func(w *World, id string) { put(t, w, m, id, ironic.TargetDeleted) },
		"failed":  func(w *World, id string) { befall(t, w, m, id, FateFailNow) },
		"gone":    func(w *World, id string) { befall(t, w, m, id, FateVanish) },
	} {
		t.Run(name, func(t *testing.T) {
			w, ids := storm(t, 2, Overload{BootCapacity: 1})
			w.nodes[0].put("automated_clean", []byte("false")) // or the deleted one boots again
			end(w, ids[0])
			if got := w.Truth(t0.Add(m)).Booting; got != 1 {
				t.Fatalf("%d boot", got)
			}
			// 50 s at half speed, the other 155 s alone.
			watch(t, w, ids[1], 0, look{m + 154*s, ironic.DeployWait, false}, look{m + 156*s, ironic.Deploying, true})
		})
	}
}

// TestCollapse: above the threshold boots are lost and fail by time-out; below it none is.
func TestCollapse(t *testing.T) {
	o := Overload{BootCapacity: 4, CollapseAbove: 6, CollapseChance: 1}
	for nodes, lost := range map[int]int{10: 4, 6: 0} {
		w, _ := storm(t, nodes, o)
		if got := w.Truth(t0.Add(2 * time.Hour)); got.Failed != lost || got.LostBoots != lost || got.Finished != 6 || got.Working != 0 {
			t.Errorf("%d nodes: %+v", nodes, got)
		}
	}
}

// TestTruthCountsExactly, and who watches hears of it.
func TestTruthCountsExactly(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Fleet.Nodes, o.Limit = 3, 2 })
	heard := map[string]int{}
	w.Watch(func(at time.Time, uuid string, works bool) {
		if heard[uuid]++; works != (heard[uuid] == 1) || at.Before(t0) {
			t.Errorf("%v: %s works %v", at, uuid, works)
		}
	})
	for _, id := range w.Idents() {
		put(t, w, 0, id, ironic.TargetActive)
	}
	work := 8*m + 41*s
	got := w.Truth(t0.Add(time.Hour))
	if got.PeakWorking != 3 || got.OverLimit != work || got.Finished != 3 || len(heard) != 3 {
		t.Errorf("%+v, want peak 3, over the limit for %s; heard %v", got, work, heard)
	}
	if got.Requests != (Requests{All: 3, Puts: 3}) {
		t.Errorf("requests %+v", got.Requests)
	}
}
