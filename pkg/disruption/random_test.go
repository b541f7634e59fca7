package disruption_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// maker makes random states.
type maker struct {
	*rand.Rand
	l *lab
	// calm leaves out what makes a best plan hard to tell: drift, replacement, limits, odd prices, hosts that are excluded.
	calm bool
	// used leaves out what comes before consolidation and what forbids it, in half of the states that are not calm: else hardly
	// any of them would be consolidated.
	used bool
	// dense is for one host that goes, whose pods want all that pods can.
	dense bool
}

func pick[T any](c interface{ IntN(n int) int }, all ...T) T { return all[c.IntN(len(all))] }

// rarely is true once in n times.
func (m *maker) rarely(n int) bool { return m.IntN(n) == 0 }

// randomLab is a small cluster with all that a state can say.
func randomLab(c *rand.Rand, calm bool) *lab {
	m := &maker{Rand: c, l: newLab(0), calm: calm}
	m.used = !calm && m.rarely(2)
	m.pools()
	hosts := 1 + m.IntN(8)
	if calm {
		hosts = 2 + m.IntN(5)
	}
	return m.fill(hosts)
}

// fill makes so many hosts, and what is on them.
func (m *maker) fill(hosts int) *lab {
	for range hosts {
		m.host()
	}
	m.l.s.Pools[0].Replicas = hosts
	m.pods()
	m.budgets()
	if !m.calm {
		m.settings()
		m.spares()
		m.throttle()
	}
	return m.l
}

// other is the cluster that a third of the random states has besides.
var other = disruption.Key{Namespace: "metal3", Name: "other"}

// join adds what another lab has, as hosts of the other cluster. Its nodes and pods keep their names.
func (l *lab) join(from *lab) *lab {
	var s disruption.State
	text, _ := json.Marshal(from.s)
	_ = json.Unmarshal(bytes.ReplaceAll(text, []byte(`"metal3","name":"`), []byte(`"metal3","name":"o-`)), &s)
	for i := range s.Hosts {
		if s.Hosts[i].Node != "" {
			s.Hosts[i].Cluster = other
		}
	}
	for i := range s.Nodes {
		s.Nodes[i].Cluster = other
	}
	for i := range s.Pods {
		s.Pods[i].Cluster = other
	}
	for i := range s.Budgets {
		s.Budgets[i].Cluster = other
	}
	l.s.Clusters = []disruption.Cluster{{Key: other, Nodes: len(s.Nodes), Pods: len(s.Pods)}}
	l.s.Pools, l.s.Hosts, l.s.Nodes = append(l.s.Pools, s.Pools...), append(l.s.Hosts, s.Hosts...), append(l.s.Nodes, s.Nodes...)
	l.s.Pods, l.s.Budgets = append(l.s.Pods, s.Pods...), append(l.s.Budgets, s.Budgets...)
	return l
}

// mixed is of one cluster, or of two in a third of the cases.
func mixed(seed uint64, calm bool) *lab {
	l := seeded(seed, calm)
	if seed%3 == 0 {
		l.join(seeded(seed+1<<32, calm))
	}
	return l
}

func seeded(seed uint64, calm bool) *lab { return randomLab(rand.New(rand.NewPCG(seed, 21)), calm) }

// wider is a calm cluster of so many hosts.
func wider(seed uint64, hosts int) *lab {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 22)), l: newLab(0), calm: true}
	return m.fill(hosts)
}

// dense is a cluster in which host 0 alone may go, and a free host may come.
func dense(seed uint64) *lab {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 23)), l: newLab(0), calm: true, dense: true}
	m.fill(2 + m.IntN(4))
	m.l.s.Nodes[0].Ready = true
	for i := range m.l.s.Hosts {
		m.l.s.Hosts[i].DoNotDisrupt = i > 0
	}
	if m.rarely(2) {
		return m.l
	}
	q := &m.l.s.Pools[0]
	q.NodeLabels = map[string]string{"zone": pick(m, "a", "b"), corev1.LabelTopologyZone: pick(m, "a", "b", "c")}
	if m.rarely(4) {
		q.NodeTaints = []corev1.Taint{{Key: "gpu", Value: "a", Effect: corev1.TaintEffectNoExecute}}
	}
	s := m.l.spare(10)
	s.Capacity["cpu"], s.Capacity["gpu"] = pick[int64](m, 2000, 4000, 8000), pick[int64](m, 0, 2)
	return m.l
}

