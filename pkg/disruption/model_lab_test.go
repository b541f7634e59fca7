package disruption_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// noon is the time of hand-made states: a Wednesday.
var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

const (
	tenYears = disruption.Span(10 * 365 * 24 * time.Hour)
	onePool  = "MachineDeployment metal3/p-0"
)

// lab is a hand-made state with one pool; nothing limits its plans.
type lab struct {
	s   disruption.State
	c   disruption.Config
	now time.Time
}

// neverConsolidated is for empty hosts alone.
var neverConsolidated = budget.Budget{Nodes: "0", Reasons: []api.PlanReason{api.PlanUnderutilized}}

func newLab(hosts int) *lab {
	l := &lab{now: noon, c: disruption.Default()}
	l.c.ConsolidateAfter, l.c.MaxPayback = disruption.Span(30*time.Second), tenYears
	l.c.Budgets = budget.List{{Nodes: "100%"}, {MinReady: "0"}}
	l.c.TariffPerKWh = new(0.25)
	l.s = disruption.State{TakenAt: noon, Throttle: disruption.Throttle{Limit: 20, ReleaseMinutes: 20, DeployMinutes: 15}}
	l.s.Pools = []disruption.Pool{{
		Key: disruption.Key{Namespace: "metal3", Name: "p-0"}, Kind: disruption.PoolMachineDeployment,
		Replicas: hosts, Scales: true, TemplateHash: "v1-a", NodeLabels: map[string]string{"zone": "a"}, Execute: true,
		HostSelector: &metav1.LabelSelector{}, // any host
	}}
	for range hosts {
		l.host()
	}
	return l
}

// host adds a host with Machine and Node of 8 CPUs, for which 0.1 an hour is paid.
func (l *lab) host() (*disruption.Host, *disruption.Node) {
	i := len(l.s.Nodes)
	name := func(prefix string) disruption.Key {
		return disruption.Key{Namespace: "metal3", Name: fmt.Sprintf("%s-%d", prefix, i)}
	}
	l.s.Nodes = append(l.s.Nodes, disruption.Node{
		Name: name("n").Name, Labels: map[string]string{hostname: name("n").Name, "zone": "a"}, Ready: true,
		Allocatable: disruption.Resources{"cpu": "8", "memory": "32Gi", "pods": "110"}, FirstReady: l.now.Add(-24 * time.Hour),
	})
	l.s.Hosts = append(l.s.Hosts, disruption.Host{
		Key: name("h"), NodeUUID: fmt.Sprintf("00000000-0000-0000-0000-%012d", i), State: "provisioned", Online: true, PoweredOn: true,
		Consumer: "Metal3Machine " + name("m").String(), Price: disruption.Price{WattsBusy: new(400.0), WattsIdle: new(400.0)},
		Capacity: disruption.Resources{"cpu": "8", "memory": "32Gi", "pods": "110"}, Node: name("n").Name, Created: l.now.Add(-48 * time.Hour),
		Machine: &disruption.Machine{
			Key: name("m"), Pool: l.s.Pools[0].Key, PoolKind: l.s.Pools[0].Kind, TemplateHash: "v1-a",
		},
	})
	return &l.s.Hosts[len(l.s.Hosts)-1], &l.s.Nodes[len(l.s.Nodes)-1]
}

// spare adds a free host of so many watts.
func (l *lab) spare(watts float64) *disruption.Host {
	i := len(l.s.Hosts)
	l.s.Hosts = append(l.s.Hosts, disruption.Host{
		Key: disruption.Key{Namespace: "metal3", Name: fmt.Sprintf("s-%d", i)}, NodeUUID: fmt.Sprintf("00000000-0000-0000-0001-%012d", i),
		State: "available", Price: disruption.Price{WattsBusy: &watts, WattsIdle: &watts}, Created: l.now.Add(-48 * time.Hour),
		Capacity: disruption.Resources{"cpu": "8", "memory": "32Gi", "pods": "110"},
	})
	return &l.s.Hosts[len(l.s.Hosts)-1]
}

// pod adds a pod of a ReplicaSet.
func (l *lab) pod(name string, node int, cpu string) *disruption.Pod {
	l.s.Pods = append(l.s.Pods, disruption.Pod{
		Key: disruption.Key{Namespace: "default", Name: name}, Node: fmt.Sprintf("n-%d", node), Owner: "ReplicaSet/app", Ready: true,
		Labels: map[string]string{"app": name}, Requests: disruption.Resources{"cpu": cpu, "memory": "1Gi"},
	})
	return &l.s.Pods[len(l.s.Pods)-1]
}

func described(h *disruption.Host) api.PlanHost {
	ph := api.PlanHost{Name: h.String(), NodeUUID: h.NodeUUID, Node: h.Node, ConductorGroup: h.ConductorGroup}
	if h.Cluster != (disruption.Key{}) {
		ph.Cluster = h.Cluster.String()
	}
	if h.Machine != nil {
		ph.Machine = h.Machine.String()
	}
	return ph
}

