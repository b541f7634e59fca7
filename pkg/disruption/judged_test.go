package disruption_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// The states from which plans are made that the judge accepts: in each, host 0 goes.
var (
	good      = func() *lab { return lonely("2", "5", "8") }                                                 // its pod a moves to n-1
	emptying  = func() *lab { l := lonely("2", "5", "8"); l.s.Pods = l.s.Pods[1:]; return l }                // empty
	several   = func() *lab { l := lonely("2", "5", "8", "1"); l.s.Hosts[3].DoNotDisrupt = false; return l } // with host 3
	replacing = func() *lab { l := lonely("2", "8", "8"); l.spare(100); return l }                           // for s-3
	drifting  = func() *lab {
		l := lonely("2", "5", "8")
		l.c.ConsolidateAfter, l.s.Hosts[0].Machine.Template = disruption.Never, "v1-b"
		return l
	}
)

// lonely has hosts of which 0 alone may go.
func lonely(cpu ...string) *lab {
	l := used(cpu...)
	for i := range l.s.Hosts {
		l.s.Hosts[i].DoNotDisrupt = i > 0
	}
	return l
}

// TestTheJudgeRejects what is spoilt, in the state or in the plan, by the law that it breaks.
func TestTheJudgeRejects(t *testing.T) {
	type spoil = func(l *lab, p *api.Plan)
	node := func(f nodeChange) spoil { return func(l *lab, _ *api.Plan) { f(&l.s.Nodes[1]) } }
	pod := func(f podChange) spoil { return func(l *lab, _ *api.Plan) { f(&l.s.Pods[0]) } }
	act := func(f func(a *api.PlanAction)) spoil { return func(_ *lab, p *api.Plan) { f(&p.Actions[0]) } }
	to := func(node string) spoil { return act(func(a *api.PlanAction) { a.Moves[0].To = node }) }
	bound := func(b ...budget.Budget) spoil {
		return func(l *lab, _ *api.Plan) { l.c.Budgets = append(l.c.Budgets, b...) }
	}
	for _, r := range []struct {
		name  string
		from  func() *lab
		spoil spoil
		law   string
	}{
		{"too soon", good, func(_ *lab, p *api.Plan) { p.ExecuteAfter = p.MadeAt.Add(14 * time.Second) }, "law age"},
		{"stale", good, func(l *lab, _ *api.Plan) { l.s.Throttle.Stale = true }, "law stopped"},
		{"somebody waits", good, func(l *lab, _ *api.Plan) { l.s.Throttle.Waiting = 1 }, "law waits"},
		{"an unknown host", good, act(func(a *api.PlanAction) { a.Hosts[0].Name = "metal3/x" }), "which is no host"},
		{"one of several", several, act(func(a *api.PlanAction) { a.Hosts = a.Hosts[:1] }), "law batch"},
		{"a drifted host released", drifting, act(func(a *api.PlanAction) { a.Decision = api.PlanRelease }), "has the decision"},
		{"no saving", good, act(func(a *api.PlanAction) { a.Hosts[0].PowerOff = false }), "law saving"},
		{"too long a payback", good, act(func(a *api.PlanAction) { *a.PaybackHours = 25 }), "pays back"},

		{"a nanosecond too soon", emptying, func(l *lab, _ *api.Plan) { l.s.Nodes[0].LastPodEvent = l.now.Add(-30*time.Second + 1) }, "law empty"},
		{"never consolidated", good, bound(neverConsolidated), "law policy"},
		{"a pod that ends, and comes back", emptying, func(l *lab, _ *api.Plan) { p := l.pod("d", 0, "1"); ending(p); stateful(p) }, "law empty"},
		{"a budget less those that are not Ready", good, func(l *lab, _ *api.Plan) { l.c.Budgets, l.s.Nodes[2].Ready = bounds("1,ready:0"), false }, "law budget"},

		{"a pod without a place", good, act(func(a *api.PlanAction) { a.Moves = nil }), "without a place"},
		{"to one that goes", several, to("n-0"), "which goes too"},
		{"within its own consolidateAfter", good, node(func(n *disruption.Node) { n.LastPodEvent = noon.Add(-time.Second) }), "its own consolidateAfter"},
		{"another's anti-affinity", good, func(l *lab, _ *api.Plan) { l.s.Pods[2].AntiAffinity = apart("a", "zone") }, "default/c does not want"},
		{"not modelled", drifting, pod(func(p *disruption.Pod) { p.Unmodelled = []string{"claims"} }), "not modelled"},
		{"a PodDisruptionBudget", good, func(l *lab, _ *api.Plan) { l.budget("a", 0) }, "budget default/pdb-a allows 0"},
		{"a dear replacement", replacing, func(l *lab, _ *api.Plan) { l.s.Hosts[3].Price = watts(400) }, "law price"},
		{"a replacement of one class", replacing, func(l *lab, _ *api.Plan) {
			l.s.Hosts[0].Class, l.s.Hosts[3].Class, l.s.Hosts[3].Price = "a", "a", l.s.Hosts[0].Price
		}, "law class"},
	} {
		t.Run(r.name, func(t *testing.T) {
			l := r.from()
			p := l.plan(t)
			r.spoil(l, &p)
			p.Pods = len(l.s.Pods)
			broken := judge(&l.s, l.c, l.now, p)
			if has := func(law string) bool { return strings.Contains(law, r.law) }; len(p.Actions) == 0 || slices.ContainsFunc(broken, has) != (r.law != "") {
				t.Errorf("broken laws %q, want one that has %q", broken, r.law)
			}
		})
	}
}

// TestTheJudgeKnowsABadPlace: of the random plans that move pods, each has a pod sent where it may not go.
func TestTheJudgeKnowsABadPlace(t *testing.T) {
	spoilt := 0
	for seed := *planSeed; seed < *planSeed+cases(); seed++ {
		l := seeded(seed, true)
		p := planned(t, &l.s, l.c, l.now)
		w, gone := newWorld(&l.s, l.c, l.now), map[string]bool{}
		for _, name := range released(p) {
			gone[home(w.hosts[name])] = true
		}
		b := w.board(gone)
		for i, a := range p.Actions {
			for k, m := range a.Moves {
				n := slices.IndexFunc(l.s.Nodes, func(n disruption.Node) bool { return gone[n.Name] || b.refuses(w.pods[m.Pod], b.seats[n.Name]) != "" })
				if spoilt++; judge(&l.s, l.c, l.now, p) != nil {
					t.Fatalf("seed %d: the plan is bad at first", seed)
				}
				p.Actions[i].Moves[k].To = l.s.Nodes[n].Name
				if judge(&l.s, l.c, l.now, p) == nil {
					t.Fatalf("seed %d: the judge accepts %s on %s", seed, m.Pod, l.s.Nodes[n].Name)
				}
				p.Actions[i].Moves[k].To = m.To
			}
		}
	}
	if t.Logf("%d moves", spoilt); spoilt == 0 {
		t.Error("no plan moves pods")
	}
}
