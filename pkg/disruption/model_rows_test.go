package disruption_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// TestRowsByHand has small states and what the plan of each is, by the numbers of rows (DC-1 ... DC-9, DC-12, DC-13, DC-19, DC-27). What a plan may not be
// is the judge's.
func TestRowsByHand(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(l *lab)
		method api.PlanMethod
		want   []string
	}{
		{"DC-1: the default consolidates nothing", func(l *lab) { l.c = disruption.Default() }, "", nil},
		{"DC-2: exactly consolidateAfter", func(l *lab) {
			l.s.Nodes[2].LastPodEvent = l.now.Add(-30 * time.Second)
		}, api.MethodEmptiness, []string{"h-2"}},
		{"DC-2: a nanosecond sooner, and the next method acts", func(l *lab) {
			l.s.Nodes[2].LastPodEvent = l.now.Add(-30*time.Second + 1)
		}, api.MethodSingle, []string{"h-0"}},
		{"DC-3: never Ready", func(l *lab) { l.s.Nodes[2].FirstReady = time.Time{} }, api.MethodSingle, []string{"h-0"}},
		{"DC-4: the pool's own policy", func(l *lab) {
			l.pod("c", 2, "8")
			l.s.Pools[0].Policy.Budgets = append(budget.List{neverConsolidated}, l.c.Budgets...)
		}, "", nil},
		{"DC-5: an empty host that may not go is not consolidated", func(l *lab) {
			l.c.Budgets = budget.List{{Nodes: "0", Reasons: []api.PlanReason{api.PlanEmpty}}, {MinReady: "0"}}
		}, api.MethodSingle, []string{"h-0"}},
		{"DC-6: unclaimed", func(l *lab) {
			l.pod("c", 2, "8").DoNotDisrupt = true
			l.s.Pods[0].DoNotDisrupt = true
			l.spare(100).State = "provisioned"
		}, "", nil},
		{"DC-7: what is not known is no drift", func(l *lab) {
			l.c.ConsolidateAfter = disruption.Never
			l.s.Hosts[0].Desired, l.s.Hosts[0].Applied = map[string]string{"raid": "1", "image.url": "a"}, map[string]string{"image.url": "a"}
		}, "", nil},
		{"DC-8: empty before drift", func(l *lab) { l.s.Hosts[0].Machine.TemplateHash = "v1-b" }, api.MethodEmptiness, []string{"h-2"}},
		{"DC-9: drift before consolidation", func(l *lab) {
			l.pod("c", 2, "8")
			l.s.Hosts[0].Machine.TemplateHash = "v1-b"
		}, api.MethodStaticDrift, []string{"h-0"}},
		{"DC-9: several before one", func(l *lab) {
			l.pod("c", 2, "1")
			l.s.Nodes[2].Allocatable["cpu"] = "4"
		}, api.MethodMulti, []string{"h-0", "h-2"}},
		{"DC-12: no price, no consolidation", func(l *lab) {
			l.pod("c", 2, "8")
			l.c.TariffPerKWh = nil
		}, "", nil},
		{"DC-12: no price, and empty all the same", func(l *lab) { l.c.TariffPerKWh = nil }, api.MethodEmptiness, []string{"h-2"}},
		{"DC-13: what is paid already saves nothing", func(l *lab) {
			l.pod("c", 2, "8")
			l.s.Hosts[0].Price = disruption.Price{Prepaid: true}
		}, "", nil},
		{"DC-19: three of the pool stay Ready", func(l *lab) { l.s.Pools[0].Policy.Budgets = budget.List{{Nodes: "100%"}, {MinReady: "3"}} }, "", nil},
		{"DC-27: storage", func(l *lab) { l.s.Hosts[2].Storage = true }, api.MethodSingle, []string{"h-0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := pair()
			l.host()
			// No host but 0 can go besides the empty one.
			l.s.Pools[0].Replicas, l.s.Nodes[2].Labels["zone"] = 3, "c"
			l.s.Pods[0].NodeSelector, l.s.Pods[1].NodeSelector = map[string]string{"zone": "a"}, map[string]string{"zone": "a"}
			tt.change(l)
			for i := range l.s.Pods {
				if p := &l.s.Pods[i]; p.Name == "c" && tt.method != api.MethodMulti {
					p.NodeSelector = map[string]string{"zone": "c"}
				}
			}
			p := l.plan(t)
			wantNames(t, p, slices.Clone(tt.want)...)
			if p.Method != tt.method {
				t.Errorf("the method is %q, want %q", p.Method, tt.method)
			}
		})
	}
}

// TestDC22_APlanIsValidatedAfter15Seconds refuses it before, and abandons it when its world has changed.
func TestDC22_APlanIsValidatedAfter15Seconds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		after  time.Duration
		change func(l *lab)
		class  string // "" = it holds
		early  bool
	}{
		{"14.999999999 s", disruption.ValidateAfter - 1, func(*lab) {}, "", true},
		{"15 s", disruption.ValidateAfter, func(*lab) {}, "", false},
		{"a pod came", disruption.ValidateAfter, func(l *lab) {
			l.pod("new", 0, "100m")
			l.s.Nodes[0].LastPodEvent = l.now.Add(time.Second)
		}, "churn", false},
		{"a budget closed", disruption.ValidateAfter, func(l *lab) { l.s.Pools[0].Policy.Budgets = budget.List{{Nodes: "0"}, {MinReady: "0"}} }, "budget", false},
		{"the pod fits nowhere", disruption.ValidateAfter, func(l *lab) { l.s.Nodes[1].Unschedulable = true }, "scheduling", false},
		{"the host is gone", disruption.ValidateAfter, func(l *lab) { l.s.Hosts = l.s.Hosts[1:] }, "any", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := pair()
			p := l.plan(t)
			wantNames(t, p, "h-0")
			tt.change(l)
			err := disruption.Validate(t.Context(), p, &l.s, l.c, l.now.Add(tt.after))
			var abandoned *disruption.Abandoned
			switch {
			case tt.early:
				if err == nil {
					t.Error("it holds before its time")
				}
			case tt.class == "":
				if err != nil {
					t.Errorf("it does not hold: %v", err)
				}
			case !errors.As(err, &abandoned) || tt.class != "any" && abandoned.Class != tt.class:
				t.Errorf("the error is %v, want the class %s", err, tt.class)
			}
		})
	}
}

// TestDC26_AnEmptyPlanSaysWhy: breaker, pause, and a view that is stale. While hosts wait a plan may tell what would be done, and says
// that it waits (DC-24).
func TestDC26_AnEmptyPlanSaysWhy(t *testing.T) {
	for name, change := range map[string]func(t *disruption.Throttle){
		"stale":   func(t *disruption.Throttle) { t.Stale = true },
		"breaker": func(t *disruption.Throttle) { t.OpenBreakers = []string{"ironic"} },
		"paused":  func(t *disruption.Throttle) { t.PausedGroups = []string{""} },
		"waiting": func(t *disruption.Throttle) { t.Waiting = 1 },
	} {
		l := pair()
		change(&l.s.Throttle)
		p := l.plan(t)
		if len(p.Actions) > 0 && name != "waiting" || strings.TrimSpace(p.Blocked) == "" {
			t.Errorf("%s: %d actions, blocked %q", name, len(p.Actions), p.Blocked)
		}
	}
}
