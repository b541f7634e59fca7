package statusview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// examplePlan has something in every part.
func examplePlan() api.Plan {
	made := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	return api.Plan{
		MadeAt: made, ExecuteAfter: made.Add(15 * time.Second), DryRun: true, Method: api.MethodMulti,
		Actions: []api.PlanAction{{
			ID: "a1", Decision: api.PlanRelease, Reason: api.PlanUnderutilized, Pool: "MachineDeployment metal3/workers",
			Hosts:         []api.PlanHost{{Name: "metal3/worker-4", Machine: "metal3/m-4", Node: "n-4"}, {Name: "metal3/worker-5", Machine: "metal3/m-5", Node: "n-5"}},
			Evidence:      []string{"3 pods fit on worker-1 and worker-2.", "No pod has come or gone for 2h."},
			SavingPerHour: 0.42, Saving: "both are powered off: 2 x 750 W at 0.28 per kWh", SlotMinutes: 60, PaybackHours: seconds(1.5),
			DisruptionCost: 61.25, SavingPerCost: 0.0069,
			Moves: []api.PlanMove{{Pod: "shop/cart-0", To: "worker-1"}, {Pod: "shop/cart-1", To: "worker-2"}},
		}},
		Later: []api.PlanCandidate{{Host: "metal3/worker-6", Pool: "MachineDeployment metal3/workers", Reason: api.PlanUnderutilized, SavingPerHour: 0.001, DisruptionCost: 120, Note: "the budget of 2 hosts is used"}},
		Excluded: []api.PlanExcluded{
			{Condition: "ConsolidateAfter", Hosts: 11, Names: []string{"metal3/worker-10", "metal3/worker-11", "metal3/worker-12", "metal3/worker-13"}},
			{Condition: "ControlPlane", Hosts: 2, Names: []string{"metal3/control-1", "metal3/control-2"}},
		},
		Faults: []string{`metal3/worker-7: annotation watts-idle "many": must be a number`},
		Hosts:  20, Nodes: 19, Pods: 1,
		Clusters: []api.PlanCluster{{Name: "metal3/far", Nodes: 19, Pods: 1}, {Name: "metal3/off", Fault: "no route to host"}},
	}
}

