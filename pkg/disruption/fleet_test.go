package disruption_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/metrics"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// fleet is a large cluster: pools of 100 hosts, pods of many deployments spread over the hosts by chance, PDBs, some hosts
// that are excluded, and some free. Three in four hosts are lightly used.
func fleet(seed uint64, hosts, pods int) *lab {
	r := rand.New(rand.NewPCG(seed, 3))
	l := newLab(0)
	base := l.s.Pools[0]
	l.s.Pools, l.c.Budgets = nil, bounds("10%,ready:3")
	for i := range max(1, hosts/100) {
		base.Name, base.Replicas = fmt.Sprintf("p-%d", i), 100
		l.s.Pools = append(l.s.Pools, base)
	}
	for i := range hosts {
		h, n := l.host()
		h.Machine.Pool = l.s.Pools[i*len(l.s.Pools)/hosts].Key
		n.Allocatable = amounts("cpu " + pick(r, "32", "64", "96") + " memory 256Gi pods 110")
		n.Labels["zone"] = pick(r, "a", "b", "c")
		n.Labels[zoneLabel] = n.Labels["zone"]
		h.Price, h.Class = watts(float64(200+r.IntN(800))), pick(r, "a", "b", "")
		switch r.IntN(40) {
		case 0:
			n.Taints = []corev1.Taint{{Key: "gpu", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
		case 1:
			h.Paused = true
		case 2:
			n.Ready = false
		}
	}
	for range hosts / 50 {
		l.spare(float64(100 + r.IntN(400)))
	}
	for i := range pods {
		node := r.IntN(hosts)
		if r.IntN(4) > 0 {
			node = r.IntN(max(1, hosts/4)) // a quarter of the hosts has most pods
		}
		p := l.pod(fmt.Sprintf("p-%d", i), node, pick(r, "100m", "250m", "500m", "1"))
		app := map[string]string{"app": fmt.Sprintf("app-%d", r.IntN(800))}
		p.Labels, p.DoNotDisrupt = maps.Clone(app), r.IntN(300) == 0
		if r.IntN(4) == 0 { // of a StatefulSet
			p.Labels["statefulset.kubernetes.io/pod-name"] = p.Name
		}
		own := corev1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: app}, TopologyKey: hostname}
		switch r.IntN(40) {
		case 0:
			p.NodeSelector = map[string]string{"zone": pick(r, "a", "b", "c")}
		case 1:
			p.AntiAffinity = []corev1.PodAffinityTerm{own}
		case 2:
			p.Requests[disruption.VolumesOf+"csi"], p.Volumes = 1, []*corev1.NodeSelector{inZone(corev1.NodeSelectorOpIn, pick(r, "a", "b", "c"))}
		case 3, 4, 5, 6:
			p.DaemonSet = true
		case 7, 8, 9, 10:
			p.Spread = spreadOf(app, pick(r, hostname, zoneLabel), 5)
		case 11:
			own.TopologyKey = zoneLabel
			p.Affinity = []corev1.PodAffinityTerm{own}
		}
	}
	for i := range 200 {
		b := l.budget(fmt.Sprintf("app-%d", i), int32(1+r.IntN(5)))
		b.Name = fmt.Sprintf("pdb-%d", i)
	}
	return l
}

func spreadOf(labels map[string]string, topology string, skew int32) []corev1.TopologySpreadConstraint {
	return []corev1.TopologySpreadConstraint{{
		MaxSkew: skew, TopologyKey: topology, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
	}}
}

// TestPlansOfAFleet has plans of a fleet judged, one after the other as they are carried out.
func TestPlansOfAFleet(t *testing.T) {
	hosts, pods, passes := 400, 8000, 2
	if testing.Short() {
		hosts, pods, passes = 100, 2000, 1
	}
	l := fleet(1, hosts, pods)
	acted := 0
	for range passes {
		p := l.plan(t)
		acted += len(p.Actions)
		t.Logf("%s: %d actions, %d later", p.Method, len(p.Actions), len(p.Later))
		l.carryOut(p)
	}
	if acted == 0 {
		t.Error("a fleet of which three in four hosts are lightly used has nothing to do")
	}
}

// TestACancelledPlan, explanation or validation ends with its context.
func TestACancelledPlan(t *testing.T) {
	l := fleet(1, 40, 400)
	p := l.plan(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, planErr := disruption.Plan(ctx, &l.s, l.c, l.now)
	_, _, explainErr := disruption.Explain(ctx, &l.s, l.c, l.now, key("h-0"))
	for _, err := range []error{planErr, explainErr, disruption.Validate(ctx, p, &l.s, l.c, p.ExecuteAfter)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
	}
}

// BenchmarkPlanFleet plans 1,000 hosts and 20,000 pods in two clusters of which none is empty, under budgets that let 100 go
// at once: the work is the search for what goes together. peak-MiB is the largest heap that was seen meanwhile, with the
// state itself.
func BenchmarkPlanFleet(b *testing.B) {
	l := fleet(1, 500, 10000).join(fleet(2, 500, 10000))
	for range 10 {
		p := planned(b, &l.s, l.c, l.now)
		if p.Method != api.MethodEmptiness {
			break
		}
		l.carryOut(p)
	}
	l.c.Budgets = bounds("100%,ready:0")
	stop, peak := make(chan struct{}), make(chan uint64)
	go watchHeap(stop, peak)
	hosts := 0
	for b.Loop() {
		p, err := disruption.Plan(b.Context(), &l.s, l.c, l.now)
		if err != nil {
			b.Fatal(err)
		}
		hosts = len(released(p))
	}
	close(stop)
	b.ReportMetric(float64(<-peak)/(1<<20), "peak-MiB")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/plan")
	b.ReportMetric(float64(hosts), "hosts")
}

// watchHeap looks at what the heap has every few milliseconds.
func watchHeap(stop <-chan struct{}, peak chan<- uint64) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	most := uint64(0)
	for {
		metrics.Read(sample)
		most = max(most, sample[0].Value.Uint64())
		select {
		case <-stop:
			peak <- most
			return
		case <-tick.C:
		}
	}
}
