package disruption

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

func TestDC1_WithoutSettingsNothingIsCarriedOut(t *testing.T) {
	l := newLab(t, 2)
	l.c = Default()
	l.s.Pools[0].Execute = true
	p := l.plan()
	if !p.DryRun || len(p.Actions) != 0 {
		t.Errorf("dry run %v with %q, want a dry run without actions", p.DryRun, told(p))
	}
	if e := l.explain("h-0"); unmet(e) != "ConsolidateAfter" {
		t.Errorf("the first condition that is not met is %s: %s", unmet(e), e.Summary)
	}
	l = newLab(t, 2)
	for _, tt := range []struct{ setting, pool, dry bool }{{false, false, true}, {false, true, true}, {true, false, true}, {true, true, false}} {
		l.c.Execute, l.s.Pools[0].Execute = tt.setting, tt.pool
		if got := l.plan().DryRun; got != tt.dry {
			t.Errorf("Execute %v and the pool's annotation %v: dry run is %v", tt.setting, tt.pool, got)
		}
	}
}

// TestDC1_AMachineWithoutOwnerAllowsItItself, as it has no pool that could.
func TestDC1_AMachineWithoutOwnerAllowsItItself(t *testing.T) {
	l := newLab(t, 1)
	l.c.Execute = true
	l.s.Hosts[0].Machine.Pool, l.s.Hosts[0].Machine.PoolKind = Key{}, ""
	for _, allowed := range []bool{false, true} {
		l.s.Hosts[0].Machine.Execute = allowed
		if p := l.plan(); p.DryRun == allowed || len(p.Actions) != 1 {
			t.Errorf("allowed %v: dry run %v with %q", allowed, p.DryRun, told(p))
		}
	}
}

// TestDC24_ALimitOfOneIsTold: a plan says that it never gets a slot.
func TestDC24_ALimitOfOneIsTold(t *testing.T) {
	l := newLab(t, 2)
	l.s.Throttle.Limit = 1
	if p := l.plan(); !strings.Contains(p.Blocked, "the limit is 1") || len(p.Actions) == 0 {
		t.Errorf("blocked %q with %q", p.Blocked, told(p))
	}
}

func TestDC2_EmptyHosts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(l *lab)
		want   string
	}{
		{"no pods", func(*lab) {}, "Emptiness release h-0"},
		{"pods of its own", func(l *lab) {
			l.pod(0, 1).DaemonSet = true
			l.pod(0, 1).Mirror = true
			l.pod(0, 1).Finished = true
		}, "Emptiness release h-0"},
		{"a pod that terminates", func(l *lab) { l.pod(0, 1).Terminating = true }, "SingleNodeConsolidation release h-0"},
		{"exactly at the age", func(l *lab) { l.s.Nodes[0].FirstReady = l.now.Add(-30 * time.Second) }, "Emptiness release h-0"},
		{"just before", func(l *lab) { l.s.Nodes[0].FirstReady = l.now.Add(-30*time.Second + 1) }, ""},
		{"a pod came (DC-3)", func(l *lab) { l.s.Nodes[0].LastPodEvent = l.now.Add(-30*time.Second + 1) }, ""},
		{"a pod came before it was Ready (DC-3)", func(l *lab) {
			l.s.Nodes[0].LastPodEvent, l.s.Nodes[0].FirstReady = l.now.Add(-time.Hour), l.now.Add(-time.Second)
		}, ""},
		{"never Ready (DC-3)", func(l *lab) { l.s.Nodes[0].FirstReady = time.Time{} }, ""},
		{"never consolidated (DC-4)", func(l *lab) { l.c.Budgets = append(l.c.Budgets, neverConsolidated) }, "Emptiness release h-0"},
		{"not Consolidatable", func(l *lab) { l.s.Hosts[0].Machine.Consolidatable = new(false) }, ""},
		{"somebody else writes the replicas", func(l *lab) { l.s.Pools[0].Scales = false }, ""},
		{"the pool says Never", func(l *lab) { l.s.Pools[0].Policy.ConsolidateAfter = new(Never) }, ""},
		{"without a price", func(l *lab) { l.s.Hosts[0].Price = Price{} }, "Emptiness release h-0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, 2)
			l.pod(1, 8).DoNotDisrupt = true
			tt.change(l)
			if tt.name == "a pod that terminates" {
				l.s.Nodes[1].Allocatable = Resources{"cpu": "16"}
			}
			l.wants(tt.want)
		})
	}
}

