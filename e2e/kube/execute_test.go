//go:build e2e

package kube

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// released is the release of a host while others want slots, as BMO sees it.
type released struct {
	*mortal
	real   [3]string // nodes of hosts that somebody wants deployed
	yields int       // how often the planned host was told so
	slot   bool      // the planned host has got its slot
}

// frees is BMO at the host that is released. Two real hosts hold the slots, and a third one waits: until these are done the
// host yields, also to a throttle that has just started. Then it has its turn.
func (r *released) frees(_ context.Context, host string) bool {
	planned, p := "00000000-0000-4000-8000-00000000000"+strings.TrimPrefix(host, "host-"), r.alive.Load()
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
			r.kill(p)
		}
	case r.works(p, r.real[0], "active") && r.works(p, r.real[1], "active"):
		if r.works(p, r.real[2], "active") {
			r.Errorf("work began beyond the limit")
		}
		if code, body := p.Put(planned, "deleted"); code == http.StatusConflict && strings.Contains(body, "planned work") && strings.Contains(body, "/real-2") {
			r.yields++
			r.kill(p)
		} else if code < http.StatusBadRequest {
			r.Errorf("planned work began before the host that waits")
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
		p.Put(node, target)
	}
	return !still()
}

// becomes ends the work of a node.
func (r *released) becomes(node string, state ironic.State) {
	r.ironic.With(func(now time.Time, w *fakeironic.World) {
		if err := w.SetState(now, node, state, false); err != nil {
			r.Error(err)
		}
	})
}

// A process of the product releases an empty host, with the rights of the components alone, and gets kill -9 at its writes from
// the mark of the Machine on, and in between. However often it starts again, the pool gets smaller by that host, once; the
// Machine that was marked goes and no other; the host is powered off; and no mark is left. Meanwhile the work of that host waits
// for those who want slots.
func TestServeIsKilledWhileItReleases(t *testing.T) {
	t.Parallel()
	m := playMortal(t, "planner-execute", cluster, "", 0)
	r := &released{mortal: m}
	for i := range r.real {
		r.real[i] = m.ironic.node(t, m.Namespace+"~real-"+string(rune('0'+i)))
	}
	m.Frees = r.frees
	stop := m.play()
	defer stop()
	m.ended("host-1", "machine-1", 2, 1)
	m.until("plan in which nothing is to be done", func() bool {
		plan := m.plan()
		return plan != nil && plan.Blocked == "" && plan.Nodes > 0 && len(plan.Actions) == 0
	})
	if r.yields != 2 || !r.slot {
		t.Errorf("its host yielded to %d processes, and had its slot: %v; %s", r.yields, r.slot, m.story())
	}
}

// A host is replaced by a cheaper one. The new Machine is there before the old node is drained, which is of a workload cluster; a
// PodDisruptionBudget is kept there, and the API server of that cluster is away for a while. The process is killed as above.
func TestServeIsKilledWhileItReplaces(t *testing.T) {
	t.Parallel()
	far := workloads(t)
	way := far.Proxy(t)
	m := playMortal(t, "planner-execute", far, way.URL, 1)
	m.guard("machine-1", "0")
	m.guard("machine-1", "1")
	m.scaling = make(chan struct{})
	stop := m.play()
	defer stop()
	m.lives()
	select {
	case <-m.scaling:
	case <-time.After(6 * time.Minute):
		t.Fatal("nothing begins; ", m.story())
	}
	m.guard("machine-1", "0")
	m.scaling <- struct{}{}
	m.until("the replacement", func() bool { return len(m.machines()) == 4 })
	m.guard("machine-3", "0")
	m.until("drain that waits for the budget", func() bool {
		plan := m.plan()
		return plan != nil && plan.Running != nil && plan.Running.WaitsFor == "1 pods leave node "+m.NodeOf("machine-1")
	})
	way.Refuse()
	m.until("word that the cluster is away", func() bool {
		plan := m.plan()
		return plan != nil && plan.Running != nil && strings.Contains(plan.Running.LastError, "cluster "+m.Namespace+"/c cannot be read")
	})
	way.Mend()
	if n := len(m.machines()); n != 4 {
		t.Errorf("%d Machines while the old node is drained, want 4", n)
	}
	m.guard("machine-1", "1")
	m.ended("host-1", "machine-1", 3, 2)
}
