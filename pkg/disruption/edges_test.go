package disruption

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// Each test here fails with a mutant that the others let live (make mutants); small_test.go has those of how pods fit.

// TestDC2_TheEvidenceIsOfWhatWasFound: an empty host is not told to be unclaimed.
func TestDC2_TheEvidenceIsOfWhatWasFound(t *testing.T) {
	l := newLab(t, 1)
	want := []string{"it has no pods but those of DaemonSets, mirror pods, and finished ones", "no pod came or went for 24h0m0s, and consolidateAfter is 30s"}
	if diff := cmp.Diff(want, l.plan().Actions[0].Evidence); diff != "" {
		t.Errorf("empty (-want +got):\n%s", diff)
	}
}

// TestDC4_ConditionsSayWhatTheyFound.
func TestDC4_ConditionsSayWhatTheyFound(t *testing.T) {
	for _, row := range []struct {
		condition string
		change    func(l *lab)
		want      string
	}{
		{"DisruptionAllowed", func(*lab) {}, "no annotation forbids to disrupt it"},
		{"DisruptionAllowed", func(l *lab) { l.s.Hosts[0].DoNotDisrupt = true }, "its annotation do-not-disrupt forbids it"},
		{"Machine", func(l *lab) { l.s.Hosts[0].Machine = nil }, "its consumer Metal3Machine metal3/x is no Machine that is known"},
		{"Machine", func(l *lab) { l.s.Hosts[0].Machine, l.s.Hosts[0].Consumer = nil, "" }, "it has no Machine that is known"},
		{"NodeReady", func(l *lab) { l.s.Nodes[0].Ready = false }, "its Node is not Ready"},
		{"NodeReady", func(l *lab) { l.s.Nodes[0].FirstReady = time.Time{} }, "its Node was never Ready"},
		{"ConsolidateAfter", func(l *lab) { l.c.ConsolidateAfter = Never }, "consolidateAfter is Never"},
		{"ConsolidateAfter", func(l *lab) { l.s.Nodes[0].FirstReady = time.Time{} }, "its clock has not begun: it has no Node that was Ready"},
		{"ConsolidateAfter", func(l *lab) { l.s.Nodes[0].FirstReady = noon.Add(-time.Second) }, "no pod came or went for 1s, and consolidateAfter is 30s"},
		{"Scales", func(l *lab) { l.s.Hosts[0].Machine.Pool = Key{} }, "nobody owns its Machine, so nobody makes it again"},
		{"Drifted", func(*lab) {}, "it is as it is wanted, as far as is known"},
		{"Drifted", func(l *lab) { field("raid", "1", "5")(&l.s.Hosts[0], nil) }, `raid is "1", and should be "5"`},
		{"Payback", func(*lab) {}, "its release pays back in 20m0s, and 24h0m0s is the longest"},
		{"Price", func(l *lab) { l.s.Hosts[0].Price.LeasePerHour = new(-1.0) }, "its price is not known: lease-per-hour -1 is no price"},
		{"Saving", func(l *lab) { l.s.Hosts[0].Price.LeasePerHour = new(-1.0) }, "its release saves nothing: not known: lease-per-hour -1 is no price"},
		{"Saving", func(l *lab) { l.s.Hosts[0].Faults = []string{"odd"} }, "its release saves nothing: not known: its annotations cannot be read"},
	} {
		l := used(t, 1, 1)
		row.change(l)
		e := l.explain("h-0")
		v := verdict{conditions: e.Conditions}
		if got := v.said(row.condition); got != row.want {
			t.Errorf("%s: %q, want %q", row.condition, got, row.want)
		}
		if c := v.unmet(); !e.Candidate && e.Summary != "metal3/h-0 is no candidate: "+c.Message {
			t.Error(e.Summary)
		}
	}
}

// TestDC7_LongEvidenceIsCut to a line, between two characters.
func TestDC7_LongEvidenceIsCut(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("a", 120):        strings.Repeat("a", 120),
		strings.Repeat("a", 121):        strings.Repeat("a", 120) + "...",
		strings.Repeat("a", 119) + "ää": strings.Repeat("a", 119) + "...",
		strings.Repeat("\x80", 121):     "...",
	} {
		if got := clip(text); got != want {
			t.Errorf("%q is cut to %q", text, got)
		}
	}
}

