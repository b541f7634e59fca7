package leader

import (
	"context"

	v1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/bound"
)

// newClient returns a way to Leases on which each request is sent once, at once. The
// election asks again by itself; a client that did so too, or waited for its turn, would
// use up the time of the request and then tell of that instead of what was wrong.
func newClient(o Options) (coordinationv1.LeasesGetter, error) {
	config := rest.CopyConfig(o.Config)
	config.Timeout = 0 // each request has a context that ends
	config.QPS, config.RateLimiter = -1, nil
	// A connection of its own, on which a request that was given up is not followed by
	// the next one: with HTTP/2, all would share a dead one until that is noticed.
	config.NextProtos = []string{"http/1.1"}
	bound.Answers(config, maxAnswer)
	client, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return once{client}, nil
}

// maxAnswer bounds an answer, which client-go reads as a whole. etcd takes no object beyond 1.5 MiB.
const maxAnswer = 4 << 20

// once sends requests that are not repeated.
type once struct {
	*coordinationv1.CoordinationV1Client
}

// Leases implements coordinationv1.LeasesGetter.
func (o once) Leases(namespace string) coordinationv1.LeaseInterface {
	return leases{o.CoordinationV1Client.Leases(namespace), o.RESTClient(), namespace}
}

// leases is what the election asks for of an API server; the rest is never called.
type leases struct {
	coordinationv1.LeaseInterface
	client    rest.Interface
	namespace string
}

// Get reads a Lease.
func (l leases) Get(ctx context.Context, name string, _ metav1.GetOptions) (*v1.Lease, error) {
	return l.send(ctx, l.client.Get().Name(name))
}

// Create makes a Lease.
func (l leases) Create(ctx context.Context, lease *v1.Lease, _ metav1.CreateOptions) (*v1.Lease, error) {
	return l.send(ctx, l.client.Post().Body(lease))
}

// Update changes a Lease.
func (l leases) Update(ctx context.Context, lease *v1.Lease, _ metav1.UpdateOptions) (*v1.Lease, error) {
	return l.send(ctx, l.client.Put().Name(lease.Name).Body(lease))
}

func (l leases) send(ctx context.Context, r *rest.Request) (*v1.Lease, error) {
	lease := &v1.Lease{}
	err := r.Namespace(l.namespace).Resource("leases").MaxRetries(0).Do(ctx).Into(lease)
	return lease, err
}
