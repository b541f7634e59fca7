package disrupt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errAway   = errors.New("the API server is away")
	errKilled = errors.New("the process is dead")
)

// world is a cluster that Cluster API and BMO look after, as they do: what is only deleted is
// made anew, an owner that gets smaller deletes the Machine that is marked.
type world struct {
	now      time.Time
	version  int
	hosts    map[string]*Host
	machines map[string]*Machine
	nodes    map[string]*Node
	pods     map[string]*Pod
	podNode  map[string]string
	guarded  map[string]bool // pods that a budget protects
	owner    *Owner          // nil: there is none
	wayward  bool            // Cluster API deletes another Machine than the marked one
	slow     bool            // … deletes nothing
	torn     bool            // what is read together is not of one time
	away     int             // so many reads fail
	notices  []string
	writes   []Write
	gone     []string // Machines
	lost     []string // pods that went with their node
	made     int

	// hook sees each write: it may forbid or fail it, before or after it takes effect.
	hook func(w Write, apply func() error) error
}

const poolName = "metal3/workers"

var pool = Pool{Kind: disruption.PoolMachineDeployment, Key: disruption.Key{Namespace: "metal3", Name: "workers"}}

// newWorld has n hosts in service and some that are free.
func newWorld(n, free int) *world {
	w := &world{
		now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), hosts: map[string]*Host{}, machines: map[string]*Machine{},
		nodes: map[string]*Node{}, pods: map[string]*Pod{}, podNode: map[string]string{}, guarded: map[string]bool{},
	}
	w.owner = &Owner{Object: w.object(KindMachineDeployment, "metal3", "workers"), Replicas: n, Execute: true}
	for i := range n + free {
		h := &Host{Object: w.object(KindHost, "metal3", fmt.Sprintf("host-%d", i)), State: "available", Online: true}
		w.hosts[h.Name] = h
		if i < n {
			w.machine(w.now.Add(-24 * time.Hour))
			w.claim()
			w.deploy()
		}
	}
	return w
}

func (w *world) object(kind Kind, ns, name string) Object {
	w.version++
	return Object{
		Kind: kind, Key: disruption.Key{Namespace: ns, Name: name}, UID: "uid-" + strconv.Itoa(w.version),
		Version: strconv.Itoa(w.version), Created: w.now,
	}
}

func (w *world) bump(o *Object) {
	w.version++
	o.Version = strconv.Itoa(w.version)
}

func (w *world) machine(created time.Time) {
	m := &Machine{Object: w.object(KindMachine, "metal3", fmt.Sprintf("machine-%d", w.made)), Owner: pool}
	m.Created = created
	m.Infrastructure = "Metal3Machine " + m.Key.String()
	w.machines[m.Name] = m
	w.made++
}

// claim gives Machines without host a free one.
func (w *world) claim() {
	for _, m := range w.sorted() {
		if m.Host != "" || m.Deleting {
			continue
		}
		for _, name := range sortedKeys(w.hosts) {
			if h := w.hosts[name]; h.free() {
				h.Consumer, h.State, h.Online = m.Infrastructure, "provisioning", true
				m.Host = h.Key.String()
				w.bump(&h.Object)
				w.bump(&m.Object)
				break
			}
		}
	}
}

// deploy ends what is being provisioned.
func (w *world) deploy() {
	for _, m := range w.sorted() {
		for _, h := range w.hosts {
			if h.State == "provisioning" && h.Consumer == m.Infrastructure {
				h.State = "provisioned"
				w.bump(&h.Object)
				n := &Node{Object: w.object(KindNode, "", "node-of-"+m.Name)}
				w.nodes[n.Name] = n
				m.Node, m.Ready = n.Name, true
				w.bump(&m.Object)
			}
		}
	}
}