// TestDC7_AHashWithoutVersionIsNoDrift.
func TestDC7_AHashWithoutVersionIsNoDrift(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want bool
	}{{"v1-a", "v1-b", true}, {"v1-a", "v1-a", false}, {"v1", "v1-b", false}, {"v1-b", "v1", false}, {"-a", "-b", false}, {"v1-a", "v2-a", false}} {
		if got := hashesDiffer(row.a, row.b); got != row.want {
			t.Errorf("%s and %s differ: %v", row.a, row.b, got)
		}
	}
}

// TestDC7_AHostSelectorThatCannotBeReadIsAFault, and no drift.
func TestDC7_AHostSelectorThatCannotBeReadIsAFault(t *testing.T) {
	l := newLab(t, 1)
	l.s.Pools[0].HostSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rack", Operator: "Near"}}}
	if p := l.plan(); told(p) != "" || len(p.Faults) != 1 || !strings.HasPrefix(p.Faults[0], "MachineDeployment metal3/p: hostSelector: ") {
		t.Errorf("the plan is %q with faults %q", told(p), p.Faults)
	}
}

// TestDC8_WithPodsTheOldestDriftGoes: how many pods there are does not matter, and that there are none does.
func TestDC8_WithPodsTheOldestDriftGoes(t *testing.T) {
	for pods, want := range map[[2]int]string{{0, 0}: "h-0", {1, 0}: "h-1", {1, 1}: "h-0", {2, 1}: "h-0", {1, 2}: "h-0"} {
		l := newLab(t, 3)
		l.c.ConsolidateAfter = Never
		l.s.Hosts[0].Price = watts(4000) // nor does the price
		for i, n := range pods {
			field("raid", "1", "5")(&l.s.Hosts[i], nil)
			l.s.Hosts[i].DriftedSince = noon.Add(time.Duration(i-9) * time.Hour)
			for range n {
				l.pod(i, 1)
			}
		}
		p := l.plan()
		if told(p) != "StaticDrift reprovision "+want {
			t.Errorf("of pods %v the plan is %q", pods, told(p))
		}
		if a := p.Actions[0]; a.SlotMinutes != 35 || a.PeakSlots != 1 || a.SavingPerHour != 0 || a.Saving != "nothing: the host is provisioned again" {
			t.Errorf("%+v", a)
		}
		if c := p.Later[0]; c.SavingPerHour != 0 || c.SavingPerCost != 0 || c.Note != "one drifted host a pass: metal3/"+want+" goes first" {
			t.Errorf("later: %+v", c)
		}
	}
}

// TestDC9_AnotherReasonIsExplained where the first one cannot act.
func TestDC9_AnotherReasonIsExplained(t *testing.T) {
	l := newLab(t, 2)
	field("raid", "1", "5")(&l.s.Hosts[0], nil)
	for _, row := range []struct {
		budgets budget.List
		want    api.PlanReason
		can     string
	}{
		{budget.List{{Nodes: "2"}, {MinReady: "0"}}, api.PlanEmpty, ""},
		{budget.List{{Nodes: "0", Reasons: []api.PlanReason{api.PlanEmpty}}, {MinReady: "0"}}, api.PlanDrifted, ""},
		{budget.List{{Nodes: "0"}, {MinReady: "0"}}, api.PlanEmpty, ", but it stays for now: MachineDeployment metal3/p: 0 more may be disrupted (budget 0)"},
	} {
		l.c.Budgets = row.budgets
		e := l.explain("h-0")
		can := e.Conditions[len(e.Conditions)-1]
		if e.Reason != row.want || can.Type != "CanGoNow" || can.Met != (row.can == "") || can.Met != (can.Message == "by itself it could go now") || e.Summary != fmt.Sprintf("metal3/h-0 is a candidate: %s%s", row.want, row.can) {
			t.Errorf("%v: %+v, %s", row.budgets, can, e.Summary)
		}
	}
}

