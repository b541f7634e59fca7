package statusview

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestWhatIsBeingCarriedOutIsShownFirst(t *testing.T) {
	p := api.Plan{MadeAt: time.Date(2026, 11, 24, 3, 4, 0, 0, time.UTC), Running: &api.PlanRunning{
		ID: "abcdef", Decision: api.PlanRelease, Reason: api.PlanEmpty, Hosts: []string{"metal3/host-3"}, Pool: "MachineDeployment metal3/workers",
		Step: "Machine metal3/m-3 goes, then host metal3/host-3 is cleaned", WaitsFor: "Machine metal3/m-3 is being deleted",
		Since: time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC),
	}}
	want := `Being carried out: release of metal3/host-3 (Empty): Machine metal3/m-3 goes, then host metal3/host-3 is cleaned, for 4m
waits     Machine metal3/m-3 is being deleted

Nothing could be released or provisioned again
`
	if got := Plan(p, 0); !strings.HasPrefix(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
	r := p.Running
	r.Decision, r.Reason, r.Replacement, r.Hosts = api.PlanReplace, api.PlanUnderutilized, "metal3/spare", []string{"metal3/host-3", "metal3/host-4"}
	r.Step, r.WaitsFor, r.Stuck, r.LastError = "node n-3 is drained", "3 pods leave node n-3", true, "pods: forbidden\x1b[2J"
	want = `Being carried out: replace of metal3/host-3, metal3/host-4 by metal3/spare
(Underutilized): node n-3 is drained, for 4m
waits     3 pods leave node n-3
error     pods: forbidden?[2J
stuck     this takes longer than it should: docs/planned-work.md, "When it is
          stuck". To end it:
    kubectl annotate bmh -n metal3 host-3 ironic-throttle.metal3.io/command-

Nothing could be released or provisioned again
`
	if got := Plan(p, 78); !strings.HasPrefix(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
	r.Hosts, r.Since = nil, p.MadeAt.Add(time.Minute) // of another throttle
	if got := Plan(p, 0); !strings.Contains(got, "for 0s\n") || !strings.Contains(got, "-n NAMESPACE NAME ") {
		t.Errorf("%s", got)
	}
}