func (w *world) sorted() (all []*Machine) {
	for _, name := range sortedKeys(w.machines) {
		all = append(all, w.machines[name])
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// turn lets the controllers work for a while.
func (w *world) turn() {
	w.now = w.now.Add(every)
	for name, p := range w.pods { // evicted pods end
		if p.Deleting {
			delete(w.pods, name)
		}
	}
	for _, m := range w.sorted() {
		if m.Deleting {
			w.goes(m)
		}
	}
	w.deploy()
	w.claim()
	w.scale()
}

// goes brings the deletion of a Machine on by one stage.
func (w *world) goes(m *Machine) {
	for _, h := range w.hosts {
		if h.Consumer != m.Infrastructure {
			continue
		}
		w.bump(&h.Object)
		if h.State != "deprovisioning" {
			h.State = "deprovisioning"
			return
		}
		h.State, h.Consumer = "available", ""
		break
	}
	for name := range w.pods {
		if w.podNode[name] == m.Node {
			w.lost = append(w.lost, name)
			delete(w.pods, name)
		}
	}
	delete(w.nodes, m.Node)
	delete(w.machines, m.Name)
	w.gone = append(w.gone, m.Name)
}

// scale makes or deletes Machines of the owner.
func (w *world) scale() {
	if w.owner == nil || w.slow {
		return
	}
	var alive []*Machine
	for _, m := range w.sorted() {
		if m.Owner == pool && !m.Deleting {
			alive = append(alive, m)
		}
	}
	for range w.owner.Replicas - len(alive) {
		w.machine(w.now)
	}
	slices.SortStableFunc(alive, func(a, b *Machine) int {
		if a.Marked != b.Marked && a.Marked != w.wayward {
			return -1
		} else if a.Marked != b.Marked {
			return 1
		}
		return 0
	})
	for i := range len(alive) - w.owner.Replicas {
		alive[i].Deleting = true
		w.bump(&alive[i].Object)
	}
}

func (w *world) fails() bool {
	w.away--
	return w.away >= 0
}

// Marks implements Cluster.
func (w *world) Marks(context.Context) (m Marks, err error) {
	if w.fails() {
		return m, errAway
	}
	for _, name := range sortedKeys(w.hosts) {
		if h := w.hosts[name]; h.Label != "" {
			m.Hosts = append(m.Hosts, *h)
		}
	}
	for _, x := range w.sorted() {
		if x.Label != "" {
			m.Machines = append(m.Machines, *x)
		}
	}
	if w.owner != nil && w.owner.Label != "" {
		m.Owners = append(m.Owners, *w.owner)
	}
	for _, name := range sortedKeys(w.nodes) {
		if n := w.nodes[name]; n.Label != "" {
			m.Nodes = append(m.Nodes, *n)
		}
	}
	return m, nil
}

// Look implements Cluster.
func (w *world) Look(_ context.Context, c Command) (*Seen, error) {
	if w.fails() {
		return nil, errAway
	}
	s := &Seen{}
	for _, t := range c.Targets {
		var h Host
		var m Machine
		var n Node
		if x := w.hosts[t.Host.Name]; x != nil {
			h = *x
		}
		if x := w.machines[t.Machine.Name]; x != nil {
			m = *x
		}
		if x := w.nodes[t.Node]; x != nil {
			n = *x
		}
		s.Hosts, s.Machines, s.Nodes = append(s.Hosts, h), append(s.Machines, m), append(s.Nodes, n)
	}
	if x := w.hosts[c.Replacement.Name]; x != nil {
		s.Spare = *x
	}
	if w.torn {
		w.turn()
	}
	if w.owner != nil && c.Pool == pool {
		s.Owner = *w.owner
		for _, m := range w.sorted() {
			if m.Owner == pool {
				s.Members = append(s.Members, *m)
			}
		}
	}
	if !c.Drains() {
		return s, nil
	}
	s.PodsOf = c.target().Node
	for _, name := range sortedKeys(w.pods) {
		if w.podNode[name] == s.PodsOf {
			s.Pods = append(s.Pods, *w.pods[name])
		}
	}
	return s, nil
}

// Tell implements Cluster.
func (w *world) Tell(_ context.Context, o Object, n Notice) error {
	w.notices = append(w.notices, fmt.Sprintf("%s %s %s", o.Kind, n.Reason, n.Message))
	return nil
}
