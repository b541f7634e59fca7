package fakeironic

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func befall(t *testing.T, w *World, at time.Duration, id string, f Fate) {
	t.Helper()
	if err := w.Befall(t0.Add(at), id, f); err != nil {
		t.Fatal(err)
	}
}

// TestBootsEndWithTheirWork: whoever stops waiting for a boot leaves its room to
// the others.
func TestBootsEndWithTheirWork(t *testing.T) {
	for name, end := range map[string]func(*World, string){
		"deleted": func(w *World, id string) { put(t, w, t0.Add(m), id, ironic.TargetDeleted, 202) },
		"failed":  func(w *World, id string) { befall(t, w, m, id, FateFailNow) },
		"gone":    func(w *World, id string) { befall(t, w, m, id, FateVanish) },
		"hangs":   func(w *World, id string) { befall(t, w, m, id, FateHang) },
	} {
		t.Run(name, func(t *testing.T) {
			w, ids := storm(t, 2, Overload{BootCapacity: 1})
			w.opt.AutomatedClean = false // or the deleted one boots again
			end(w, ids[0])
			if got := w.Truth(t0.Add(m)).Booting; got != 1 {
				t.Fatalf("%d boot", got)
			}
			// 50 s at half speed, the other 155 s alone.
			watch(t, w, ids[1], t0, []look{{m + 154*s, ironic.DeployWait, false}, {m + 156*s, ironic.Deploying, true}})
		})
	}
}
