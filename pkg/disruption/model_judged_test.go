package disruption_test

import (
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// good is a state of four hosts, 0 with a pod that moves to 1, 2 with a pod that does not and 3 empty, and
// the plan that releases 0.
func good() (*lab, *api.Plan) {
	l := newLab(4)
	l.pod("a", 0, "2")
	l.pod("b", 1, "5")
	l.pod("c", 2, "8")
	l.s.Pods = append(l.s.Pods, disruption.Pod{Key: disruption.Key{Namespace: "kube-system", Name: "ds"}, Node: "n-0", DaemonSet: true})
	w := newWorld(&l.s, l.c, l.now)
	p := planOf(w, api.MethodSingle, action(w, "1", api.PlanUnderutilized, []*disruption.Host{&l.s.Hosts[0]}, map[string]string{"default/a": "n-1"}))
	return l, &p
}

// replacing is good with a cheaper host that replaces 0.
func replacing() (*lab, *api.Plan) {
	l, _ := good()
	spare := l.spare(100)
	w := newWorld(&l.s, l.c, l.now)
	a := action(w, "1", api.PlanUnderutilized, []*disruption.Host{&l.s.Hosts[0]}, map[string]string{"default/a": spare.String()})
	a.Decision, a.Replacement = api.PlanReplace, new(described(spare))
	a.SavingPerHour = 0.075
	a.SavingPerCost = a.SavingPerHour / a.DisruptionCost
	p := planOf(w, api.MethodSingle, a)
	return l, &p
}

// drifting is good with a drifted host 0.
func drifting() (*lab, *api.Plan) {
	l, _ := good()
	l.s.Hosts[0].Machine.TemplateHash = "v1-b"
	w := newWorld(&l.s, l.c, l.now)
	p := planOf(w, api.MethodStaticDrift, action(w, "1", api.PlanDrifted, []*disruption.Host{&l.s.Hosts[0]}, map[string]string{"default/a": "n-1"}))
	return l, &p
}

// emptying is good and releases the empty host 3.
func emptying() (*lab, *api.Plan) {
	l, _ := good()
	w := newWorld(&l.s, l.c, l.now)
	p := planOf(w, api.MethodEmptiness, action(w, "1", api.PlanEmpty, []*disruption.Host{&l.s.Hosts[3]}, nil))
	return l, &p
}

// several releases hosts 0 and 3 of a batch.
func several() (*lab, *api.Plan) {
	l, _ := good()
	l.pod("d", 3, "1")
	w := newWorld(&l.s, l.c, l.now)
	p := planOf(w, api.MethodMulti, action(w, "1", api.PlanUnderutilized, []*disruption.Host{&l.s.Hosts[0], &l.s.Hosts[3]},
		map[string]string{"default/a": "n-1", "default/d": "n-1"}))
	return l, &p
}

func TestTheJudgeAccepts(t *testing.T) {
	for name, made := range map[string]func() (*lab, *api.Plan){
		"a release": good, "a replacement": replacing, "drift": drifting, "emptiness": emptying, "a batch": several,
		"nothing": func() (*lab, *api.Plan) {
			l, _ := good()
			p := planOf(newWorld(&l.s, l.c, l.now), "")
			p.Actions = []api.PlanAction{}
			return l, &p
		},
		"exactly consolidateAfter (law empty)": func() (*lab, *api.Plan) {
			l, p := emptying()
			l.s.Nodes[3].LastPodEvent = l.now.Add(-30 * time.Second)
			return l, p
		},
		"a target without a clock": func() (*lab, *api.Plan) {
			l, p := good()
			l.s.Hosts[1].Machine = nil
			return l, p
		},
		"a tolerated taint": func() (*lab, *api.Plan) {
			l, p := good()
			l.s.Nodes[1].Taints = []corev1.Taint{{Key: "gpu", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
			l.s.Pods[0].Tolerations = []corev1.Toleration{{Key: "gpu", Value: "a"}}
			return l, p
		},
		"a PDB that allows it": func() (*lab, *api.Plan) { l, p := good(); l.budget("a", 1); return l, p },
		"a pod that is not ready (AlwaysAllow)": func() (*lab, *api.Plan) {
			l, p := good()
			l.s.Pods[0].Ready = false
			l.budget("a", 0).UnhealthyPodEvictionPolicy = policyv1.AlwaysAllow
			return l, p
		},
	} {
		l, p := made()
		if broken := judge(&l.s, l.c, l.now, *p); len(broken) > 0 {
			t.Errorf("%s:\n%s", name, strings.Join(broken, "\n"))
		}
	}
}

// rejection is one way to break a good plan, and words of the law that it breaks.
type rejection struct {
	name  string
	from  func() (*lab, *api.Plan)
	spoil func(l *lab, p *api.Plan)
	law   string
}

func (r rejection) test(t *testing.T) {
	t.Helper()
	l, p := r.from()
	if broken := judge(&l.s, l.c, l.now, *p); len(broken) > 0 {
		t.Fatalf("the plan is not good at first: %q", broken)
	}
	r.spoil(l, p)
	broken := judge(&l.s, l.c, l.now, *p)
	for _, law := range broken {
		if strings.Contains(law, r.law) {
			return
		}
	}
	t.Errorf("broken laws %q: none has %q", broken, r.law)
}

func TestTheJudgeRejectsPlans(t *testing.T) {
	for _, r := range []rejection{
		{"later than now", good, func(_ *lab, p *api.Plan) { p.MadeAt = p.MadeAt.Add(time.Second) }, "not now"},
		{"too soon", good, func(_ *lab, p *api.Plan) { p.ExecuteAfter = p.MadeAt.Add(14 * time.Second) }, "law age"},
		{"not dry", good, func(_ *lab, p *api.Plan) { p.DryRun = false }, "law dry run"},
		{"not dry, and the pool does not allow it", good, func(l *lab, p *api.Plan) {
			p.DryRun, l.c.Execute, l.s.Pools[0].Execute = false, true, false
		}, "law dry run"},
		{"counts", good, func(_ *lab, p *api.Plan) { p.Pods-- }, "it looked at"},
		{"stale", good, func(l *lab, _ *api.Plan) { l.s.Throttle.Stale = true }, "law stopped"},
		{"breaker", good, func(l *lab, _ *api.Plan) { l.s.Throttle.OpenBreakers = []string{"ironic"} }, "law stopped"},
		{"paused group", good, func(l *lab, _ *api.Plan) { l.s.Throttle.PausedGroups = []string{"r1"} }, "law stopped"},
		{"somebody waits", good, func(l *lab, _ *api.Plan) { l.s.Throttle.Waiting = 1 }, "law waits"},
		{"blocked", good, func(_ *lab, p *api.Plan) { p.Blocked = "no" }, "actions though"},
		{"no reason why empty", good, func(l *lab, p *api.Plan) {
			l.s.Throttle.Stale, p.Actions, p.Method = true, []api.PlanAction{}, ""
		}, "does not say what blocks"},
		{"method", good, func(_ *lab, p *api.Plan) { p.Method = api.MethodEmptiness }, "law method"},
		{"two methods", good, func(_ *lab, p *api.Plan) { p.Actions[0].Reason = api.PlanEmpty }, "law method"},
		{"no hosts", good, func(_ *lab, p *api.Plan) { p.Actions[0].Hosts = nil }, "has no hosts"},
		{"an unknown host", good, func(_ *lab, p *api.Plan) { p.Actions[0].Hosts[0].Name = "metal3/x" }, "which is no host"},
		{"another node", good, func(_ *lab, p *api.Plan) { p.Actions[0].Hosts[0].Node = "n-2" }, "is told of as"},
		{"another machine", good, func(_ *lab, p *api.Plan) { p.Actions[0].Hosts[0].Machine = "metal3/m-2" }, "is told of as"},
		{"another pool", good, func(_ *lab, p *api.Plan) { p.Actions[0].Pool = "MachineSet metal3/p-0" }, "and the action of"},
		{"twice", several, func(_ *lab, p *api.Plan) { p.Actions[0].Hosts[1] = p.Actions[0].Hosts[0] }, "is in 1 and 1"},
		{"one of a batch", several, func(_ *lab, p *api.Plan) { p.Actions[0].Hosts = p.Actions[0].Hosts[:1] }, "law batch"},
		{"batch as single", several, func(_ *lab, p *api.Plan) { p.Method = api.MethodSingle }, "with 2 hosts"},
		{"decision", good, func(_ *lab, p *api.Plan) { p.Actions[0].Decision = "report" }, "has the decision"},
		{"drift released", drifting, func(_ *lab, p *api.Plan) { p.Actions[0].Decision = api.PlanRelease }, "releases a drifted"},
		{"nothing drifted", drifting, func(l *lab, _ *api.Plan) { l.s.Hosts[0].Machine.TemplateHash = "v1-a" }, "law drift"},
		{"another hash version", drifting, func(l *lab, _ *api.Plan) { l.s.Hosts[0].Machine.TemplateHash = "v2-b" }, "law drift"},
		{"wrong kind of drift", drifting, func(_ *lab, p *api.Plan) { p.Method = api.MethodDrift }, "law drift"},
		{"no saving", good, func(_ *lab, p *api.Plan) { p.Actions[0].Hosts[0].PowerOff = false }, "law saving"},
		{"more than there is", good, func(_ *lab, p *api.Plan) { p.Actions[0].SavingPerHour *= 1.01 }, "law saving"},
		{"prepaid", good, func(l *lab, _ *api.Plan) { l.s.Hosts[0].Price.Prepaid = true }, "law saving"},
		{"lease that goes on", good, func(l *lab, p *api.Plan) {
			l.s.Hosts[0].Price.LeasePerHour, l.s.Hosts[0].Price.LeaseEnds = new(0.1), new(l.now.Add(time.Hour))
			p.Actions[0].Hosts[0].HandBack = true
			p.Actions[0].SavingPerHour += 0.1
		}, "law saving"},
		{"unknown price", good, func(l *lab, _ *api.Plan) { l.s.Hosts[0].Price = disruption.Price{} }, "law price"},
		{"negative price", good, func(l *lab, _ *api.Plan) { l.s.Hosts[0].Price.WattsBusy = new(-1.0) }, "law price"},
		{"no number", good, func(l *lab, _ *api.Plan) { l.s.Hosts[0].Price.WattsBusy = new(math.NaN()) }, "law price"},
		{"payback too long", good, func(l *lab, p *api.Plan) {
			l.c.MaxPayback = disruption.Span(time.Hour)
			p.Actions[0].PaybackHours = new(1.1)
		}, "pays back"},
		{"infinite", good, func(_ *lab, p *api.Plan) { p.Actions[0].DisruptionCost = math.Inf(1) }, "numbers that are none"},
		{"ratio", good, func(_ *lab, p *api.Plan) { p.Actions[0].SavingPerCost *= 2 }, "per cost"},
		{"order", emptying, func(l *lab, p *api.Plan) {
			w := newWorld(&l.s, l.c, l.now)
			p.Actions = append(p.Actions, action(w, "0", api.PlanEmpty, []*disruption.Host{&l.s.Hosts[0]}, nil))
		}, "is before"},
		{"IDs", good, func(_ *lab, p *api.Plan) { p.Actions[0].ID = "" }, "has the ID"},
		{"no commands", good, func(_ *lab, p *api.Plan) { p.Actions[0].Commands = nil }, "no commands"},
		{"foreign machine", good, func(_ *lab, p *api.Plan) {
			p.Actions[0].Commands = append(p.Actions[0].Commands, "kubectl delete machine m-2")
		}, "Machine of another host"},
		{"machine not named", good, func(_ *lab, p *api.Plan) { p.Actions[0].Commands = p.Actions[0].Commands[1:] }, "do not name"},
		{"only deleted", good, func(_ *lab, p *api.Plan) { p.Actions[0].Commands = []string{"kubectl delete machine m-0"} }, "lower the replicas"},
		{"more replicas", good, func(_ *lab, p *api.Plan) {
			p.Actions[0].Commands[1] = "kubectl scale machinedeployment p-0 --replicas=5"
		}, "set the replicas"},
		{"later too", good, func(_ *lab, p *api.Plan) { p.Later = []api.PlanCandidate{{Host: "metal3/h-0"}} }, "has an action"},
	} {
		t.Run(r.name, r.test)
	}
}
