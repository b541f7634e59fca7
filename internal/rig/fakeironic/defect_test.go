package fakeironic

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// TestDefectImage: a bad image lets the deployments of its hosts fail when it has been
// written, and lasts until it is mended; cleaning goes well.
func TestDefectImage(t *testing.T) {
	w := newWorld(t, fixed(func(o *Options) { o.Fleet.Nodes = 0 }))
	var ids []string
	for _, image := range []string{"bad", "good", "bad"} {
		id, err := w.CreateNode(t0, NodeSpec{State: ironic.Manageable, Image: image})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	defects(t, w, 0, Defect{Kind: DefectImage, Part: "bad"})
	for _, id := range ids {
		put(t, w, t0, id, ironic.TargetProvide, 202)
	}
	for _, id := range ids[:2] {
		put(t, w, t0.Add(time.Hour), id, ironic.TargetActive, 202)
	}
	// 10 s, a boot of 3 min, the agent's second, 5 min to write.
	watch(t, w, ids[0], t0.Add(time.Hour), []look{{8*m + 10*s, ironic.Deploying, true}, {8*m + 12*s, ironic.DeployFailed, true}})
	watch(t, w, ids[1], t0.Add(time.Hour), []look{{9 * m, ironic.Active, false}})
	put(t, w, t0.Add(2*time.Hour), ids[2], ironic.TargetActive, 202)
	defects(t, w, 2*time.Hour+8*m)
	watch(t, w, ids[2], t0.Add(2*time.Hour), []look{{9 * m, ironic.Active, false}})
}

// TestDefectRack: boots of that group do not come up, those on their way neither.
func TestDefectRack(t *testing.T) {
	w := newWorld(t, fixed(func(o *Options) { o.Fleet.Nodes, o.Fleet.ConductorGroups = 3, []string{"Dead", "alive"} }))
	ids := w.Idents()
	for _, id := range ids[:2] {
		put(t, w, t0, id, ironic.TargetActive, 202)
	}
	defects(t, w, m, Defect{Kind: DefectRack, Part: "dead"})
	put(t, w, t0.Add(2*m), ids[2], ironic.TargetActive, 202)
	watch(t, w, ids[1], t0, []look{{9 * m, ironic.Active, false}})
	watch(t, w, ids[0], t0, []look{{30 * m, ironic.DeployWait, false}, {31 * m, ironic.DeployFailed, false}})
	watch(t, w, ids[2], t0, []look{{31 * m, ironic.DeployWait, false}, {33 * m, ironic.DeployFailed, false}})
	defects(t, w, 40*m)
	put(t, w, t0.Add(40*m), ids[2], ironic.TargetActive, 202)
	watch(t, w, ids[2], t0.Add(40*m), []look{{9 * m, ironic.Active, false}})
	if err := w.SetDefects(t0.Add(time.Hour), Defect{Kind: "roof"}); err == nil {
		t.Error("a defect of no kind was taken")
	}
}

func defects(t *testing.T, w *World, at time.Duration, all ...Defect) {
	t.Helper()
	if err := w.SetDefects(t0.Add(at), all...); err != nil {
		t.Fatal(err)
	}
}