// neverConsolidated is for empty hosts alone (DC-4).
var neverConsolidated = budget.Budget{Nodes: "0", Reasons: []api.PlanReason{api.PlanUnderutilized}}

func TestDC4_ABudgetOf0LeavesWhatIsUsed(t *testing.T) {
	l := newLab(t, 2)
	l.pod(0, 1)
	l.pod(1, 8).DoNotDisrupt = true
	l.s.Nodes[1].Allocatable = Resources{"cpu": "9"}
	l.wants("SingleNodeConsolidation release h-0")
	l.s.Pools[0].Policy.Budgets = append(budget.List{neverConsolidated}, l.c.Budgets...)
	l.wants("")
	if e := l.explain("h-0"); unmet(e) != "ConsolidationPolicy" {
		t.Errorf("the first condition that is not met is %s", unmet(e))
	}
}

func TestDC5_EmptyHostsAreNotConsolidatedToo(t *testing.T) {
	l := newLab(t, 3)
	l.c.Budgets = budget.List{{Nodes: "0", Reasons: []api.PlanReason{api.PlanEmpty}}, {MinReady: "0"}}
	l.pod(1, 8).DoNotDisrupt = true
	l.pod(2, 8).DoNotDisrupt = true
	l.wants("")
}

func TestDC6_UnclaimedHosts(t *testing.T) {
	l := newLab(t, 1)
	l.pod(0, 8)
	l.s.Hosts = append(l.s.Hosts, Host{Key: key("lost"), State: stateProvisioned, PoweredOn: true, Price: watts(200)})
	p := l.plan()
	if told(p) != "" || len(p.Reports) != 1 || p.Reports[0].Reason != api.PlanUnclaimed || p.Reports[0].Decision != api.PlanReport || len(p.Reports[0].Commands) != 0 {
		t.Fatalf("the plan is %q with reports %+v, want one of an unclaimed host", told(p), p.Reports)
	}
	l.s.Hosts[1].DoNotDisrupt = true
	if p = l.plan(); told(p) != "" || len(p.Reports) != 0 {
		t.Errorf("with do-not-disrupt the plan is %q, reports %+v", told(p), p.Reports)
	}
}

func TestDC7_Drift(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(h *Host, q *Pool)
		want   string
		words  string
	}{
		{"image", field("image.url", "a", "b"), "StaticDrift reprovision h-0", `image.url is "a", and should be "b"`},
		{"raid", field("raid", "1", "5"), "StaticDrift reprovision h-0", "raid"},
		{"firmware", field("firmware.Boot", "on", "off"), "StaticDrift reprovision h-0", "firmware.Boot"},
		{"same", field("image.url", "a", "a"), "", ""},
		{"actual not known", func(h *Host, _ *Pool) { h.Desired = map[string]string{"raid": "1"} }, "", ""},
		{"desired not known", func(h *Host, _ *Pool) { h.Applied = map[string]string{"raid": "1"} }, "", ""},
		{"template", func(_ *Host, q *Pool) { q.TemplateHash = "v1-b" }, "StaticDrift reprovision h-0", "template v1-a"},
		{"another hash version", func(_ *Host, q *Pool) { q.TemplateHash = "v2-b" }, "", ""},
		{"no hash version", func(h *Host, q *Pool) { q.TemplateHash, h.Machine.TemplateHash = "b", "a" }, "", ""},
		{"hash not known", func(h *Host, _ *Pool) { h.Machine.TemplateHash = "" }, "", ""},
		{"hostSelector", func(_ *Host, q *Pool) {
			q.HostSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "1"}}
		}, "Drift reprovision h-0", "rack=1"},
		{"hostSelector not known", func(_ *Host, q *Pool) { q.HostSelector = nil }, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, 2)
			l.c.ConsolidateAfter = Never
			l.pod(0, 1)
			l.pod(1, 1).DoNotDisrupt = true
			tt.change(&l.s.Hosts[0], &l.s.Pools[0])
			p := l.plan()
			if told(p) != tt.want {
				t.Fatalf("the plan is %q, want %q", told(p), tt.want)
			}
			if len(p.Actions) > 0 && !strings.Contains(strings.Join(p.Actions[0].Evidence, "\n"), tt.words) {
				t.Errorf("its evidence is %q, want %q in it", p.Actions[0].Evidence, tt.words)
			}
		})
	}
}

func field(name, have, want string) func(h *Host, q *Pool) {
	return func(h *Host, _ *Pool) {
		h.Desired, h.Applied = map[string]string{name: want}, map[string]string{name: have}
	}
}

