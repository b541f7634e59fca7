package disruption_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// noon is the time of hand-made states: a Wednesday.
var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// neverConsolidated is for empty hosts alone.
var neverConsolidated = budget.Budget{Nodes: "0", Reasons: []api.PlanReason{api.PlanUnderutilized}}

// lab is a hand-made state with one pool; nothing limits its plans.
type lab struct {
	s   disruption.State
	c   disruption.Config
	now time.Time
}

func newLab(hosts int) *lab {
	l := &lab{now: noon, c: disruption.Default()}
	l.c.ConsolidateAfter = disruption.Span(30 * time.Second)
	l.c.Budgets = bounds("100%,ready:0")
	l.c.TariffPerKWh = new(0.25)
	l.s = disruption.State{TakenAt: noon, Throttle: disruption.Throttle{Limit: 20, SlotMinutes: 20}}
	l.s.Pools = []disruption.Pool{{
		Key: key("p-0"), Kind: disruption.PoolMachineDeployment, Replicas: hosts, Scales: true, Template: "v1-a", Execute: true,
		NodeLabels: map[string]string{"zone": "a"}, HostSelector: new(""), // any host
	}}
	for range hosts {
		l.host()
	}
	return l
}

// bounds are budgets as people write them.
func bounds(text string) budget.List {
	list, err := budget.Parse(text)
	if err != nil {
		panic(err)
	}
	return list
}

func key(name string) disruption.Key { return disruption.Key{Namespace: "metal3", Name: name} }

func watts(w float64) disruption.Price { return disruption.Price{WattsBusy: &w, WattsIdle: &w} }

// amounts reads resources as people write them: "cpu 500m memory 8Gi".
func amounts(text string) disruption.Resources {
	all := disruption.Resources{}
	for words := strings.Fields(text); len(words) > 0; words = words[2:] {
		q := resource.MustParse(words[1])
		if all[words[0]] = q.Value(); words[0] == "cpu" {
			all["cpu"] = q.MilliValue()
		}
	}
	return all
}

func cpus(n string) disruption.Resources { return amounts("cpu " + n + " memory 32Gi pods 110") }

// host adds a host of 8 CPUs with Machine and Node to the first pool, for which 0.1 an hour is paid.
func (l *lab) host() (*disruption.Host, *disruption.Node) {
	i := len(l.s.Nodes)
	name := func(prefix string) disruption.Key { return key(fmt.Sprintf("%s-%d", prefix, i)) }
	l.s.Nodes = append(l.s.Nodes, disruption.Node{
		Name: name("n").Name, Labels: map[string]string{hostname: name("n").Name, "zone": "a"}, Ready: true,
		Allocatable: cpus("8"), FirstReady: l.now.Add(-24 * time.Hour),
	})
	l.s.Hosts = append(l.s.Hosts, disruption.Host{
		Key: name("h"), State: "provisioned",
		Consumer: "Metal3Machine " + name("m").String(), Price: watts(400),
		Capacity: cpus("8"), Node: name("n").Name,
		Machine: &disruption.Machine{
			Key: name("m"), Pool: l.s.Pools[0].Key, PoolKind: l.s.Pools[0].Kind, Template: "v1-a",
		},
	})
	return &l.s.Hosts[len(l.s.Hosts)-1], &l.s.Nodes[len(l.s.Nodes)-1]
}

// pool adds a pool with hosts that are of the first one.
func (l *lab) pool(name string, hosts ...int) *disruption.Pool {
	q := l.s.Pools[0]
	q.Name, q.Replicas = name, len(hosts)
	l.s.Pools[0].Replicas -= len(hosts)
	for _, i := range hosts {
		l.s.Hosts[i].Machine.Pool = q.Key
	}
	l.s.Pools = append(l.s.Pools, q)
	return &l.s.Pools[len(l.s.Pools)-1]
}

// spare adds a free host of so many watts.
func (l *lab) spare(w float64) *disruption.Host {
	i := len(l.s.Hosts)
	l.s.Hosts = append(l.s.Hosts, disruption.Host{
		Key: key(fmt.Sprintf("s-%d", i)), State: "available", Price: watts(w), Capacity: cpus("8"),
	})
	return &l.s.Hosts[len(l.s.Hosts)-1]
}

// pod adds a pod of a ReplicaSet.
func (l *lab) pod(name string, node int, cpu string) *disruption.Pod {
	l.s.Pods = append(l.s.Pods, disruption.Pod{
		Key: disruption.Key{Namespace: "default", Name: name}, Node: fmt.Sprintf("n-%d", node), Owner: "ReplicaSet/app", Ready: true,
		Labels: map[string]string{"app": name}, Requests: amounts("cpu " + cpu + " memory 1Gi"),
	})
	return &l.s.Pods[len(l.s.Pods)-1]
}

// used has hosts with one pod of so many CPUs each.
func used(cpu ...string) *lab {
	l := newLab(len(cpu))
	for i, n := range cpu {
		l.pod(string(rune('a'+i)), i, n)
	}
	return l
}

// budget adds a PodDisruptionBudget of pods with a label app.
func (l *lab) budget(app string, allowed int32) *disruption.PodBudget {
	l.s.Budgets = append(l.s.Budgets, disruption.PodBudget{
		Key:      disruption.Key{Namespace: "default", Name: "pdb-" + app},
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, Allowed: allowed, Current: true,
	})
	return &l.s.Budgets[len(l.s.Budgets)-1]
}

// drift makes a host other than it is wanted.
func drift(h *disruption.Host) {
	h.Desired, h.Applied = map[string]string{"raid": "1"}, map[string]string{"raid": "5"}
}

// planned is Plan as tests call it: they fail on an error.
func planned(t testing.TB, s *disruption.State, c disruption.Config, now time.Time) api.Plan {
	t.Helper()
	p, err := disruption.Plan(t.Context(), s, c, now)
	if err != nil {
		t.Fatalf("Plan: %v", err)
	}
	return p
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

// explain is Explain of a host.
func (l *lab) explain(t testing.TB, host string) api.PlanExplanation {
	t.Helper()
	e, known, err := disruption.Explain(t.Context(), &l.s, l.c, l.now, key(host))
	if err != nil || !known {
		t.Fatalf("Explain: %v, known %v", err, known)
	}
	return e
}

// told writes a plan as METHOD DECISION HOST,HOST>REPLACEMENT; DECISION ...
func told(p api.Plan) string {
	var all []string
	for _, a := range p.Actions {
		var hosts []string
		for _, h := range a.Hosts {
			hosts = append(hosts, h.Name)
		}
		text := string(a.Decision) + " " + strings.Join(hosts, ",")
		if a.Replacement != nil {
			text += ">" + a.Replacement.Name
		}
		all = append(all, text)
	}
	return strings.TrimSpace(string(p.Method) + " " + strings.ReplaceAll(strings.Join(all, "; "), "metal3/", ""))
}

// planRow is a change of a state, and the plan that is made then.
type planRow struct {
	name   string
	change func(l *lab)
	want   string // as it is told
}

func plans(t *testing.T, from func() *lab, rows []planRow) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			l := from()
			r.change(l)
			if got := told(l.plan(t)); got != r.want {
				t.Errorf("the plan is %q, want %q", got, r.want)
			}
		})
	}
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