// TestDC8_ADriftedHostWithoutAPlaceForItsPodsStays, and a look that is cancelled says nothing.
func TestDC8_ADriftedHostWithoutAPlaceForItsPodsStays(t *testing.T) {
	l := used(t, 5, 5)
	l.c.ConsolidateAfter = Never
	field("raid", "1", "5")(&l.s.Hosts[0], nil)
	if e := l.explain("h-0"); e.Summary != "metal3/h-0 is a candidate: Drifted, but it stays for now: pod default/p-0 fits on no other node" {
		t.Error(e.Summary)
	}
	for _, after := range []Span{Never, 0} { // drifted, and under-used
		l.c.ConsolidateAfter = after
		if after == 0 {
			l.s.Hosts[0].Applied = nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		l.sim = &sums{hook: func(int) { cancel() }}
		if e, err := l.planner().explain(ctx, key("h-0")); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, %v", e.Summary, err)
		}
	}
}

// TestDC13_WhatAReplacementCosts: the new host's deployment counts, as the old one's release does.
func TestDC13_WhatAReplacementCosts(t *testing.T) {
	l := used(t, 6)
	l.spare(100)
	l.spare(150)
	a := l.plan().Actions[0]
	const saving = 0.1 - 0.025
	const hours = (0.1*20 + 0.025*15) / 60 / saving
	if math.Abs(a.SavingPerHour-saving) > 1e-12 || a.PaybackHours == nil || math.Abs(*a.PaybackHours-hours) > 1e-9 || a.SlotMinutes != 35 {
		t.Errorf("%+v", a)
	}
	if a.Saving != "power off saves 0.1 an hour (400 W); less 0.025 an hour for metal3/s-1" {
		t.Error(a.Saving)
	}
	want := []string{
		"its one pod fits on other nodes and metal3/s-1, a free host at 0.025 an hour",
		"what is released costs 0.1 an hour", "no pod came or went for 24h0m0s, and consolidateAfter is 30s",
		"Metal3 chooses among 2 free hosts that match MachineDeployment metal3/p: look that it took metal3/s-1 before anything is drained",
	}
	if diff := cmp.Diff(want, a.Evidence); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	payback := time.Duration(hours * float64(time.Hour))
	l.c.MaxPayback = Span(payback - time.Second)
	l.wants("")
	l.c.MaxPayback = Span(payback + time.Second)
	l.wants("SingleNodeConsolidation replace h-0>s-1")
}