func TestPlanText(t *testing.T) {
	want := `2 hosts could be released, saving 0.42/h for 60 slot-minutes; nothing is carried out (dry run)
fault     metal3/worker-7: annotation watts-idle "many": must be a number
plan      by MultiNodeConsolidation, as of 2026-11-24 12:00:00 UTC: 20 hosts, 19 nodes and 1 pod looked at

CLUSTER     NODES  PODS  FAULT
metal3/far  19     1     -
metal3/off  0      0     no route to host

release   Underutilized: saving 0.42/h, cost 61.2, 60 slot-minutes, payback 1h30m
  metal3/worker-4 (Machine metal3/m-4, node n-4), metal3/worker-5 (Machine metal3/m-5, node n-5) of MachineDeployment metal3/workers
  3 pods fit on worker-1 and worker-2.
  No pod has come or gone for 2h.
  saving: both are powered off: 2 x 750 W at 0.28 per kWh
  2 pods would move: shop/cart-0 to worker-1, shop/cart-1 to worker-2

LATER            REASON         SAVING/H  COST  SAVING/COST  POOL                              NOTE
metal3/worker-6  Underutilized  0.001     120   0            MachineDeployment metal3/workers  the budget of 2 hosts is used

EXCLUDED  FIRST CONDITION THAT IS NOT MET  WHICH
11        ConsolidateAfter                 metal3/worker-10, metal3/worker-11, metal3/worker-12 and 8 more
2         ControlPlane                     metal3/control-1, metal3/control-2
`
	if diff := cmp.Diff(want, Plan(examplePlan())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlanHeadlines(t *testing.T) {
	act := func(d api.PlanDecision, hosts int, saving float64) []api.PlanAction {
		return []api.PlanAction{{Decision: d, Hosts: make([]api.PlanHost, hosts), SavingPerHour: saving, SlotMinutes: 30}}
	}
	made := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		plan api.Plan
		want string
	}{
		{api.Plan{DryRun: true}, "Nothing could be released or provisioned again"},
		{api.Plan{DryRun: true, Later: make([]api.PlanCandidate, 1)}, "Nothing could be released or provisioned again now; 1 candidate for later"},
		{api.Plan{DryRun: true, Blocked: "3 hosts wait for a slot\x1b[2J"}, "Nothing is planned now: 3 hosts wait for a slot?[2J"},
		{api.Plan{DryRun: true, Actions: act(api.PlanReprovision, 1, 0)}, "1 host could be provisioned again for 30 slot-minutes; nothing is carried out (dry run)"},
		{api.Plan{Blocked: "3 hosts wait", Actions: act(api.PlanRelease, 1, 0)}, "1 host could be released for 30 slot-minutes; nothing is carried out now"},
		{api.Plan{ExecuteAfter: made, Actions: act(api.PlanReplace, 2, 0.002)},
			"2 hosts could be replaced by a cheaper one, saving 0.002/h for 30 slot-minutes; it may be carried out from 12:00:00 UTC on, if it still holds"},
	} {
		if got, _, _ := strings.Cut(Plan(row.plan), "\n"); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}

// Long lists are cut, and each action is a block of its own.
func TestLongPlans(t *testing.T) {
	act := func(host string) api.PlanAction {
		return api.PlanAction{Decision: api.PlanRelease, Reason: api.PlanEmpty, Hosts: []api.PlanHost{{Name: host}}, Evidence: []string{"it is empty"}}
	}
	p := api.Plan{Actions: []api.PlanAction{act("a"), act("b")}}
	for i := range 30 {
		p.Later = append(p.Later, api.PlanCandidate{Host: fmt.Sprintf("h-%d", i)})
		p.Actions[1].Moves = append(p.Actions[1].Moves, api.PlanMove{Pod: fmt.Sprintf("p-%d", i), To: "n"})
	}
	text := Plan(p)
	for _, want := range []string{
		"\n... and 10 candidates more\n", "30 pods would move: p-0 to n, p-1 to n, p-2 to n, p-3 to n, p-4 to n and 25 more\n", "\n  it is empty\n\nrelease   Empty: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}

func TestPlanExplanation(t *testing.T) {
	e := api.PlanExplanation{
		Summary:    "metal3/worker-1 is no candidate: a pod came 4m ago\x1b]0;",
		Conditions: []api.PlanCondition{{Type: "Provisioned", Met: true, Message: "it is provisioned"}, {Type: "ConsolidateAfter", Message: "a pod came 4m ago, 26m are left"}},
	}
	want := `metal3/worker-1 is no candidate: a pod came 4m ago?]0;

yes Provisioned: it is provisioned
no  ConsolidateAfter: a pod came 4m ago, 26m are left
`
	if diff := cmp.Diff(want, PlanExplanation(e)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsBeingCarriedOutIsShownFirst(t *testing.T) {
	made := time.Date(2026, 11, 24, 3, 4, 0, 0, time.UTC)
	p := api.Plan{MadeAt: made, Running: &api.PlanRunning{
		Decision: api.PlanReplace, Reason: api.PlanUnderutilized, Hosts: []string{"metal3/host-3", "metal3/host-4"}, Replacement: "metal3/spare",
		Step: "node n-3 is drained", WaitsFor: "3 pods leave node n-3", Since: made.Add(-4 * time.Minute), Stuck: true, LastError: "pods: forbidden\x1b[2J",
	}}
	want := `Being carried out: replace of metal3/host-3, metal3/host-4 by metal3/spare (Underutilized): node n-3 is drained, for 4m
waits     3 pods leave node n-3
error     pods: forbidden?[2J
stuck     this takes longer than it should: docs/planned-work.md, "When it is stuck". To end it:
    kubectl annotate bmh -n metal3 host-3 ironic-throttle.metal3.io/command-

Nothing could be released or provisioned again
`
	if got := Plan(p); !strings.HasPrefix(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
	p.Running = &api.PlanRunning{Decision: api.PlanRelease, Since: made.Add(time.Minute), Stuck: true} // of another throttle, whose clock is ahead
	if got := Plan(p); !strings.Contains(got, "for 0s\n") {
		t.Errorf("%s", got)
	}
}
