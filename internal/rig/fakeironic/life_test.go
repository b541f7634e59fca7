package fakeironic

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// look is what a client sees of a node at a time after the PUT.
type look struct {
	After time.Duration
	State ironic.State
	Agent bool
}

func watch(t *testing.T, w *World, ident string, begin time.Time, want []look) {
	t.Helper()
	var got []look
	for _, l := range want {
		n := see(t, w, begin.Add(l.After), ident)
		got = append(got, look{l.After, n.State, n.AgentURL})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("life (-want +got):\n%s", diff)
	}
}

const s, m = time.Second, time.Minute

// lives are the time lines and the agent_url of docs/dev/reference/ironic.md.
var lives = []struct {
	name   string
	start  ironic.State
	target ironic.Target
	change func(*Options)
	want   []look
}{
	{"inspect", ironic.Manageable, ironic.TargetInspect, nil, []look{
		{0, ironic.Inspecting, false}, {10 * s, ironic.InspectWait, false}, {3*m + 20*s, ironic.InspectWait, false},
		{4*m + 9*s, ironic.InspectWait, false}, {4*m + 10*s, ironic.Manageable, false}}},
	{"clean", ironic.Manageable, ironic.TargetClean, nil, []look{
		{0, ironic.Cleaning, false}, {10 * s, ironic.CleanWait, false}, {3*m + 9*s, ironic.CleanWait, false},
		{3*m + 10*s, ironic.CleanWait, true}, {3*m + 11*s, ironic.Cleaning, true}, {3*m + 41*s, ironic.CleanWait, true},
		{4*m + 41*s, ironic.Cleaning, true}, {5*m + 11*s - 1, ironic.Cleaning, true}, {5*m + 11*s, ironic.Cleaning, false},
		{5*m + 11*s + endWipe, ironic.Manageable, false}}},
	{"provide", ironic.Manageable, ironic.TargetProvide, nil, []look{
		{0, ironic.Cleaning, false}, {3*m + 10*s, ironic.CleanWait, true}, {5*m + 12*s, ironic.Available, false}}},
	{"provide without automated clean", ironic.Manageable, ironic.TargetProvide, func(o *Options) { o.AutomatedClean = false }, []look{
		{0, ironic.Cleaning, false}, {20 * time.Millisecond, ironic.Available, false}}},
	{"deploy", ironic.Available, ironic.TargetActive, nil, []look{
		{0, ironic.Deploying, false}, {10 * s, ironic.DeployWait, false}, {3*m + 9*s, ironic.DeployWait, false},
		{3*m + 10*s, ironic.DeployWait, true}, {3*m + 11*s, ironic.Deploying, true}, {8*m + 10*s, ironic.Deploying, true},
		{8*m + 11*s, ironic.Deploying, false}, {8*m + 41*s, ironic.Active, false}}},
	{"deprovision", ironic.Active, ironic.TargetDeleted, nil, []look{
		{0, ironic.Deleting, false}, {20 * s, ironic.Cleaning, false}, {30 * s, ironic.CleanWait, false},
		{3*m + 30*s, ironic.CleanWait, true}, {5*m + 32*s, ironic.Available, false}}},
	{"rescue", ironic.Active, ironic.TargetRescue, nil, []look{
		{0, ironic.Rescuing, false}, {10 * s, ironic.RescueWait, false}, {3*m + 10*s, ironic.RescueWait, true},
		{3*m + 11*s, ironic.Rescuing, true}, {3*m + 21*s, ironic.Rescue, true}}},
	{"manage", ironic.Enroll, ironic.TargetManage, nil, []look{
		{0, ironic.Verifying, false}, {2 * s, ironic.Manageable, false}}},
	{"service", ironic.Active, ironic.TargetService, func(o *Options) { o.API.MaxMinor = 96 }, []look{
		{0, ironic.Servicing, false}, {10 * s, ironic.ServiceWait, false}, {3*m + 10*s, ironic.ServiceWait, true},
		{4*m + 41*s, ironic.Active, false}}},
	{"a minute in a second", ironic.Available, ironic.TargetActive, func(o *Options) { o.Speed = 60 }, []look{
		{0, ironic.Deploying, false}, {3*s + 170*time.Millisecond, ironic.DeployWait, true}, {8*s + 700*time.Millisecond, ironic.Active, false}}},
	{"never a heartbeat", ironic.Available, ironic.TargetActive, func(o *Options) { o.Fates.NeverHeartbeat = 1 }, []look{
		{10 * s, ironic.DeployWait, false}, {30 * m, ironic.DeployWait, false}, {30*m + 10*s, ironic.DeployFailed, false}}},
	{"hangs for ever", ironic.Available, ironic.TargetActive, func(o *Options) { o.Fates.Hang = 1 }, []look{
		{10 * s, ironic.DeployWait, false}, {300 * time.Hour, ironic.DeployWait, false}}},
	{"flaps", ironic.Manageable, ironic.TargetClean, func(o *Options) { o.Fates.Flap = 1 }, []look{
		{3*m + 10*s, ironic.CleanWait, true}, {4*m + 10*s, ironic.CleanWait, false}, {5*m + 10*s, ironic.Cleaning, true}}},
	{"a reboot in the middle of a clean", ironic.Manageable, ironic.TargetClean, func(o *Options) { o.Fates.CleanReboot = 1 }, []look{
		{4*m + 40*s, ironic.CleanWait, true}, {4*m + 41*s, ironic.CleanWait, false}, {7*m + 40*s, ironic.CleanWait, false},
		{7*m + 41*s, ironic.CleanWait, true}, {8*m + 13*s, ironic.Manageable, false}}},
	{"inspection never comes up", ironic.Manageable, ironic.TargetInspect, func(o *Options) { o.Fates.NeverHeartbeat = 1 }, []look{
		{30 * m, ironic.InspectWait, false}, {30*m + 10*s, ironic.InspectFailed, false}}},
}

func TestTimelines(t *testing.T) {
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) {
			w := newWorld(t, fixed(func(o *Options) {
				o.Fleet.Start = ironic.Available
				if l.change != nil {
					l.change(o)
				}
			}))
			id := w.Idents()[0]
			if err := w.SetState(t0, id, l.start, false); err != nil {
				t.Fatal(err)
			}
			put(t, w, t0, id, l.target, 202)
			watch(t, w, id, t0, l.want)
			if h, _ := w.History(t0.Add(400*time.Hour), id); l.name != "hangs for ever" && h.Working || !h.Working && h.Started != h.Finished+h.Failed {
				t.Errorf("after a day: %+v", h)
			}
		})
	}
}