func (m *maker) pools() {
	if m.calm {
		return
	}
	p := &m.l.s.Pools[0]
	p.Kind = pick(m, disruption.PoolMachineDeployment, disruption.PoolMachineDeployment, disruption.PoolMachineSet)
	p.Scales = m.used || !m.rarely(8)
	p.Execute = !m.rarely(3)
	p.Template = pick(m, "v1-a", "v1-a", "v1-a", "v2-a", "")
	if !m.used && m.rarely(3) {
		p.HostSelector = new("size=big")
	}
	if m.rarely(6) {
		p.NodeTaints = []corev1.Taint{{Key: "gpu", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
	}
	if m.rarely(10) {
		p.NodeLabels = nil
	}
	if !m.used && m.rarely(15) {
		p.Faults = []string{"budgets: no JSON"}
	}
	m.policy(p)
	if m.rarely(2) {
		second := *p
		second.Name, second.Replicas, second.ConsolidateAfter, second.Budgets, second.Faults = "p-1", 8, nil, nil, nil
		m.l.s.Pools = append(m.l.s.Pools, second)
	}
}

func (m *maker) policy(p *disruption.Pool) {
	if m.used {
		return
	}
	if m.rarely(3) {
		p.ConsolidateAfter = new(pick(m, 0, disruption.Span(time.Minute), disruption.Never))
	}
	if m.rarely(3) {
		p.Budgets = budget.List{m.budget(), {MinReady: fmt.Sprint(m.IntN(4))}}
	}
}

func (m *maker) budget() budget.Budget {
	b := budget.Budget{Nodes: pick(m, "0", "1", "2", "3", "10%", "25%", "50%", "100%")}
	if m.rarely(4) {
		b.Schedule = pick(m, "@daily", "@hourly", "0 12 * * *", "0 12 * * 3", "30 11 25 * *", "0 0 1 1 1-5", "1,2 13 * * *")
		b.Duration = pick(m, "1m", "30m", "12h", "25h")
	}
	if m.rarely(8) {
		b.Nodes, b.MinReady = "", b.Nodes
	}
	if m.rarely(4) {
		b.Reasons = []api.PlanReason{pick(m, api.PlanEmpty, api.PlanDrifted, api.PlanUnderutilized)}
	}
	return b
}

func (m *maker) host() {
	h, n := m.l.host()
	cpu := pick[int64](m, 4000, 8000, 16_000)
	n.Allocatable["cpu"], h.Capacity["cpu"] = cpu, cpu
	n.Labels["zone"] = pick(m, "a", "a", "b")
	if !m.rarely(6) {
		n.Labels[corev1.LabelTopologyZone] = n.Labels["zone"]
	}
	watts := float64(100 * (1 + m.IntN(8)))
	h.Price.WattsBusy, h.Price.WattsIdle = &watts, &watts
	if m.rarely(6) {
		n.Taints = []corev1.Taint{{Key: "gpu", Value: "a", Effect: pick(m, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)}}
	}
	if m.rarely(6) {
		n.Allocatable[disruption.VolumesOf+"csi"] = int64(m.IntN(3))
	}
	if m.rarely(8) {
		n.Allocatable["pods"] = int64(2 + m.IntN(6))
	}
	if m.dense {
		n.Allocatable["cpu"], n.Allocatable["memory"] = pick[int64](m, 2000, 3000, 4000), pick[int64](m, 4<<30, 8<<30)
		if m.rarely(3) {
			n.Allocatable["gpu"] = pick[int64](m, 0, 1, 2)
		}
		if m.rarely(10) {
			n.Labels[hostname] = pick(m, "n-0", "n-1")
		}
		n.Ready, n.Unschedulable = !m.rarely(16), m.rarely(16)
	}
	if m.calm {
		return
	}
	if !m.used || m.rarely(4) {
		m.clock(n)
		m.price(h)
		m.drift(h)
	}
	if len(m.l.s.Pools) > 1 && m.rarely(2) {
		h.Machine.Pool = m.l.s.Pools[1].Key
	}
	h.Machine.PoolKind = m.l.s.Pools[0].Kind
	if m.rarely(3) && (!m.used || m.rarely(3)) {
		m.exclude(h, n)
	}
}

// clock puts times at the boundaries of consolidateAfter.
func (m *maker) clock(n *disruption.Node) {
	after := 30 * time.Second
	if m.rarely(2) {
		n.LastPodEvent = m.l.now.Add(-pick(m, 0, after-1, after, after+1, time.Minute, time.Hour, -time.Second))
	}
	if m.rarely(6) {
		n.FirstReady = m.l.now.Add(-pick(m, after-1, after, time.Minute))
	}
	if m.rarely(12) {
		n.FirstReady, n.Ready = time.Time{}, false
	}
}

func (m *maker) price(h *disruption.Host) {
	switch m.IntN(12) {
	case 0:
		h.Price = disruption.Price{}
	case 1:
		h.Price.WattsBusy = nil
	case 2:
		h.Price.WattsBusy, h.Price.WattsIdle = new(0.0), new(0.0)
	case 5:
		h.Price.WattsIdle = new(*h.Price.WattsBusy / 2)
	case 6:
		h.Price.WattsIdle = nil
	}
	h.Class = pick(m, "", "", "a", "b")
}

func (m *maker) drift(h *disruption.Host) {
	if m.rarely(8) {
		h.Machine.Template = pick(m, "v1-b", "v2-a", "")
	}
	if m.rarely(8) {
		field := pick(m, "image.url", "raid", "firmware.BootMode")
		h.Desired = map[string]string{field: "a", "image.checksum": "b"}
		h.Applied = map[string]string{pick(m, field, "image.checksum"): pick(m, "a", "b")}
		h.OnReboot = m.rarely(2)
	}
	h.Labels = map[string]string{"size": pick(m, "big", "big", "big", "small")}
	if m.rarely(3) {
		h.Machine.Created = m.l.now.Add(-time.Duration(m.IntN(3)) * time.Hour)
	}
}

// exclude sets something for which a host is no candidate, or no target.
func (m *maker) exclude(h *disruption.Host, n *disruption.Node) {
	for _, flag := range []*bool{
		&h.Paused, &h.Detached, &h.External, &h.Storage, &h.DoNotDisrupt, &h.Failed, &h.Deleting, &n.Unschedulable, &n.Deleting,
		&h.Machine.ControlPlane, &h.Machine.Deleting, &h.Machine.Marked, &h.Machine.Paused,
	} {
		*flag = m.rarely(13)
	}
	switch m.IntN(20) {
	case 0:
		h.State = "deprovisioning"
	case 1:
		h.Faults = []string{"watts-busy: no number"}
	case 2:
		h.Machine.Consolidatable = new(m.rarely(2))
	case 3:
		h.Machine.Pool, h.Machine.PoolKind = disruption.Key{}, ""
	case 4:
		n.Ready = false
	}
}

func (m *maker) budgets() {
	for _, app := range []string{"a", "b", "c"} {
		if !m.rarely(4) {
			continue
		}
		b := m.l.budget(app, int32(m.IntN(4)))
		b.Current = !m.rarely(8)
		b.UnhealthyPodEvictionPolicy = pick(m, "", policyv1.IfHealthyBudget, policyv1.AlwaysAllow)
		if m.rarely(8) {
			b.Selector = &metav1.LabelSelector{} // all of the namespace
		}
	}
}

func (m *maker) settings() {
	c := &m.l.c
	if m.used && !m.rarely(3) {
		return
	}
	c.ConsolidateAfter = pick(m, 0, disruption.Span(30*time.Second), disruption.Span(30*time.Second), disruption.Never)
	if m.rarely(2) {
		c.Budgets = nil
		for range 1 + m.IntN(3) {
			c.Budgets = append(c.Budgets, m.budget())
		}
	}
	if c.Budgets = append(c.Budgets, budget.Budget{MinReady: pick(m, "0", "1", "2", "20%")}); m.rarely(6) {
		c.Budgets = append(c.Budgets, budget.Budget{Nodes: "0", Reasons: []api.PlanReason{api.PlanUnderutilized}})
	}
	if m.rarely(8) {
		c.TariffPerKWh = nil
	}
}

// spares are hosts that are free, or that nobody claims.
func (m *maker) spares() {
	for range m.IntN(4) {
		h := m.l.spare(float64(50 * m.IntN(10)))
		h.Labels = map[string]string{"size": pick(m, "big", "big", "small")}
		m.price(h)
		h.State = pick(m, "available", "available", "available", "available", "provisioned", "preparing")
		if h.Failed = m.rarely(10); m.rarely(6) {
			h.Capacity = nil
		}
	}
}

func (m *maker) throttle() {
	t := &m.l.s.Throttle
	switch m.IntN(15) {
	case 0:
		t.Stale = true
	case 1:
		t.OpenBreakers, t.PausedGroups = []string{"ironic"}, []string{""}
	case 2:
		t.Waiting = 1 + m.IntN(3)
	case 3:
		t.SlotMinutes, t.Limit = 0, 1
	}
}
