package fakeironic

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// lives are the time lines and the agent_url of docs/dev/reference/ironic.md.
var lives = []struct {
	name   string
	start  ironic.State
	target ironic.Target
	change func(*Options)
	fate   Fate
	want   []look
}{
	{"inspect", ironic.Manageable, ironic.TargetInspect, nil, "", []look{
		{0, ironic.Inspecting, false}, {10 * s, ironic.InspectWait, false}, {3*m + 20*s, ironic.InspectWait, false},
		{4*m + 9*s, ironic.InspectWait, false}, {4*m + 10*s, ironic.Manageable, false}}},
	{"clean", ironic.Manageable, ironic.TargetClean, nil, "", []look{
		{0, ironic.Cleaning, false}, {10 * s, ironic.CleanWait, false}, {3*m + 9*s, ironic.CleanWait, false},
		{3*m + 10*s, ironic.CleanWait, true}, {3*m + 11*s, ironic.Cleaning, true}, {3*m + 41*s, ironic.CleanWait, true},
		{4*m + 41*s, ironic.Cleaning, true}, {5*m + 11*s - 1, ironic.Cleaning, true}, {5*m + 11*s, ironic.Cleaning, false},
		{5*m + 11*s + endWipe, ironic.Manageable, false}}},
	{"deploy", ironic.Available, ironic.TargetActive, nil, "", []look{
		{0, ironic.Deploying, false}, {10 * s, ironic.DeployWait, false}, {3*m + 9*s, ironic.DeployWait, false},
		{3*m + 10*s, ironic.DeployWait, true}, {3*m + 11*s, ironic.Deploying, true}, {8*m + 10*s, ironic.Deploying, true},
		{8*m + 11*s, ironic.Deploying, false}, {8*m + 41*s, ironic.Active, false}}},
	{"deprovision", ironic.Active, ironic.TargetDeleted, nil, "", []look{
		{0, ironic.Deleting, false}, {20 * s, ironic.Cleaning, false}, {30 * s, ironic.CleanWait, false},
		{3*m + 30*s, ironic.CleanWait, true}, {5*m + 32*s, ironic.Available, false}}},
	{"rescue", ironic.Active, ironic.TargetRescue, nil, "", []look{
		{0, ironic.Rescuing, false}, {10 * s, ironic.RescueWait, false}, {3*m + 10*s, ironic.RescueWait, true},
		{3*m + 11*s, ironic.Rescuing, true}, {3*m + 21*s, ironic.Rescue, true}}},
	{"service", ironic.Active, ironic.TargetService, func(o *Options) { o.API.MaxMinor = 96 }, "", []look{
		{0, ironic.Servicing, false}, {10 * s, ironic.ServiceWait, false}, {3*m + 10*s, ironic.ServiceWait, true},
		{4*m + 41*s, ironic.Active, false}}},
	{"a minute in a second", ironic.Available, ironic.TargetActive, func(o *Options) { o.Speed = 60 }, "", []look{
		{0, ironic.Deploying, false}, {3*s + 170*time.Millisecond, ironic.DeployWait, true}, {8*s + 700*time.Millisecond, ironic.Active, false}}},
	{"never a heartbeat", ironic.Available, ironic.TargetActive, nil, FateNever, []look{
		{10 * s, ironic.DeployWait, false}, {30 * m, ironic.DeployWait, false}, {30*m + 10*s, ironic.DeployFailed, false}}},
	{"flaps", ironic.Manageable, ironic.TargetClean, nil, FateFlap, []look{
		{3*m + 10*s, ironic.CleanWait, true}, {4*m + 10*s, ironic.CleanWait, false}, {5*m + 10*s, ironic.Cleaning, true}}},
	{"a reboot in the middle of a clean", ironic.Manageable, ironic.TargetClean, func(o *Options) { o.Fates.CleanReboot = 1 }, "", []look{
		{4*m + 40*s, ironic.CleanWait, true}, {4*m + 41*s, ironic.CleanWait, false}, {7*m + 40*s, ironic.CleanWait, false},
		{7*m + 41*s, ironic.CleanWait, true}, {8*m + 13*s, ironic.Manageable, false}}},
}

func TestTimelines(t *testing.T) {
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) {
			w := newWorld(t, l.change)
			id := w.Idents()[0]
			if err := w.SetState(t0, id, l.start, false); err != nil {
				t.Fatal(err)
			}
			if l.fate != "" {
				befall(t, w, 0, id, l.fate)
			}
			put(t, w, 0, id, l.target)
			watch(t, w, id, 0, l.want...)
		})
	}
}

// TestDefectImage: a bad image lets the deployments of its hosts fail when it has been written, and lasts until it is
// mended; cleaning goes well.
func TestDefectImage(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Fleet.Nodes = 0 })
	var ids []string
	for _, image := range []string{"bad", "good", "bad"} {
		id, err := w.CreateNode(t0, NodeSpec{State: ironic.Manageable, Image: image})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	w.SetDefects(t0, Defect{Kind: DefectImage, Part: "bad"})
	for _, id := range ids {
		put(t, w, 0, id, ironic.TargetProvide)
	}
	for _, id := range ids[:2] {
		put(t, w, 60*m, id, ironic.TargetActive)
	}
	// 10 s, a boot of 3 min, the agent's second, 5 min to write.
	watch(t, w, ids[0], 60*m, look{8*m + 10*s, ironic.Deploying, true}, look{8*m + 12*s, ironic.DeployFailed, true})
	watch(t, w, ids[1], 60*m, look{9 * m, ironic.Active, false})
	put(t, w, 120*m, ids[2], ironic.TargetActive)
	w.SetDefects(t0.Add(128 * m))
	watch(t, w, ids[2], 120*m, look{9 * m, ironic.Active, false})
}

// TestDefectRack: boots of that group do not come up, those on their way neither.
func TestDefectRack(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Fleet.Nodes, o.Fleet.ConductorGroups = 3, []string{"Dead", "alive"} })
	ids := w.Idents()
	for _, id := range ids[:2] {
		put(t, w, 0, id, ironic.TargetActive)
	}
	w.SetDefects(t0.Add(m), Defect{Kind: DefectRack, Part: "dead"})
	put(t, w, 2*m, ids[2], ironic.TargetActive)
	watch(t, w, ids[1], 0, look{9 * m, ironic.Active, false})
	watch(t, w, ids[0], 0, look{30 * m, ironic.DeployWait, false}, look{31 * m, ironic.DeployFailed, false})
	watch(t, w, ids[2], 0, look{31 * m, ironic.DeployWait, false}, look{33 * m, ironic.DeployFailed, false})
	w.SetDefects(t0.Add(40 * m))
	put(t, w, 40*m, ids[2], ironic.TargetActive)
	watch(t, w, ids[2], 40*m, look{9 * m, ironic.Active, false})
}
