package disruption

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

func (l *lab) validate(p api.Plan) error { return Validate(l.t.Context(), p, &l.s, l.c, l.now) }

func TestNotBefore15Seconds(t *testing.T) {
	l := newLab(t, 2)
	p := l.plan()
	if got := p.ExecuteAfter.Sub(p.MadeAt); got != 15*time.Second {
		t.Errorf("it may be carried out %s after it was made", got)
	}
	forged, later := p, p
	forged.ExecuteAfter, later.ExecuteAfter = noon, p.ExecuteAfter.Add(time.Minute)
	l.now = noon.Add(15*time.Second - 1)
	if l.validate(p) == nil || l.validate(forged) == nil {
		t.Error("it holds before 15 s")
	}
	l.now = noon.Add(15 * time.Second)
	if l.validate(later) == nil {
		t.Error("it holds before its time")
	}
	if err := l.validate(p); err != nil {
		t.Errorf("at 15 s: %v", err)
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
		holds  bool
	}{
		{"a pod came", empty, func(l *lab) { l.pod(0, 1) }, false},
		{"a pod came and went", empty, func(l *lab) { l.s.Nodes[0].LastPodEvent = l.now }, false},
		{"a host is gone", empty, func(l *lab) { l.s.Hosts = l.s.Hosts[1:] }, false},
		{"another Machine", empty, func(l *lab) { l.s.Hosts[0].Machine.Name = "m-9" }, false},
		{"another Node", empty, func(l *lab) { l.s.Hosts[0].Node, l.s.Nodes[0].Name = "other", "other" }, false},
		{"another cluster", empty, func(l *lab) {
			far := Key{Name: "far"}
			l.s.Clusters, l.s.Hosts[0].Cluster, l.s.Nodes[0].Cluster = []Cluster{{Key: far}}, far, far
		}, false},
		{"another node of Ironic's", empty, func(l *lab) { l.s.Hosts[0].NodeUUID = "other" }, false},
		{"do-not-disrupt", empty, func(l *lab) { l.s.Hosts[0].DoNotDisrupt = true }, false},
		{"a smaller budget", empty, func(l *lab) { l.c.Budgets = budget.List{{Nodes: "1"}, {MinReady: "0"}} }, false},
		{"one must stay Ready", empty, func(l *lab) { l.c.Budgets = nil }, false},
		{"a host waits (law waits)", empty, func(l *lab) { l.s.Throttle.Waiting = 1 }, false},
		{"the breaker opens (law stopped)", empty, func(l *lab) { l.s.Throttle.OpenBreakers = []string{"a"} }, false},
		{"no room any more", multi, func(l *lab) { l.pod(2, 4); l.pod(1, 1) }, false},
		{"no saving any more", multi, func(l *lab) { l.c.TariffPerKWh = new(0.0) }, false},
		{"too long a payback", multi, func(l *lab) { l.c.MaxPayback = 0 }, false},
		{"no drift any more", drifted, func(l *lab) { l.s.Hosts[0].Applied = l.s.Hosts[0].Desired }, false},
		{"no place meanwhile", drifted, func(l *lab) { l.pod(1, 6) }, false},
		{"the replacement is taken", replace, func(l *lab) { l.s.Hosts[1].Consumer = "Metal3Machine a/b" }, false},
		{"one must stay Ready: the pods would fit without", kept, func(*lab) {}, true},
		{"the replacement is dearer", replace, func(l *lab) { l.s.Hosts[1].Price = watts(400) }, false},
		{"it fits without", replace, func(l *lab) {
			l.host()
			l.s.Nodes[1].Name, l.s.Hosts[2].Node = "n-2", "n-2"
			l.pod(2, 1).DoNotDisrupt = true
		}, false},
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
			if errors.As(err, &gone) == tt.holds || tt.holds && err != nil {
				t.Errorf("%v, holds %v", err, tt.holds)
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
	if err := Validate(ctx, p, &l.s, l.c, l.now); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