// DC-7: settings that a reboot applies are no reason to provision a host again.
func TestDC7_FirmwareOnReboot(t *testing.T) {
	l := newLab(t, 2)
	l.c.ConsolidateAfter = Never
	field("firmware.Boot", "on", "off")(&l.s.Hosts[0], nil)
	l.s.Hosts[0].OnReboot = true
	p := l.plan()
	if told(p) != "" || len(p.Reports) != 1 || !strings.Contains(strings.Join(p.Reports[0].Evidence, " "), "no re-provision is needed") {
		t.Fatalf("the plan is %q, reports %+v", told(p), p.Reports)
	}
	l.s.Hosts[0].Desired["raid"], l.s.Hosts[0].Applied["raid"] = "1", "5"
	l.wants("StaticDrift reprovision h-0")
}

func TestDC8_OneDriftedHostTheOldestFirst(t *testing.T) {
	l := newLab(t, 4)
	l.c.ConsolidateAfter = Never
	for i := range 3 {
		l.pod(i, 1)
		field("raid", "1", "5")(&l.s.Hosts[i], nil)
	}
	l.s.Hosts[2].DriftedSince = noon.Add(-72 * time.Hour)
	l.s.Hosts[1].DriftedSince = noon.Add(-time.Hour)
	p := l.plan()
	if told(p) != "StaticDrift reprovision h-2" || len(p.Later) != 2 {
		t.Fatalf("the plan is %q and leaves %+v", told(p), p.Later)
	}
	l.s.Pods = l.s.Pods[:2] // h-2 has none any more, then h-1 has none
	l.s.Pods[1].Node = "n-2"
	l.wants("StaticDrift reprovision h-1")
	l.c.ConsolidateAfter = 0
	if p := l.plan(); p.Method != api.MethodEmptiness {
		t.Errorf("the method is %s, want that empty hosts go first", p.Method)
	}
}

// DC-8: without a place for its pods a host is not provisioned again; without an owner of its Machine it is only reported.
func TestDC8_DriftNeedsAPlaceForPodsAndAnOwner(t *testing.T) {
	l := newLab(t, 1)
	l.pod(0, 1)
	field("raid", "1", "5")(&l.s.Hosts[0], nil)
	l.wants("")
	l = newLab(t, 2)
	l.c.ConsolidateAfter = Never
	field("raid", "1", "5")(&l.s.Hosts[0], nil)
	l.s.Hosts[0].Machine.Pool, l.s.Hosts[0].Machine.PoolKind = Key{}, ""
	if p := l.plan(); told(p) != "" || len(p.Reports) != 1 || p.Reports[0].Reason != api.PlanDrifted {
		t.Errorf("without an owner the plan is %q, reports %+v", told(p), p.Reports)
	}
}

func TestDC27_HostsThatAreNeverTouched(t *testing.T) {
	for name, change := range map[string]func(h *Host, n *Node){
		"NotControlPlane":     func(h *Host, _ *Node) { h.Machine.ControlPlane = true },
		"NotControlPlane ":    func(_ *Host, n *Node) { n.ControlPlane = true },
		"NotControlPlane  ":   func(_ *Host, n *Node) { n.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""} },
		"NotStorage":          func(h *Host, _ *Node) { h.Storage = true },
		"NotStorage ":         func(_ *Host, n *Node) { n.Labels = map[string]string{"node-role.kubernetes.io/storage": ""} },
		"DisruptionAllowed":   func(h *Host, _ *Node) { h.DoNotDisrupt = true },
		"NotPaused":           func(h *Host, _ *Node) { h.Paused = true },
		"NotPaused ":          func(h *Host, _ *Node) { h.Machine.Paused = true },
		"NotDetached":         func(h *Host, _ *Node) { h.Detached = true },
		"NotExternal":         func(h *Host, _ *Node) { h.External = true },
		"NotExternal ":        func(h *Host, _ *Node) { h.State = stateExternal },
		"AnnotationsReadable": func(h *Host, _ *Node) { h.Faults = []string{"watts-busy: odd"} },
		"Healthy":             func(h *Host, _ *Node) { h.Failed = true },
		"Provisioned":         func(h *Host, _ *Node) { h.State = "deprovisioning" },
		"NotDisrupting":       func(h *Host, _ *Node) { h.Machine.Marked = true },
		"NotDisrupting ":      func(_ *Host, n *Node) { n.Deleting = true },
		"Owner":               func(h *Host, _ *Node) { h.Machine.OtherOwner = "KubeadmControlPlane a" },
		"Pool":                func(h *Host, _ *Node) { h.Machine.Pool.Name = "gone" },
		"Machine":             func(h *Host, _ *Node) { h.Machine = nil },
		"NodeReady":           func(_ *Host, n *Node) { n.Ready = false },
		"Node":                func(h *Host, _ *Node) { h.Node = "gone" },
	} {
		t.Run(name, func(t *testing.T) {
			// Empty, drifted and under-used: every method would take it.
			for _, pods := range []int{0, 1} {
				l := newLab(t, 2)
				l.pod(1, 1).DoNotDisrupt = true
				for range pods {
					l.pod(0, 1)
				}
				field("raid", "1", "5")(&l.s.Hosts[0], nil)
				change(&l.s.Hosts[0], &l.s.Nodes[0])
				l.wants("")
				e := l.explain("h-0")
				if e.Candidate || unmet(e) != strings.TrimSpace(name) {
					t.Errorf("candidate %v; the first condition that is not met is %s", e.Candidate, unmet(e))
				}
				if p := l.plan(); !excludes(p, strings.TrimSpace(name), "metal3/h-0") {
					t.Errorf("excluded are %v", p.Excluded)
				}
			}
		})
	}
}

