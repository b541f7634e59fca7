package disruption

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

func (l *lab) validate(p api.Plan) error { return l.planner().validate(l.t.Context(), p) }

func TestNotBefore15Seconds(t *testing.T) {
	l := newLab(t, 2)
	p := l.plan()
	if got := p.ExecuteAfter.Sub(p.MadeAt); got != 15*time.Second {
		t.Errorf("it may be carried out %s after it was made", got)
	}
	forged, later := p, p
	forged.ExecuteAfter, later.ExecuteAfter = noon, p.ExecuteAfter.Add(time.Minute)
	l.now = noon.Add(15*time.Second - 1)
	wantsField(t, l.validate(p), "executeAfter")
	wantsField(t, l.validate(forged), "executeAfter")
	l.now = noon.Add(15 * time.Second)
	wantsField(t, l.validate(later), "executeAfter")
	if err := l.validate(p); err != nil {
		t.Errorf("at 15 s: %v", err)
	}
}

// TestAForgedPlanDoesNotHold: nobody but Plan makes them, and each is refused.
func TestAForgedPlanDoesNotHold(t *testing.T) {
	for name, change := range map[string]func(p *api.Plan){
		"pool":                       func(p *api.Plan) { p.Actions[0].Pool = "MachineSet metal3/p" },
		"twice":                      func(p *api.Plan) { p.Actions = append(p.Actions, p.Actions[0]) },
		"no hosts":                   func(p *api.Plan) { p.Actions[0].Hosts = nil },
		"a reason that nobody knows": func(p *api.Plan) { p.Actions[0].Reason = "Bored" },
		"a reason that it has not":   func(p *api.Plan) { p.Actions[0].Reason = api.PlanDrifted },
	} {
		l := newLab(t, 1)
		p := l.plan()
		l.now = p.ExecuteAfter
		change(&p)
		gone := new(Abandoned)
		if err := l.validate(p); !errors.As(err, &gone) || gone.Class != classChurn {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnyChangeAbandonsThePlan(t *testing.T) {
	empty := func(t *testing.T) *lab { t.Helper(); return newLab(t, 4) }
	multi := func(t *testing.T) *lab { t.Helper(); return used(t, 2, 2, 4) }
	drifted := func(t *testing.T) *lab {
		t.Helper()
		l := used(t, 2, 2)
		l.c.ConsolidateAfter = Never
		field("raid", "1", "5")(&l.s.Hosts[0], nil)
		return l
	}
	replace := func(t *testing.T) *lab {
		t.Helper()
		l := used(t, 6)
		l.spare(100)
		return l
	}
	kept := func(t *testing.T) *lab { // the last Ready host, and its pod would fit on a node of somebody else's
		t.Helper()
		l := used(t, 1)
		l.spare(100)
		l.c.Budgets = bounds(t, "100%,ready:1")
		l.s.Nodes = append(l.s.Nodes, Node{Name: "other", Ready: true, Allocatable: Resources{"cpu": "8", "pods": "110"}, FirstReady: noon.Add(-time.Hour)})
		return l
	}
	for _, tt := range []struct {
		name   string
		make   func(t *testing.T) *lab
		change func(l *lab)
		class  string
	}{
		{"a pod came", empty, func(l *lab) { l.pod(0, 1) }, classChurn},
		{"a pod came and went", empty, func(l *lab) { l.s.Nodes[0].LastPodEvent = l.now }, classChurn},
		{"a host is gone", empty, func(l *lab) { l.s.Hosts = l.s.Hosts[1:] }, classChurn},
		{"another Machine", empty, func(l *lab) { l.s.Hosts[0].Machine.Name = "m-9" }, classChurn},
		{"another Node", empty, func(l *lab) { l.s.Hosts[0].Node, l.s.Nodes[0].Name = "other", "other" }, classChurn},
		{"another cluster", empty, func(l *lab) {
			far := Key{Name: "far"}
			l.s.Clusters, l.s.Hosts[0].Cluster, l.s.Nodes[0].Cluster = []Cluster{{Key: far}}, far, far
		}, classChurn},
		{"another node of Ironic's", empty, func(l *lab) { l.s.Hosts[0].NodeUUID = "other" }, classChurn},
		{"do-not-disrupt", empty, func(l *lab) { l.s.Hosts[0].DoNotDisrupt = true }, classChurn},
		{"a smaller budget", empty, func(l *lab) { l.c.Budgets = budget.List{{Nodes: "1"}, {MinReady: "0"}} }, classBudget},
		{"one must stay Ready", empty, func(l *lab) { l.c.Budgets = nil }, classBudget},
		{"a host waits (law waits)", empty, func(l *lab) { l.s.Throttle.Waiting = 1 }, classBudget},
		{"the breaker opens (law stopped)", empty, func(l *lab) { l.s.Throttle.OpenBreakers = []string{"a"} }, classBudget},
		{"no room any more", multi, func(l *lab) { l.pod(2, 4); l.pod(1, 1) }, classScheduling},
		{"no saving any more", multi, func(l *lab) { l.c.TariffPerKWh = new(0.0) }, classChurn},
		{"too long a payback", multi, func(l *lab) { l.c.MaxPayback = 0 }, classChurn},
		{"no drift any more", drifted, func(l *lab) { l.s.Hosts[0].Applied = l.s.Hosts[0].Desired }, classChurn},
		{"no place meanwhile", drifted, func(l *lab) { l.pod(1, 6) }, classScheduling},
		{"the replacement is taken", replace, func(l *lab) { l.s.Hosts[1].Consumer = "Metal3Machine a/b" }, classChurn},
		{"one must stay Ready: the pods would fit without", kept, func(*lab) {}, ""},
		{"the replacement is dearer", replace, func(l *lab) { l.s.Hosts[1].Price = watts(400) }, classChurn},
		{"it fits without", replace, func(l *lab) {
			l.host()
			l.s.Nodes[1].Name, l.s.Hosts[2].Node = "n-2", "n-2"
			l.pod(2, 1).DoNotDisrupt = true
		}, classScheduling},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := tt.make(t)
			p := l.plan()
			if len(p.Actions) == 0 {
				t.Fatal("there is no plan")
			}
			l.now = p.ExecuteAfter
			if err := l.validate(p); err != nil {
				t.Fatalf("nothing has changed: %v", err)
			}
			tt.change(l)
			err := l.validate(p)
			gone := new(Abandoned)
			if errors.As(err, &gone); gone.Class != tt.class || tt.class == "" && err != nil {
				t.Errorf("%v, want class %q", err, tt.class)
			}
		})
	}
}

func TestACancelledValidation(t *testing.T) {
	l := newLab(t, 2)
	p := l.plan()
	l.now = p.ExecuteAfter
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.planner().validate(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
