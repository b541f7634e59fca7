package fleet

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// Clusters has the client of each Kubernetes cluster.
type Clusters interface {
	// Client returns the client of a cluster, the throttle's own for the zero key.
	Client(ctx context.Context, of disruption.Key) (client.Client, error)
	// Answered notes how requests to a cluster ended, and returns what is to be said of an error.
	Answered(of disruption.Key, err error) error
	// Keep forgets all clusters but these.
	Keep(used []disruption.Key)
}

// Options say what to read. Clusters is required.
type Options struct {
	Clusters Clusters
	// Namespaces are where BareMetalHosts and Machines are; none: all.
	Namespaces []string
	Now        func() time.Time // nil: time.Now
}

// Reader reads the fleet. It is for one goroutine: it remembers the pods that it saw last.
type Reader struct {
	options Options
	seen    map[disruption.Key]*sightings // by cluster
}

// New returns a Reader. Nothing is sent yet.
func New(o Options) *Reader {
	if o.Now == nil {
		o.Now = time.Now
	}
	if len(o.Namespaces) == 0 {
		o.Namespaces = []string{metav1.NamespaceAll}
	}
	return &Reader{options: o}
}

// Read makes a State of what is there now. Throttle, and of hosts the conductor group, are the caller's to fill in: Ironic
// knows them. Nobody may change the maps and lists in it. An error names what could not be read.
func (r *Reader) Read(ctx context.Context) (disruption.State, error) {
	s := disruption.State{TakenAt: r.options.Now().UTC()}
	c, err := r.options.Clusters.Client(ctx, disruption.Key{})
	if err != nil {
		return s, err
	}
	own := &server{Client: c, account: "the throttle's account (component planner)"}
	j := r.management(ctx, own)
	parts := r.clusters(ctx, own, j)
	if own.err != nil {
		return disruption.State{}, own.err
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
func (r *Reader) management(ctx context.Context, own *server) *join {
	const capi, infra = objects.MachineGroup, objects.InfrastructureGroup
	hosts := custom(ctx, r, own, objects.Metal3.Group, "BareMetalHost", &objects.HostList{}, newHost)
	r.firmware(ctx, own, hosts)
	return newJoin(hosts,
		custom(ctx, r, own, capi, "Machine", &objects.MachineList{}, whole[*objects.Machine]),
		custom(ctx, r, own, infra, "Metal3Machine", &objects.Metal3MachineList{}, whole[*objects.Metal3Machine]),
		custom(ctx, r, own, capi, "MachineSet", &objects.OwnerList{}, newPool(disruption.PoolMachineSet)),
		custom(ctx, r, own, capi, "MachineDeployment", &objects.OwnerList{}, newPool(disruption.PoolMachineDeployment)),
		custom(ctx, r, own, infra, "Metal3MachineTemplate", &objects.TemplateList{}, whole[*objects.Template]))
}

// whole keeps an object as it is.
func whole[T any](of T) T { return of }

// custom lists a custom resource in the first version that is served. A kind that is not served is as if it had no objects.
func custom[T client.Object, K any](
	ctx context.Context, r *Reader, own *server, group, kind string, empty client.ObjectList, keep func(T) K,
) (all []K) {
	versions := objects.Versions
	if group == objects.Metal3.Group {
		versions = []string{objects.Metal3.Version}
	}
	for _, version := range versions {
		objects.As(empty, objects.ListOf(schema.GroupVersionKind{Group: group, Version: version, Kind: kind}))
		try := *own
		all = nil
		for _, namespace := range r.options.Namespaces {
			all = append(all, list(ctx, &try, empty, keep, client.Limit(hostsPage), client.InNamespace(namespace))...)
		}
		if !apierrors.IsNotFound(try.err) {
			own.err = try.err
			return all
		}
	}
	return nil
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