// action is a right action for hosts of a state: each is switched off, its lease ends if it may, and moves say where pods go.
func action(w *world, id string, reason api.PlanReason, hosts []*disruption.Host, moves map[string]string) api.PlanAction {
	a := api.PlanAction{
		ID: id, Decision: api.PlanRelease, Reason: reason, Pool: poolOf(hosts[0]), Evidence: []string{"as the test says"}, Saving: "power off",
		SlotMinutes: 20, PeakSlots: 1, DisruptionCost: 1 + float64(len(moves)),
	}
	if reason == api.PlanDrifted {
		a.Decision = api.PlanReprovision
	}
	for _, h := range hosts {
		ph := described(h)
		ph.PowerOff = a.Decision == api.PlanRelease
		a.Hosts = append(a.Hosts, ph)
		if ph.PowerOff {
			ph := &a.Hosts[len(a.Hosts)-1]
			ph.HandBack = h.Price.LeaseEnds != nil && !h.Price.LeaseEnds.After(w.now)
			a.SavingPerHour += w.most(h, true, ph.HandBack)
		}
		a.Commands = append(a.Commands, commandsFor(w, h, a.Decision, len(a.Hosts))...)
	}
	if a.SavingPerHour > 0 {
		a.PaybackHours = new(1.0)
	}
	a.SavingPerCost = a.SavingPerHour / a.DisruptionCost
	for _, pod := range slices.Sorted(maps.Keys(moves)) {
		a.Moves = append(a.Moves, api.PlanMove{Pod: pod, To: moves[pod]})
	}
	return a
}

func commandsFor(w *world, h *disruption.Host, d api.PlanDecision, nth int) []string {
	pool := w.pools[poolOf(h)]
	switch {
	case h.Machine == nil:
		return []string{"kubectl -n " + h.Namespace + " patch baremetalhost " + h.Name + " --type=merge -p {}"}
	case d == api.PlanReprovision || pool == nil:
		return []string{"kubectl -n " + h.Machine.Namespace + " delete machine " + h.Machine.Name}
	}
	return []string{
		"kubectl -n " + h.Machine.Namespace + " annotate machine " + h.Machine.Name + " cluster.x-k8s.io/delete-machine=yes",
		fmt.Sprintf("kubectl -n %s scale machinedeployment %s --replicas=%d", pool.Namespace, pool.Name, pool.Replicas-nth),
	}
}

// recount makes the command lines of actions work one after the other, with one host more first for a replacement.
func recount(w *world, actions []api.PlanAction) {
	left := map[string]int{}
	for i := range actions {
		a := &actions[i]
		pool := w.pools[a.Pool]
		if pool == nil {
			continue
		}
		if _, known := left[a.Pool]; !known {
			left[a.Pool] = pool.Replicas
		}
		scale := func(by int) string {
			left[a.Pool] += by
			return fmt.Sprintf("kubectl -n %s scale machinedeployment %s --replicas=%d", pool.Namespace, pool.Name, left[a.Pool])
		}
		a.Commands = slices.Clone(a.Commands)
		if a.Decision == api.PlanReplace {
			a.Commands = slices.Insert(a.Commands, 0, scale(1))
		}
		for k, line := range a.Commands {
			if strings.Contains(line, " scale ") && (k > 0 || a.Decision != api.PlanReplace) {
				a.Commands[k] = scale(-1)
			}
		}
	}
}

// planOf is a plan that has actions and is right otherwise.
func planOf(w *world, m api.PlanMethod, actions ...api.PlanAction) api.Plan {
	slices.SortStableFunc(actions, func(a, b api.PlanAction) int {
		return cmp.Or(cmp.Compare(b.SavingPerCost, a.SavingPerCost), cmp.Compare(a.Hosts[0].Name, b.Hosts[0].Name))
	})
	recount(w, actions)
	return api.Plan{
		MadeAt: w.now, ExecuteAfter: w.now.Add(disruption.ValidateAfter), DryRun: true, Method: m, Actions: actions,
		Hosts: len(w.s.Hosts), Nodes: len(w.s.Nodes), Pods: len(w.s.Pods),
	}
}

// planned is Plan as tests call it: they fail on an error.
func planned(t testing.TB, s *disruption.State, c disruption.Config, now time.Time) api.Plan {
	t.Helper()
	p, err := tryPlan(t, s, c, now)
	if err != nil {
		t.Fatalf("Plan: %v", err)
	}
	return p
}

// tryPlan plans without progress.
func tryPlan(t testing.TB, s *disruption.State, c disruption.Config, now time.Time) (api.Plan, error) {
	t.Helper()
	return disruption.Plan(t.Context(), s, c, now)
}

// plan makes the plan of the lab and has it judged.
func (l *lab) plan(t testing.TB) api.Plan {
	t.Helper()
	p := planned(t, &l.s, l.c, l.now)
	for _, law := range judge(&l.s, l.c, l.now, p) {
		t.Errorf("the plan breaks a law: %s", law)
	}
	return p
}

// released are names of the hosts that a plan acts on, sorted.
func released(p api.Plan) []string {
	var all []string
	for _, a := range p.Actions {
		for _, h := range a.Hosts {
			all = append(all, h.Name)
		}
	}
	slices.Sort(all)
	return all
}

// explain is Explain of a host.
func (l *lab) explain(t testing.TB, host string) api.PlanExplanation {
	t.Helper()
	e, err := disruption.Explain(t.Context(), &l.s, l.c, l.now, disruption.Key{Namespace: "metal3", Name: host})
	if err != nil {
		t.Fatalf("Explain: %v", err)
	}
	return e
}

func wantsField(t *testing.T, err error, field string) {
	t.Helper()
	bad := new(api.FieldError)
	if !errors.As(err, &bad) || bad.Field != field {
		t.Errorf("the error is %v, want one of the field %s", err, field)
	}
}
