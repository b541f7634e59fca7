// Package workload has the clients of the clusters that hosts are nodes of. It reaches a workload cluster as Cluster API
// does: by the kubeconfig in the Secret CLUSTER-kubeconfig, in the namespace of its Cluster.
package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// pause is for how long a cluster that did not answer is left alone: whoever looks at plans would wait for it each time.
const pause = 30 * time.Second

// Clusters has a client for each cluster. It is safe for concurrent use.
type Clusters struct {
	UserAgent string // that other clusters are told; set it before the first use

	own client.Client
	mu  sync.Mutex // guards the rest
	all map[disruption.Key]*cluster
}

// cluster is a workload cluster that was asked for.
type cluster struct {
	connection

	secret string    // UID and version that the connection was made of; "" = there is none
	fault  error     // why it does not answer; nil: it does
	since  time.Time // of the fault
	last   time.Time // that it did not answer
}

// New returns Clusters that read Secrets by the client of the throttle's own cluster.
func New(own client.Client) *Clusters {
	return &Clusters{own: own, all: map[disruption.Key]*cluster{}}
}

// Client returns the client of a cluster, the throttle's own for the zero key. It reads the Secret each time, and so follows
// credentials that are renewed. There is none for 30 s after Answered was told of an error.
func (c *Clusters) Client(ctx context.Context, of disruption.Key) (client.Client, error) {
	if of == (disruption.Key{}) {
		return c.own, nil
	}
	if err := c.away(of); err != nil {
		return nil, err
	}
	secret, err := c.secret(ctx, of)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.entry(of)
	version := string(secret.UID) + "/" + secret.ResourceVersion
	if one.secret != version {
		made, err := connect(secret.Data["value"], c.UserAgent)
		if err != nil {
			return nil, fmt.Errorf("the Secret %s cannot be used: %w", secret.Name, err)
		}
		one.close()
		one.connection, one.secret = made, version
	}
	return one.client, nil
}

// entry is what is known of a cluster. The caller holds mu.
func (c *Clusters) entry(of disruption.Key) *cluster {
	if c.all[of] == nil {
		c.all[of] = &cluster{connection: connection{close: func() {}}}
	}
	return c.all[of]
}

// away says why a cluster is left alone; nil: it is not.
func (c *Clusters) away(of disruption.Key) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.entry(of); one.fault != nil && time.Since(one.last) < pause {
		return one.fault
	}
	return nil
}

// Answered notes how requests to a cluster ended, nil for well, and returns the error with the time since when it does not
// answer. An answer that is an error, such as a 401, is one.
func (c *Clusters) Answered(of disruption.Key, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.entry(of)
	var answer apierrors.APIStatus
	if err == nil || errors.As(err, &answer) && answer.Status().Code < http.StatusInternalServerError {
		one.fault = nil
		return err
	}
	if one.fault != nil && errors.Is(err, one.fault) { // it was not even asked
		return err
	}
	one.last = time.Now()
	if one.fault == nil {
		one.since = one.last
	}
	one.fault = fmt.Errorf("it does not answer since %s: %w", one.since.UTC().Format(time.RFC3339), err)
	return one.fault
}

// Failed is Answered where the time does not matter.
func (c *Clusters) Failed(of disruption.Key, err error) { _ = c.Answered(of, err) }

// Keep forgets all clusters but these.
func (c *Clusters) Keep(used []disruption.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.all, func(key disruption.Key, one *cluster) bool {
		forgotten := !slices.Contains(used, key)
		if forgotten {
			one.close()
		}
		return forgotten
	})
}

// secret reads the Secret of a cluster. An error says what is missing.
func (c *Clusters) secret(ctx context.Context, of disruption.Key) (*corev1.Secret, error) {
	name := of.Name + "-kubeconfig"
	secret := &corev1.Secret{}
	err := c.own.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no Secret %s: %w", name, err)
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("the throttle may not get the Secret %s (docs/planned-work.md, workload clusters): %w", name, err)
	case err != nil:
		return nil, fmt.Errorf("the Secret %s cannot be read: %w", name, err)
	}
	return secret, nil
}
