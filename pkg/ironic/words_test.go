package ironic

import (
	"slices"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// allStates are Ironic's own words.
var allStates = []State{
	"enroll", "verifying", "manageable", "available", "active", "error", "cleaning", "clean wait", "clean failed", "clean hold",
	"inspecting", "inspect wait", "inspect failed", "deploying", "wait call-back", "deploy failed", "deploy hold", "rescuing",
	"rescue wait", "rescue", "rescue failed", "unrescuing", "unrescue failed", "deleting", "adopting", "adopt failed",
	"servicing", "service wait", "service hold", "service failed",
}

func TestBusyStatesAreExactlyTen(t *testing.T) {
	busy := []State{
		"cleaning", "clean wait", "inspecting", "inspect wait", "deploying", "wait call-back",
		"rescuing", "rescue wait", "unrescuing", "deleting",
	}
	extra := []State{"servicing", "service wait", "service hold", "deploy hold", "clean hold"}
	failed := []State{"deploy failed", "clean failed", "inspect failed", "rescue failed", "unrescue failed", "service failed", "error"}
	for _, s := range append(allStates, "", "Deploying", "deploying ", "clean_wait", "deploy wait") {
		if s.Busy() != slices.Contains(busy, s) || s.Extra() != slices.Contains(extra, s) || s.Failed() != slices.Contains(failed, s) {
			t.Errorf("%q: busy %v, extra %v, failed %v", s, s.Busy(), s.Extra(), s.Failed())
		}
	}
	got := BusyStates()
	for _, s := range busy {
		if !slices.Contains(got, s) {
			t.Errorf("%q is not listed", s)
		}
	}
	if len(got) != len(busy) {
		t.Errorf("%d busy states", len(got))
	}
	for _, s := range extra {
		if s.Since() < minorHolds {
			t.Errorf("%q: since 1.%d", s, s.Since())
		}
	}
}

func TestTargetsThatStartWork(t *testing.T) {
	for target, want := range map[Target]struct {
		state State
		op    api.Op
	}{
		"active":   {Deploying, api.OpProvision},
		"deploy":   {Deploying, api.OpProvision},
		"rebuild":  {Deploying, api.OpProvision},
		"deleted":  {Deleting, api.OpDeprovision},
		"undeploy": {Deleting, api.OpDeprovision},
		"provide":  {Cleaning, api.OpProvision},
		"clean":    {Cleaning, api.OpPrepare},
		"inspect":  {Inspecting, api.OpInspect},
		"rescue":   {Rescuing, api.OpRescue},
		"unrescue": {Unrescuing, api.OpUnrescue},
		"service":  {Servicing, api.OpService},
		"manage":   {"", api.OpNone},
		"adopt":    {"", api.OpNone},
		"abort":    {"", api.OpNone},
		"unhold":   {"", api.OpNone},
		"":         {"", api.OpNone},
		"Active":   {"", api.OpNone},
	} {
		state, starts := target.Starts()
		if state != want.state || starts != (want.state != "") || target.Op() != want.op {
			t.Errorf("%q: %q %v, op %q; want %+v", target, state, starts, target.Op(), want)
		}
		if starts && !state.Busy() && !state.Extra() {
			t.Errorf("%q leads into %q, which is not busy", target, state)
		}
	}
}
