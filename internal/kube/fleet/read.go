// Package fleet reads the live objects that a plan of disruptions is made of, and makes a disruption.State of them:
// BareMetalHosts with their firmware, the Machines, pools and templates of Cluster API and of its provider Metal3, and
// of each cluster that hosts are nodes of its nodes, pods, disruption budgets and volumes.
//
// It only lists, page by page, and keeps the few fields that count. What cannot be read of the throttle's own cluster is an
// error. Another cluster has a fault then, and the hosts in it have no node.
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
	// Client returns the client of a cluster, the throttle's own for the zero key.
	Client func(ctx context.Context, of disruption.Key) (client.Client, error)
	// Namespaces are where BareMetalHosts and Machines are; none: all.
	Namespaces []string
	Now        func() time.Time
}

// Reader reads the fleet. It is for one goroutine: it remembers which pods it saw last.
type Reader struct {
	options Options
	last    map[place]sight
}

// New returns a Reader. Nothing is sent yet.
func New(o Options) *Reader { return &Reader{options: o} }

// Read makes a State of what is there now. Throttle, and of hosts the conductor group, are the caller's to fill in:
// Ironic knows them. Nobody may change the maps and lists in it. An error names what could not be read.
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

// management reads hosts, and what there is of Cluster API.
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

// by finds the items of a list by what key says of them.
func by[K comparable, T any](all []T, key func(*T) K) map[K]*T {
	found := make(map[K]*T, len(all))
	for i := range all {
		found[key(&all[i])] = &all[i]
	}
	return found
}

// place is a node of a cluster, and sight which pods were seen there, by their UIDs in the order of lists.
type (
	place struct {
		cluster disruption.Key
		node    string
	}
	sight struct {
		pods    string
		changed time.Time // zero: not since the throttle began to look
	}
)

// look tells each node when a pod last came or went. Only who saw a pod before knows that it is gone: after a start, a node
// may count as quiet for longer than it was. What was seen of a cluster that was not read now is kept.
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
			if one.Node == "" || one.DaemonSet || one.Mirror { // the latter go with their node
				continue
			}
			if one.came.After(came[one.Node]) {
				came[one.Node] = one.came
			}
			if !one.Finished { // a finished one that is cleared away was gone before
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
