package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// Options say what to read.
type Options struct {
	// Namespaces are where BareMetalHosts and machines are; none: all.
	Namespaces []string
}

// Reader reads the fleet. It is for one goroutine: it remembers the pods that it saw last.
type Reader struct {
	options Options
	client  *client
	seen    sightings
	now     func() time.Time
}

// New checks what it is given. Nothing is sent yet.
func New(config *rest.Config, o Options) (*Reader, error) {
	if config == nil {
		return nil, errors.New("IRONIC_THROTTLE_DISRUPTION: a cluster must be known (IRONIC_THROTTLE_KUBERNETES=on)")
	}
	c, err := newClient(config, o.Namespaces)
	if err != nil {
		return nil, fmt.Errorf("IRONIC_THROTTLE_DISRUPTION: %w", err)
	}
	return &Reader{options: o, client: c, now: time.Now}, nil
}

// Read makes a State of what is there now. Throttle, and of hosts the conductor group, are the
// caller's to fill in: Ironic knows them. Maps and lists of the State are shared among its
// objects, so nobody may change one. An error names what could not be read.
func (r *Reader) Read(ctx context.Context) (disruption.State, error) {
	p := newShared()
	s := disruption.State{TakenAt: r.now().UTC()}
	hosts, err := r.hosts(ctx, p)
	if err != nil {
		return disruption.State{}, err
	}
	machines, err := r.clusterAPI(ctx)
	if err != nil {
		return disruption.State{}, err
	}
	nodes, err := r.nodes(ctx, p)
	if err != nil {
		return disruption.State{}, err
	}
	pods, err := r.pods(ctx, p)
	if err != nil {
		return disruption.State{}, err
	}
	if err := r.volumes(ctx, pods, nodes, p); err != nil {
		return disruption.State{}, err
	}
	if s.Budgets, err = r.budgets(ctx); err != nil {
		return disruption.State{}, err
	}
	r.seen.look(nodes, pods, s.TakenAt)
	j := newJoin(r.options, hosts, machines, nodes)
	j.hosts()
	s.Pools = j.pools()
	for i := range hosts {
		s.Hosts = append(s.Hosts, hosts[i].Host)
	}
	for i := range nodes {
		s.Nodes = append(s.Nodes, nodes[i].Node)
	}
	s.Pods = make([]disruption.Pod, 0, len(pods))
	for i := range pods {
		s.Pods = append(s.Pods, pods[i].Pod)
	}
	return s, nil
}
