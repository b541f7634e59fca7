package disruption

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// noon is the time of all states: a Wednesday.
var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// lab is a state with one pool of hosts of 8 CPUs and 400 W, which nothing limits.
type lab struct {
	t   testing.TB
	s   State
	c   Config
	now time.Time
}

func newLab(t testing.TB, hosts int) *lab {
	t.Helper()
	l := &lab{t: t, now: noon, c: Default()}
	l.c.ConsolidateAfter = Span(30 * time.Second)
	l.c.Budgets = budget.List{{Nodes: "100%"}, {MinReady: "0"}}
	l.c.TariffPerKWh = new(0.25)
	l.s = State{TakenAt: noon, Throttle: Throttle{Limit: 20, ReleaseMinutes: 20, DeployMinutes: 15}}
	l.pool("p")
	for range hosts {
		l.host()
	}
	return l
}

func key(name string) Key { return Key{Namespace: "metal3", Name: name} }

func (l *lab) pool(name string) *Pool {
	l.s.Pools = append(l.s.Pools, Pool{
		Key: key(name), Kind: PoolMachineDeployment, Scales: true, TemplateHash: "v1-a", HostSelector: &metav1.LabelSelector{}, NodeLabels: map[string]string{},
	})
	return &l.s.Pools[len(l.s.Pools)-1]
}

// host adds a host h-I of the last pool, with Machine m-I and Node n-I.
func (l *lab) host() *Host {
	i := len(l.s.Hosts)
	q := &l.s.Pools[len(l.s.Pools)-1]
	q.Replicas++
	l.s.Nodes = append(l.s.Nodes, Node{
		Name: fmt.Sprintf("n-%d", i), Ready: true, Allocatable: Resources{"cpu": "8", "pods": "110"}, FirstReady: noon.Add(-24 * time.Hour),
	})
	l.s.Hosts = append(l.s.Hosts, Host{
		Key: key(fmt.Sprintf("h-%d", i)), NodeUUID: fmt.Sprintf("uuid-%d", i), State: stateProvisioned, Online: true, PoweredOn: true,
		Consumer: "Metal3Machine metal3/x", Price: watts(400), Capacity: Resources{"cpu": "8", "pods": "110"}, Node: fmt.Sprintf("n-%d", i),
		Created: noon.Add(-48 * time.Hour),
		Machine: &Machine{Key: key(fmt.Sprintf("m-%d", i)), Pool: q.Key, PoolKind: q.Kind, TemplateHash: "v1-a"},
	})
	return &l.s.Hosts[len(l.s.Hosts)-1]
}

// spare adds a free host s-I.
func (l *lab) spare(w float64) *Host {
	l.s.Hosts = append(l.s.Hosts, Host{
		Key: key(fmt.Sprintf("s-%d", len(l.s.Hosts))), State: stateAvailable, Price: watts(w), Capacity: Resources{"cpu": "8", "pods": "110"},
	})
	return &l.s.Hosts[len(l.s.Hosts)-1]
}

func watts(w float64) Price { return Price{WattsBusy: &w, WattsIdle: &w} }

// pod adds a pod of so many CPUs to Node n-I.
func (l *lab) pod(node, cpu int) *Pod {
	l.s.Pods = append(l.s.Pods, Pod{
		Key: Key{Namespace: "default", Name: fmt.Sprintf("p-%d", len(l.s.Pods))}, Node: fmt.Sprintf("n-%d", node), Owner: "ReplicaSet/app",
		Requests: Resources{"cpu": strconv.Itoa(cpu)}, Ready: true,
	})
	return &l.s.Pods[len(l.s.Pods)-1]
}

func (l *lab) planner() *planner { return newPlanner(l.t.Context(), &l.s, l.c, l.now) }

func (l *lab) plan() api.Plan {
	l.t.Helper()
	p, err := Plan(l.t.Context(), &l.s, l.c, l.now)
	if err != nil {
		l.t.Fatalf("Plan: %v", err)
	}
	return p
}

func (l *lab) explain(host string) api.PlanExplanation {
	l.t.Helper()
	e, err := Explain(l.t.Context(), &l.s, l.c, l.now, key(host))
	if err != nil {
		l.t.Fatalf("Explain: %v", err)
	}
	return e
}

// told writes a plan as METHOD DECISION HOST,HOST>REPLACEMENT; DECISION ...
func told(p api.Plan) string {
	text := string(p.Method)
	for i, a := range p.Actions {
		if i > 0 {
			text += ";"
		}
		text += " " + string(a.Decision) + " "
		for j, h := range a.Hosts {
			if j > 0 {
				text += ","
			}
			text += h.Name[len("metal3/"):]
		}
		if a.Replacement != nil {
			text += ">" + a.Replacement.Name[len("metal3/"):]
		}
	}
	return text
}

func (l *lab) wants(want string) {
	l.t.Helper()
	if got := told(l.plan()); got != want {
		l.t.Errorf("the plan is %q, want %q", got, want)
	}
}

// unmet is the first condition that a host does not meet.
func unmet(e api.PlanExplanation) string {
	for _, c := range e.Conditions {
		if !c.Met {
			return c.Type
		}
	}
	return ""
}

func wantsField(t *testing.T, err error, field string) {
	t.Helper()
	bad := new(api.FieldError)
	if !errors.As(err, &bad) || bad.Field != field {
		t.Errorf("the error is %v, want one of the field %s", err, field)
	}
}
