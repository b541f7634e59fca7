//go:build e2e

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// released is the release of a host while others want slots, as BMO sees it.
type released struct {
	*mortal
	real   [3]string // nodes of hosts that somebody wants deployed
	yields int       // how often the planned host was told so
	slot   bool      // the planned host has got its slot
}

// frees is BMO at the host that is released. Two real hosts hold the slots, and a third one waits: until these are done
// the host yields, also to a throttle that has just started. Then it has its turn.
func (r *released) frees(ctx context.Context, host string) bool {
	planned, p := r.uuid(host), r.alive.Load()
	switch {
	case r.slot: // Ironic needs no throttle for the rest
		r.becomes(planned, ironic.Available)
		return true
	case p == nil || !p.Running():
	case r.yields == 2:
		for _, node := range r.real {
			if !r.works(p, node, "active") {
				return false
			}
			r.becomes(node, ironic.Active)
		}
		if r.slot = r.works(p, planned, "deleted"); r.slot {
			r.kill(p, "while its host is deprovisioned")
		}
	case r.works(p, r.real[0], "active") && r.works(p, r.real[1], "active"):
		if r.works(p, r.real[2], "active") || r.works(p, planned, "deleted") {
			r.Errorf("work began beyond the limit, or planned work before the host that waits")
		} else if r.toldToYield(ctx, p, host, planned) {
			r.yields++
			r.kill(p, "while its host yields")
		}
	}
	return false
}

// works asks for the work of a node, and reports whether it is under way or done.
func (r *released) works(p *throttle, node, target string) bool {
	before := map[string]ironic.State{"active": ironic.Available, "deleted": ironic.Active}[target]
	still := func() (is bool) {
		r.ironic.With(func(now time.Time, w *fakeironic.World) {
			n, _ := w.Node(now, node)
			is = n.State == before
		})
		return is
	}
	if still() {
		p.put(node, target)
	}
	return !still()
}

// toldToYield asks as a provisioner does: planned work waits, and is told for whom.
func (r *released) toldToYield(ctx context.Context, p *throttle, host, node string) bool {
	c, err := api.NewClient(p.at.API)
	if err != nil {
		r.Error(err)
		return false
	}
	defer c.CloseIdleConnections()
	a, err := c.IsReady(ctx, api.Ask{Namespace: r.Namespace, Name: host, NodeUUID: node, Op: api.OpDeprovision, BMHState: "deprovisioning"})
	if err != nil || a.Reason != api.ReasonPlannedYields {
		return false // just started: that it is planned, or that somebody waits, is not known yet
	}
	if a.Ready || !strings.Contains(a.Message, r.Namespace+"/real-2") {
		r.Errorf("%+v, want no, and a word about real-2", a)
	}
	code, body := p.put(node, "deleted")
	if code != http.StatusConflict || !strings.Contains(body, "planned work") {
		r.Errorf("through the gateway: %d %s, want 409 and a word about planned work", code, body)
	}
	return true
}

// killedWithin ends a test that hangs: each of some ten processes needs up to ten seconds to go on.
const killedWithin = 5 * time.Minute

// once lets a process die at the first write of each kind, before it has an effect or after, as it happens. What comes before
// the Machine is marked would be taken back.
func once() func(planWrite, bool) bool {
	when := map[string]bool{} // it dies after; there is one process at a time
	begun := false
	return func(w planWrite, after bool) bool {
		if begun = begun || w.marks; !begun {
			return false
		}
		key := w.resource + " " + w.what
		at, known := when[key]
		if !known {
			at = rand.IntN(2) == 0
			when[key] = at
			return !at
		}
		when[key] = false // and never again
		return after && at
	}
}

// A process of the product releases an empty host, with the rights of the components alone, and gets kill -9 at its writes from
// the marks of the Machine on, and in between. However often it starts again, the pool gets smaller by that host, once; the
// Machine that was marked goes and no other; the host is powered off; and no mark is left. Meanwhile the work of that host waits
// for those who want slots. The nodes are of its own cluster, or of a workload cluster.
func TestServeIsKilledWhileItReleases(t *testing.T) {
	t.Parallel()
	for name, nodes := range map[string]*realkube.Kube{"own": cluster, "workload": workloads(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			releaseByMortals(t, nodes)
		})
	}
}

func releaseByMortals(t *testing.T, nodes *realkube.Kube) {
	t.Helper()
	m, machine := playMortal(t, nodes)
	host := filepath.Base(m.target(machine).Name)
	r := &released{mortal: m}
	for i := range r.real {
		r.real[i] = m.ironic.node(t, fmt.Sprintf("%s~real-%d", m.Namespace, i))
	}
	m.Frees = r.frees
	m.dies = once()
	stop := m.play()
	defer stop()

	var left []string
	var plan api.Plan
	awaitFor(t, killedWithin, "end of the release", func() bool {
		p := m.lives()
		h, err := cluster.Hosts(m.Namespace).Get(t.Context(), host, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		online, _, _ := unstructured.NestedBool(h.Object, "spec", "online")
		if left = m.leftovers(); online || len(left) > 0 || !p.Running() {
			return false
		}
		out, _, _ := p.run("plan", "-o", "json")
		plan = api.Plan{Actions: []api.PlanAction{{}}}
		if json.Unmarshal([]byte(out), &plan) != nil || plan.Blocked != "" {
			return false
		}
		return len(plan.Actions) == 0 && plan.Nodes > 0
	}, func() string { return fmt.Sprint(strings.Join(left, "\n"), "\n", m.story(), "\n", plan) })
	stop()
	m.verdict(machine)
	if deaths, _ := m.seen(); len(deaths) < 6 || r.yields != 2 || !r.slot {
		t.Errorf("it was killed %d times, its host yielded to %d processes, and had its slot: %v\n%s", len(deaths), r.yields, r.slot, m.story())
	}
	t.Log(m.story())
}

// story is what happened to the process, and what it wrote.
func (m *mortal) story() string {
	deaths, writes := m.seen()
	text := "killed"
	for _, at := range deaths {
		text += "\n  " + at
	}
	text += "\nwritten"
	for _, w := range writes {
		text += fmt.Sprintf("\n  %s %s: %s", w.resource, w.name, w.what)
	}
	return text
}

// verdict wants just that Machine to be gone, as its mark said, and the pool smaller by it, in one step.
func (m *mortal) verdict(machine string) {
	m.Helper()
	var marked []string
	scales := 0
	_, writes := m.seen()
	for _, w := range writes {
		if w.marks {
			marked = append(marked, w.name)
		}
		if w.scales {
			scales++
		}
	}
	want := []string{machine}
	if !slices.Equal(m.Gone, want) || !slices.Equal(slices.Compact(marked), want) || m.replicas() != 2 || scales != 1 || len(m.machines()) != 2 {
		m.Errorf("gone %v, marked %v, %d replicas in %d steps; want %v and 2\n%s", m.Gone, marked, m.replicas(), scales, want, m.story())
	}
}
