// Package planstate makes states for plans of planned work: a small one that people can read, and
// fleets of any size. The same arguments make the same state.
package planstate

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// Namespace has all hosts and machines.
const Namespace = "metal3"

// TakenAt is when every state was taken.
var TakenAt = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// hosted is what a host of ours is like.
type hosted struct {
	pool                  string
	number                int
	cpus, watts           int
	checksum              string        // of the image that it has
	quiet                 time.Duration // since a pod came or went
	driftedFor            time.Duration
	controlPlane, storage bool
}

// maker puts a state together.
type maker struct {
	state disruption.State
	pods  int
	in    disruption.Key // the cluster of nodes and pods to come
}

// wanted is the image that every pool wants.
const wanted = "sha256:5b1c"

func newMaker() *maker {
	return &maker{state: disruption.State{
		TakenAt:  TakenAt,
		Throttle: disruption.Throttle{Limit: 20, ReleaseMinutes: 35, DeployMinutes: 25},
	}}
}

// document is the state with settings that let hosts be consolidated.
func (m *maker) document() *disruption.Document {
	c, tariff := disruption.Default(), 0.28
	c.ConsolidateAfter, c.TariffPerKWh = disruption.Span(30*time.Minute), &tariff
	return &disruption.Document{Version: 1, Config: c, State: m.state}
}

// pool adds a MachineDeployment.
func (m *maker) pool(name string, replicas int) {
	pool := disruption.Pool{
		Key: key(name), Kind: disruption.PoolMachineDeployment, Replicas: replicas, Scales: true, TemplateHash: "v1-7f9c",
		NodeLabels: map[string]string{"pool": name},
	}
	made(&pool.HostSelector).MatchLabels = map[string]string{"pool": name}
	m.state.Pools = append(m.state.Pools, pool)
}

// made lets p point to something new.
func made[T any](p **T) *T {
	*p = new(T)
	return *p
}

func key(name string) disruption.Key { return disruption.Key{Namespace: Namespace, Name: name} }

// host adds a host with its Machine and its Node, and returns the name of the Node.
func (m *maker) host(h hosted) string {
	name, node := fmt.Sprintf("%s-%d", h.pool, h.number), fmt.Sprintf("node-%s-%d", h.pool, h.number)
	machine := fmt.Sprintf("%s-7f9c-%d", h.pool, h.number)
	busy, idle := float64(h.watts), float64(h.watts)/2
	one := disruption.Host{
		Key: key(name), NodeUUID: fmt.Sprintf("%08x-0000-4000-8000-%012x", len(m.state.Hosts)+1, len(m.state.Hosts)+1),
		State: "provisioned", Online: true, PoweredOn: true, Consumer: "Metal3Machine " + Namespace + "/" + machine,
		Labels: map[string]string{"pool": h.pool}, Class: fmt.Sprintf("c%d", h.cpus), Price: disruption.Price{WattsBusy: &busy, WattsIdle: &idle},
		Storage: h.storage, Capacity: room(h.cpus), Cluster: m.in, Node: node,
		Machine: &disruption.Machine{Key: key(machine), Pool: key(h.pool), PoolKind: disruption.PoolMachineDeployment, TemplateHash: "v1-7f9c", ControlPlane: h.controlPlane},
		Desired: map[string]string{"image.checksum": wanted}, Applied: map[string]string{"image.checksum": wanted},
		Created: TakenAt.Add(-90 * 24 * time.Hour),
	}
	if h.checksum != "" {
		one.Applied["image.checksum"] = h.checksum
		one.DriftedSince = TakenAt.Add(-h.driftedFor)
	}
	m.state.Hosts = append(m.state.Hosts, one)
	m.state.Nodes = append(m.state.Nodes, disruption.Node{
		Cluster: m.in, Name: node, Labels: map[string]string{"kubernetes.io/hostname": node, "pool": h.pool}, Allocatable: room(h.cpus), Ready: true,
		ControlPlane: h.controlPlane, FirstReady: TakenAt.Add(-60 * 24 * time.Hour), LastPodEvent: TakenAt.Add(-h.quiet),
	})
	m.pod(proxy(), node)
	return node
}

// proxy is a pod of the DaemonSet that every cluster has.
func proxy() disruption.Pod {
	return disruption.Pod{
		Key: disruption.Key{Namespace: "kube-system", Name: "proxy"}, Owner: "DaemonSet/proxy", DaemonSet: true, Requests: disruption.Resources{"cpu": "100m"},
	}
}

// cluster begins with a cluster: nodes and pods to come are of it.
func (m *maker) cluster(k disruption.Key) {
	m.in = k
	set := proxy()
	set.Cluster = k
	m.state.DaemonSets = append(m.state.DaemonSets, set)
}

// room is what a node of so many CPUs can allocate.
func room(cpus int) disruption.Resources {
	return disruption.Resources{"cpu": fmt.Sprint(cpus), "memory": fmt.Sprintf("%dGi", 4*cpus), "pods": "110"}
}

