package disruption

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fitFleet is a fleet of nodes and pods as Deployments make them: most want CPU and memory alone, a tenth does not
// want its like beside it, a tenth selects nodes, and one pod in a hundred waits.
func fitFleet(rng *rand.Rand, nodes, pods int) *State {
	s := &State{}
	for i := range nodes {
		s.Nodes = append(s.Nodes, fitNodeOf(fmt.Sprintf("node-%04d", i), fitZone(fmt.Sprint(i%3)), func(n *Node) {
			n.Allocatable = Resources{"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "400Gi"}
		}))
	}
	free := make([]int, nodes)
	for i := range pods {
		app := rng.IntN(max(pods/40, 1))
		size := 250 * (1 + app%8)
		n := rng.IntN(nodes)
		for free[n]+size > 30000 {
			n = (n + 1) % nodes
		}
		p := Pod{
			Key: Key{Namespace: fmt.Sprintf("team-%02d", app%50), Name: fmt.Sprintf("app-%d-%05d", app, i)}, Node: s.Nodes[n].Name,
			Owner: fmt.Sprintf("ReplicaSet/app-%d", app), Ready: true,
			Labels:   map[string]string{"app": fmt.Sprint(app), "pod": fmt.Sprint(i)},
			Requests: Resources{"cpu": fmt.Sprintf("%dm", size), "memory": fmt.Sprintf("%dMi", size*3)},
		}
		switch app % 10 {
		case 0:
			p.AntiAffinity = []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint(app)}},
			}}
		case 1:
			p.NodeSelector = map[string]string{"zone": fmt.Sprint(n % 3)}
		}
		if i%100 == 99 {
			p.Node = ""
		} else {
			free[n] += size
		}
		s.Pods = append(s.Pods, p)
	}
	for i := range max(pods/40, 1) {
		s.Budgets = append(s.Budgets, PodBudget{
			Key: Key{Namespace: fmt.Sprintf("team-%02d", i%50), Name: fmt.Sprintf("app-%d", i)}, Allowed: 1000, Current: true,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint(i)}},
		})
	}
	return s
}

func BenchmarkNewSimulator(b *testing.B) {
	s := fitFleet(rand.New(rand.NewPCG(1, 1)), 1000, 20_000)
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var c fleetSim
	for b.Loop() {
		var err error
		if c, err = newSimulator(context.Background(), s, nil); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-kept")
	runtime.KeepAlive(c)
}

func BenchmarkWithout(b *testing.B) {
	s := fitFleet(rand.New(rand.NewPCG(1, 1)), 1000, 20_000)
	c, err := newSimulator(context.Background(), s, nil)
	if err != nil {
		b.Fatal(err)
	}
	spare := fitNodeOf("spare")
	for _, n := range []int{1, 10, 100, 500} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			moved, calls := 0, 0
			for b.Loop() {
				p, err := c.without(context.Background(), fitSome(s, calls, n), &spare)
				if err != nil {
					b.Fatal(err)
				}
				moved += len(p.moves)
				calls++
			}
			b.ReportMetric(float64(moved)/float64(calls), "moves/op")
		})
	}
}

// fitSome are n nodes of the state.
func fitSome(s *State, from, n int) []*Node {
	some := make([]*Node, n)
	for i := range some {
		some[i] = &s.Nodes[(from*17+i)%len(s.Nodes)]
	}
	return some
}

// BenchmarkPlan is what a plan asks: prefixes of 100 candidates, halved, twice, and each of 1,000 nodes alone. In a full fleet
// nearly every answer is no, after a long search.
func BenchmarkPlan(b *testing.B) {
	s := fitFleet(rand.New(rand.NewPCG(1, 1)), 1000, 20_000)
	b.Run("room", func(b *testing.B) { fitPlan(b, s) })
	full := fitFleet(rand.New(rand.NewPCG(1, 1)), 1000, 20_000)
	used := map[string]int64{}
	for i := range full.Pods {
		p := &full.Pods[i]
		used[p.Node] += mustCPU(p)
	}
	for i := range full.Nodes { // a little is left everywhere
		full.Nodes[i].Allocatable["cpu"] = fmt.Sprintf("%dm", used[full.Nodes[i].Name]+20+int64(i%8)*300)
	}
	b.Run("full", func(b *testing.B) { fitPlan(b, full) })
}

func fitPlan(b *testing.B, s *State) {
	spare := fitNodeOf("spare", func(n *Node) { n.Allocatable = Resources{"cpu": "8", "memory": "32Gi", "pods": "110"} })
	for b.Loop() {
		c, err := newSimulator(context.Background(), s, nil)
		if err != nil {
			b.Fatal(err)
		}
		found := 0
		for _, with := range []*Node{nil, &spare} {
			for n := 100; n > 0; n /= 2 {
				p, err := c.without(b.Context(), fitSome(s, n, n), with)
				if err != nil {
					b.Fatal(err)
				}
				found += len(p.moves)
			}
			for i := range s.Nodes {
				p, err := c.without(b.Context(), fitSome(s, i, 1), with)
				if err != nil {
					b.Fatal(err)
				}
				found += len(p.moves)
			}
		}
		b.ReportMetric(float64(found), "moves")
	}
}

func mustCPU(p *Pod) int64 { n, _ := quantity("cpu", p.Requests["cpu"]); return n }
