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

// TestVanish: the node is gone in the middle, and works no more.
func TestVanish(t *testing.T) {
	w := newWorld(t, fixed(func(o *Options) { o.Fates.Vanish = 1 }))
	id := w.Idents()[0]
	put(t, w, t0, id, ironic.TargetActive, 202)
	if got := w.Truth(t0.Add(time.Hour)); got.Working != 0 || got.Aborted != 1 || got.HostTime <= 0 || got.HostTime >= 9*m {
		t.Errorf("%+v", got)
	}
	if _, ok := w.Node(t0.Add(time.Hour), id); ok {
		t.Error("still there")
	}
}

// TestMaintenanceStopsTheTimeout: Ironic's check leaves such nodes out, so they
// hold their state for ever (docs/dev/reference/ironic.md).
func TestMaintenanceStopsTheTimeout(t *testing.T) {
	server := serve(t, func(o *Options) { o.Fleet.Nodes, o.Fates.NeverHeartbeat = 1, 1 }, nil)
	w := server.world
	id := w.Idents()[0]
	put(t, w, t0, id, ironic.TargetActive, 202)
	w.Advance(t0.Add(m))
	if status, _, body := ask(t, server, "PUT", "/v1/nodes/"+id+"/maintenance", "", 81); status != 202 {
		t.Fatalf("%d %s", status, body)
	}
	watch(t, w, id, t0, []look{{100 * time.Hour, ironic.DeployWait, false}})
	if status, _, body := ask(t, server, "DELETE", "/v1/nodes/"+id+"/maintenance", "", 81); status != 202 {
		t.Fatalf("%d %s", status, body)
	}
	watch(t, w, id, t0, []look{{100*time.Hour + 2*m, ironic.DeployFailed, false}})
}