// excludes reports whether just that host is no candidate by that condition.
func excludes(p api.Plan, condition, host string) bool {
	return slices.ContainsFunc(p.Excluded, func(e api.PlanExcluded) bool {
		return e.Condition == condition && e.Hosts == 1 && slices.Equal(e.Names, []string{host})
	})
}

// The three conditions of the seed, by name and in their order, and what a simulation says (DC-2 ... DC-4).
func TestExplainNamesTheConditions(t *testing.T) {
	l := newLab(t, 2)
	l.pod(0, 5)
	l.pod(1, 5)
	e := l.explain("h-0")
	var names []string
	for _, c := range e.Conditions {
		names = append(names, c.Type)
	}
	want := []string{
		"AnnotationsReadable", "NotControlPlane", "NotStorage", "DisruptionAllowed", "NotPaused", "NotDetached", "NotExternal", "Healthy",
		"Provisioned", "NotDisrupting", "Cluster", "Machine", "Owner", "Pool", "Node", "NodeReady", "ConsolidateAfter", "ConsolidationPolicy",
		"Consolidatable", "Scales", "Price", "Saving", "Payback", "PodsMovable", "Drifted", "CanGoNow",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if !e.Candidate || e.Reason != api.PlanUnderutilized || !strings.Contains(e.Summary, "fits on no other node") {
		t.Errorf("explanation %v %s: %s", e.Candidate, e.Reason, e.Summary)
	}
	if _, err := l.planner().explain(t.Context(), key("nobody")); err == nil {
		t.Error("a host that is not known is explained")
	} else {
		wantsField(t, err, "host")
	}
}

func TestDC12_Prices(t *testing.T) {
	p := newPlanner(&State{}, Default(), noon)
	for _, tt := range []struct {
		name   string
		tariff *float64
		price  Price
		want   float64
		known  bool
	}{
		{"watts and tariff", new(0.25), watts(400), 0.1, true},
		{"with lease", new(0.25), Price{WattsBusy: new(400.0), LeasePerHour: new(1.5)}, 1.6, true},
		{"lease alone", nil, Price{LeasePerHour: new(1.5)}, 1.5, true},
		{"watts without tariff", nil, watts(400), 0, false},
		{"tariff without watts", new(0.25), Price{LeasePerHour: new(1.5)}, 0, false},
		{"nothing", new(0.25), Price{}, 0, false},
		{"prepaid", new(0.25), Price{Prepaid: true}, 0, true},
		{"NaN", new(0.25), watts(math.NaN()), 0, false},
		{"negative", new(0.25), watts(-1), 0, false},
		{"infinite", new(0.25), watts(math.Inf(1)), 0, false},
		{"negative lease", new(0.25), Price{WattsBusy: new(1.0), LeasePerHour: new(-1.0)}, 0, false},
		{"an end of no lease", new(0.25), Price{WattsBusy: new(1.0), LeaseEnds: new(noon)}, 0, false},
		{"zero", new(0.0), watts(0), 0, true},
	} {
		p.c.TariffPerKWh = tt.tariff
		got, unknown := p.priceOf(&Host{Price: tt.price})
		if math.Abs(got-tt.want) > 1e-12 || (unknown == "") != tt.known {
			t.Errorf("%s: %v, %q", tt.name, got, unknown)
		}
	}
}