// TestDC13_WhatAReleaseOfSeveralSaves, though there are free hosts that nobody needs.
func TestDC13_WhatAReleaseOfSeveralSaves(t *testing.T) {
	l := used(t, 1, 1, 1)
	l.s.Pods[2].DoNotDisrupt = true
	l.spare(100)
	l.spare(100)
	want := []string{
		"all 2 pods fit on other nodes that are Ready", "what is released costs 0.2 an hour",
		"metal3/h-0: no pod came or went for 24h0m0s, and consolidateAfter is 30s", "metal3/h-1: no pod came or went for 24h0m0s, and consolidateAfter is 30s",
	}
	if diff := cmp.Diff(want, l.plan().Actions[0].Evidence); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

// TestDC13_AHostWithoutPriceCostsWhatItSaves while it is released.
func TestDC13_AHostWithoutPriceCostsWhatItSaves(t *testing.T) {
	l := newLab(t, 1)
	l.s.Hosts[0].Price = Price{LeasePerHour: new(2.0), LeaseEnds: &noon} // and no watts
	a := l.plan().Actions[0]
	if a.SavingPerHour != 2 || a.PaybackHours == nil || math.Abs(*a.PaybackHours-20.0/60) > 1e-9 {
		t.Errorf("%+v", a)
	}
	if disruptionCost(-10, 5) != 1 || disruptionCost(0.5, 1) != 1.5 {
		t.Error("a cost is below 1, or not the sum")
	}
}

// TestDC13_WhatIsGuessedIsSaid.
func TestDC13_WhatIsGuessedIsSaid(t *testing.T) {
	for _, row := range []struct {
		release, deploy, minutes float64
		want                     string
	}{
		{20, 15, 20, ""},
		{0, 0, 30, "how long slots are held is not known yet: 30 minutes are taken for each"},
		{0, 15, 30, "how long a release holds a slot is not known yet: 30 minutes are taken"},
		{0.5, 0.5, 0.5, ""},
		{20, 0, 20, "how long a deployment holds a slot is not known yet: 30 minutes are taken"},
	} {
		l := newLab(t, 1)
		l.s.Throttle.ReleaseMinutes, l.s.Throttle.DeployMinutes = row.release, row.deploy
		a := l.plan().Actions[0]
		if said := len(a.Evidence) == 3; said != (row.want != "") || said && a.Evidence[2] != row.want || a.SlotMinutes != row.minutes || a.DisruptionCost != max(1, row.minutes) {
			t.Errorf("%+v: %v slot-minutes, %q", row, a.SlotMinutes, a.Evidence)
		}
	}
}

// TestDC18_WhyThereIsNoReplacement.
func TestDC18_WhyThereIsNoReplacement(t *testing.T) {
	for options, want := range map[int]string{
		0: "preemptible hosts are not replaced: PREEMPTIBLE_OPTIONS is 0",
		1: "no free host of MachineDeployment metal3/p is cheaper and takes them",
		2: "a preemptible host needs 2 cheaper free ones to be replaced, and 0 fit",
	} {
		l := used(t, 6)
		l.c.PreemptibleOptions = options
		l.s.Hosts[0].Preemptible = true
		l.spare(100) // not preemptible
		if e := l.explain("h-0"); !strings.HasSuffix(e.Summary, "; "+want) {
			t.Errorf("%d: %s", options, e.Summary)
		}
	}
}

// TestDC19_ABudgetSaysWhatCountsAgainstIt.
func TestDC19_ABudgetSaysWhatCountsAgainstIt(t *testing.T) {
	for busy, want := range []string{
		"MachineDeployment metal3/p: 1 more may be disrupted (budget 1)",
		"MachineDeployment metal3/p: 0 more may be disrupted (budget 1, and 1 of its hosts are not Ready, missing, too many, or being disrupted)",
	} {
		l := newLab(t, 3)
		l.c.Budgets = budget.List{{Nodes: "1"}, {MinReady: "0"}}
		for i := range busy {
			l.s.Nodes[i].Ready = false
		}
		if got := l.plan().Later[0].Note; got != want {
			t.Errorf("%d: %s", busy, got)
		}
	}
}

// TestDC19_NoMoreThanThePoolWants are replaced, though its new host would make up for one.
func TestDC19_NoMoreThanThePoolWants(t *testing.T) {
	l := used(t, 5, 5, 5)
	l.s.Pools[0].Replicas, l.c.Budgets = 2, budget.List{{Nodes: "9"}, {MinReady: "0"}}
	l.spare(100).Capacity = Resources{"cpu": "16"}
	l.wants("MultiNodeConsolidation replace h-0,h-1>s-3")
}

// TestDC25_AGroupMayHaveFewerSlots: a quarter of the group's, where the total has more.
func TestDC25_AGroupMayHaveFewerSlots(t *testing.T) {
	l := used(t, 1, 1, 1, 1, 1)
	l.s.Pods[4].DoNotDisrupt = true
	for limit, want := range map[int]int{100: 4, 12: 3, 8: 2} {
		l.s.Throttle.Limit, l.s.Throttle.Groups = 40, map[string]int{"rack": limit}
		for i := range l.s.Hosts {
			l.s.Hosts[i].ConductorGroup = "rack"
		}
		if a := l.plan().Actions[0]; len(a.Hosts) != 4 || a.PeakSlots != want {
			t.Errorf("of %d: %d hosts, %d at once", limit, len(a.Hosts), a.PeakSlots)
		}
	}
}

// TestDC26_ManyBreakersAreCounted.
func TestDC26_ManyBreakersAreCounted(t *testing.T) {
	all := []string{"f", "e", "d", "c", "b", "a"}
	for n, want := range map[int]string{5: "b, c, d, e, f", 6: "a, b, c, d, e and 1 more"} {
		l := newLab(t, 1)
		l.s.Throttle.OpenBreakers = all[:n]
		if p := l.plan(); p.Blocked != "the breaker is not CLOSED: "+want {
			t.Error(p.Blocked)
		}
	}
}
