package ironic_test

import (
	"slices"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Ironic's own words, exact.
func TestStatesOfWork(t *testing.T) {
	busy := []ironic.State{
		"cleaning", "clean wait", "inspecting", "inspect wait", "deploying", "wait call-back", "rescuing", "rescue wait", "unrescuing", "deleting",
	}
	extra := []ironic.State{"servicing", "service wait", "service hold", "deploy hold", "clean hold"}
	failed := []ironic.State{"deploy failed", "clean failed", "inspect failed", "rescue failed", "unrescue failed", "service failed", "error"}
	others := []ironic.State{
		"enroll", "verifying", "manageable", "available", "active", "rescue", "adopting", "adopt failed", "", "Deploying", "deploying ", "clean_wait", "deploy wait",
	}
	for _, s := range slices.Concat(busy, extra, failed, others) {
		if s.Busy() != slices.Contains(busy, s) || s.Extra() != slices.Contains(extra, s) || s.Failed() != slices.Contains(failed, s) {
			t.Errorf("%q: busy %v, extra %v, failed %v", s, s.Busy(), s.Extra(), s.Failed())
		}
	}
	for _, row := range []struct{ got, want []ironic.State }{
		{ironic.BusyStates(), busy}, {ironic.PollOrder(true, false), append(busy, extra...)}, {ironic.PollOrder(false, true), slices.Concat(busy, extra, failed)},
	} {
		slices.Sort(row.got)
		slices.Sort(row.want)
		if !slices.Equal(row.got, row.want) {
			t.Errorf("listed are %q, want %q", row.got, row.want)
		}
	}
}

func TestTargetsThatStartWork(t *testing.T) {
	for target, want := range map[ironic.Target]struct {
		state ironic.State
		op    api.Op
	}{
		"active":   {ironic.Deploying, api.OpProvision},
		"deploy":   {ironic.Deploying, api.OpProvision},
		"rebuild":  {ironic.Deploying, api.OpProvision},
		"deleted":  {ironic.Deleting, api.OpDeprovision},
		"undeploy": {ironic.Deleting, api.OpDeprovision},
		"provide":  {ironic.Cleaning, api.OpProvision},
		"clean":    {ironic.Cleaning, api.OpPrepare},
		"inspect":  {ironic.Inspecting, api.OpInspect},
		"rescue":   {ironic.Rescuing, api.OpRescue},
		"unrescue": {ironic.Unrescuing, api.OpUnrescue},
		"service":  {ironic.Servicing, api.OpService},
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
	}
}
