// Package fleet reads the objects for a plan of disruptions, and returns them as a disruption.State: BareMetalHosts and
// their firmware; the Machines, pools and templates of Cluster API and of its provider Metal3; and the nodes, pods,
// disruption budgets and volumes of each cluster whose nodes run on our hosts.
//
// It only lists, page by page, and keeps the few fields that count. It fails if it cannot read the throttle's own
// cluster. A workload cluster that it cannot read has a fault instead, and its hosts have no node.
package fleet

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// Options say what to read. Client and Now are required.
type Options struct {
	// Client returns the client of a cluster; the zero key is the throttle's own.
	Client func(ctx context.Context, cluster disruption.Key) (client.Client, error)
	// Namespaces are those of BareMetalHosts and Machines; none: all.
	Namespaces []string
	Now        func() time.Time
}

// Reader reads the fleet. It is for one goroutine: it remembers which pods it saw last.
type Reader struct {
	options Options
	last    map[place]sight
}

// New returns a Reader. It sends nothing yet.
func New(o Options) *Reader { return &Reader{options: o} }

// Read returns the present State. The caller fills in Throttle and the conductor groups of hosts, which Ironic knows.
// Nobody may change the maps and lists in it. An error names what Read could not read.
func (r *Reader) Read(ctx context.Context) (disruption.State, error) {
	s := disruption.State{TakenAt: r.options.Now().UTC()}
	c, err := r.options.Client(ctx, disruption.Key{})
	if err != nil {
		return s, err
	}
	own := &objects.Server{Client: c, Account: "the throttle's account (component planner)"}
	j := r.management(ctx, own)
	parts := r.clusters(ctx, own, j)
	if own.Err != nil {
		return disruption.State{}, own.Err
	}
	r.look(parts, s.TakenAt)
	for _, p := range parts {
		p.add(&s)
	}
	capacities(j.hosts)
	for i := range j.hosts {
		j.hosts[i].image()
		s.Hosts = append(s.Hosts, j.hosts[i].Host)
	}
	s.Pools = j.pools()
	return s, nil
}

// management reads hosts and the objects of Cluster API.
func (r *Reader) management(ctx context.Context, own *objects.Server) *join {
	hosts := all(ctx, r, own, "BareMetalHost", newHost)
	r.firmware(ctx, own, hosts)
	return newJoin(hosts,
		all(ctx, r, own, "Machine", objects.Whole[*objects.Machine]),
		all(ctx, r, own, "Metal3Machine", objects.Whole[*objects.Metal3Machine]),
		slices.Concat(all(ctx, r, own, "MachineDeployment", newPool), all(ctx, r, own, "MachineSet", newPool)),
		all(ctx, r, own, "Metal3MachineTemplate", objects.Whole[*objects.Template]))
}

// all lists a kind in the namespaces of hosts and Machines.
func all[T client.Object, K any](ctx context.Context, r *Reader, own *objects.Server, kind string, keep func(T) K) []K {
	return objects.AllIn(ctx, own, r.options.Namespaces, kind, keep)
}

func keyOf(o metav1.Object) disruption.Key {
	return disruption.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func has(m map[string]string, key string) bool { _, ok := m[key]; return ok }

// by returns the items of a list by their keys.
func by[K comparable, T any](all []T, key func(*T) K) map[K]*T {
	found := make(map[K]*T, len(all))
	for i := range all {
		found[key(&all[i])] = &all[i]
	}
	return found
}

// place is a node of a cluster. sight is which pods the Reader saw there last: their UIDs, in the order of the list.
type (
	place struct {
		cluster disruption.Key
		node    string
	}
	sight struct {
		pods    string
		changed time.Time // zero: not since the first Read
	}
)

// look fills in when a pod last came to or left each node. It sees that a pod has left only if it saw the pod before:
// after a start, a node may count as quiet for too long. It keeps what it saw of a cluster that could not be read now.
func (r *Reader) look(parts []*part, now time.Time) {
	seen := map[place]sight{}
	for _, p := range parts {
		if !p.whole {
			for at, was := range r.last {
				if at.cluster == p.Key {
					seen[at] = was
				}
			}
			continue
		}
		came, pods := map[string]time.Time{}, map[string]string{}
		for i := range p.pods {
			one := &p.pods[i]
			if one.Node == "" || one.DaemonSet || one.Mirror { // these two stay as long as their node
				continue
			}
			if one.came.After(came[one.Node]) {
				came[one.Node] = one.came
			}
			if !one.Finished { // a finished pod has left already, before somebody deletes it
				pods[one.Node] += string(one.uid) + " "
			}
		}
		for i := range p.nodes {
			n := &p.nodes[i]
			at := place{p.Key, n.Name}
			was, known := r.last[at]
			if known && was.pods != pods[n.Name] {
				was.changed = now
			}
			seen[at] = sight{pods[n.Name], was.changed}
			if n.LastPodEvent = came[n.Name]; was.changed.After(n.LastPodEvent) {
				n.LastPodEvent = was.changed
			}
		}
	}
	r.last = seen
}