// pod adds one to a node; its name gets a number.
func (m *maker) pod(p disruption.Pod, node string) {
	p.Cluster, p.Name, p.Node, p.Ready = m.in, fmt.Sprintf("%s-%d", p.Name, m.pods), node, true
	m.pods++
	m.state.Pods = append(m.state.Pods, p)
}

// app adds a pod of a ReplicaSet.
func (m *maker) app(name, node string, cpus, gib int) {
	m.pod(disruption.Pod{
		Key: disruption.Key{Namespace: "shop", Name: name}, Labels: map[string]string{"app": name}, Owner: "ReplicaSet/" + name,
		Requests: disruption.Resources{"cpu": fmt.Sprint(cpus), "memory": fmt.Sprintf("%dGi", gib)},
	}, node)
}

// Small is six hosts: two that are well used, an empty one, one that has drifted, one that is under-used,
// and one that nobody claims.
func Small() *disruption.Document {
	m := newMaker()
	m.cluster(disruption.Key{})
	m.pool("worker", 5)
	for n := 1; n <= 2; n++ {
		node := m.host(hosted{pool: "worker", number: n, cpus: 32, watts: 420, quiet: 3 * time.Hour})
		m.app("cart", node, 10, 24)
		m.app("search", node, 8, 32)
	}
	m.host(hosted{pool: "worker", number: 3, cpus: 32, watts: 420, quiet: 2 * time.Hour})
	drifted := m.host(hosted{pool: "worker", number: 4, cpus: 32, watts: 420, quiet: 10 * time.Hour, checksum: "sha256:09ae", driftedFor: 26 * time.Hour})
	m.app("cart", drifted, 4, 8)
	under := m.host(hosted{pool: "worker", number: 5, cpus: 32, watts: 420, quiet: 90 * time.Minute})
	m.app("mail", under, 2, 4)
	watts, idle := 420.0, 210.0
	m.state.Hosts = append(m.state.Hosts, disruption.Host{
		Key: key("worker-6"), State: "provisioned", Online: true, PoweredOn: true, Labels: map[string]string{"pool": "worker"}, Class: "c32",
		Price: disruption.Price{WattsBusy: &watts, WattsIdle: &idle}, Capacity: room(32), Created: TakenAt.Add(-200 * 24 * time.Hour),
	})
	return m.document()
}

// perPool is how many hosts a pool of a fleet has at most.
const perPool = 50

// Fleet is of so many hosts, each with about so many pods, in pools of 50 that two workload clusters have: a tenth is
// empty, a tenth has drifted, a fifth is under-used, and a few are never touched.
func Fleet(hosts, podsPerHost int, seed uint64) *disruption.Document {
	m, r := newMaker(), rand.New(rand.NewPCG(seed, 21))
	clusters := []string{"east", "west"}
	for first := 0; first < hosts; first += perPool {
		size := min(perPool, hosts-first)
		pool := fmt.Sprintf("pool-%d", first/perPool)
		if m.in = key(clusters[first/perPool%2]); first/perPool < 2 {
			m.cluster(m.in)
		}
		m.pool(pool, size)
		for n := range size {
			h := hosted{pool: pool, number: n, cpus: 32, watts: 350 + 10*r.IntN(20), quiet: time.Duration(1+r.IntN(600)) * time.Minute}
			pods := podsPerHost/2 + r.IntN(podsPerHost+1)
			switch n % 10 {
			case 0:
				pods = 0
			case 1:
				h.checksum, h.driftedFor = "sha256:09ae", time.Duration(1+r.IntN(500))*time.Hour
			case 2, 3:
				pods = 1 + r.IntN(2)
			case 4:
				h.storage = n == 4
			}
			node := m.host(h)
			for i := range pods {
				m.pod(disruption.Pod{
					Key: disruption.Key{Namespace: "shop", Name: fmt.Sprintf("app-%d", i)}, Labels: map[string]string{"app": fmt.Sprintf("app-%d", i)},
					Owner:    fmt.Sprintf("ReplicaSet/app-%d", i),
					Requests: disruption.Resources{"cpu": fmt.Sprintf("%dm", 200+100*r.IntN(8)), "memory": fmt.Sprintf("%dMi", 512*(1+r.IntN(6)))},
				}, node)
			}
		}
	}
	for _, name := range clusters {
		c := disruption.Cluster{Key: key(name)}
		for i := range m.state.Nodes {
			if m.state.Nodes[i].Cluster == c.Key {
				c.Nodes++
			}
		}
		for i := range m.state.Pods {
			if m.state.Pods[i].Cluster == c.Key {
				c.Pods++
			}
		}
		if c.Nodes > 0 {
			m.state.Clusters = append(m.state.Clusters, c)
		}
	}
	return m.document()
}
