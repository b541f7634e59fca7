package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/internal/disrupt"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/fleet/bound"
)

// requestTimeout bounds one request, maxAnswer what is read of its answer, and pageSize how
// many objects are asked for at once.
const (
	requestTimeout = 10 * time.Second
	maxAnswer      = 16 << 20
	pageSize       = "250"
)

// API groups whose version is found out.
const (
	groupMachines       = "cluster.x-k8s.io"
	groupInfrastructure = "infrastructure.cluster.x-k8s.io"
)

// versions that are understood, the best first: they do not differ in what is read here.
var versions = []string{"v1beta2", "v1beta1"}

// Client is a disrupt.Cluster. It may be used by several goroutines.
type Client struct {
	instance   string
	namespaces []string
	now        func() time.Time
	server     *rest.RESTClient

	mu     sync.Mutex
	served map[string]string // version by group
}

var _ disrupt.Cluster = (*Client)(nil)

// Options say where a Client works.
type Options struct {
	// Config leads to the API server.
	Config *rest.Config
	// Namespaces are where hosts and Machines are looked for; none: everywhere. What is marked elsewhere is
	// another throttle's.
	Namespaces []string
	// Instance is who tells Events.
	Instance string
	// Now is the clock of Events; nil: time.Now.
	Now func() time.Time
}

// New makes a Client. Nothing is sent yet.
func New(o Options) (*Client, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c := rest.CopyConfig(o.Config)
	c.QPS, c.RateLimiter = -1, nil
	c.Timeout = requestTimeout
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	bound.Answers(c, maxAnswer)
	c.APIPath, c.GroupVersion = "/api", &corev1.SchemeGroupVersion
	server, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("client for planned work: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{instance: o.Instance, namespaces: o.Namespaces, now: o.Now, server: server, served: map[string]string{}}, nil
}

// place is where objects of a kind are kept.
type place struct{ group, version, resource string }

var places = map[disrupt.Kind]place{
	disrupt.KindHost:              {"metal3.io", "v1alpha1", "baremetalhosts"},
	disrupt.KindMachine:           {groupMachines, "", "machines"},
	disrupt.KindMachineSet:        {groupMachines, "", "machinesets"},
	disrupt.KindMachineDeployment: {groupMachines, "", "machinedeployments"},
	disrupt.KindNode:              {"", "v1", "nodes"},
	disrupt.KindPod:               {"", "v1", "pods"},
}

var metal3Machines = place{groupInfrastructure, "", "metal3machines"}

// at completes p with the version that is served.
func (c *Client) at(ctx context.Context, p place) (place, error) {
	if p.version != "" {
		return p, nil
	}
	c.mu.Lock()
	version, ok := c.served[p.group]
	c.mu.Unlock()
	if !ok {
		var found struct {
			Versions []struct{ Version string } `json:"versions"`
		}
		if err := c.read(c.server.Get().AbsPath("/apis", p.group), ctx, &found); err != nil {
			return p, fmt.Errorf("versions of %s: %w", p.group, err)
		}
		for _, known := range slices.Backward(versions) {
			if slices.ContainsFunc(found.Versions, func(v struct{ Version string }) bool { return v.Version == known }) {
				version = known
			}
		}
		if version == "" {
			return p, fmt.Errorf("versions of %s: none of %v is served", p.group, versions)
		}
		c.mu.Lock()
		c.served[p.group] = version
		c.mu.Unlock()
	}
	p.version = version
	return p, nil
}

// to completes a request for a resource, in a namespace if there is one.
func (p place) to(r *rest.Request, namespace string) *rest.Request {
	if p.group == "" {
		r = r.AbsPath("/api", p.version)
	} else {
		r = r.AbsPath("/apis", p.group, p.version)
	}
	if namespace != "" {
		r = r.Namespace(namespace)
	}
	return r.Resource(p.resource).MaxRetries(0)
}

// apiVersion is as in an object.
func (p place) apiVersion() string {
	if p.group == "" {
		return p.version
	}
	return p.group + "/" + p.version
}

// read sends a request and decodes its answer.
func (c *Client) read(r *rest.Request, ctx context.Context, into any) error { //nolint:revive // a request, and then when it ends
	answer := r.Do(ctx)
	raw, err := answer.Raw()
	if err != nil {
		return fault(answer.Error()) // it reads the Status that Raw leaves alone
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("answer of the API server: %w", err)
	}
	return nil
}

// get reads one object; none is no error.
func (c *Client) get(ctx context.Context, p place, namespace, name string) (item, error) {
	var found item
	if name == "" {
		return found, nil
	}
	p, err := c.at(ctx, p)
	if err == nil {
		err = c.moved(p, c.read(p.to(c.server.Get(), namespace).Name(name), ctx, &found))
	}
	if errors.Is(err, disrupt.ErrGone) {
		return item{}, nil
	}
	if err != nil {
		return found, fmt.Errorf("%s %s/%s: %w", p.resource, namespace, name, err)
	}
	return found, nil
}

// moved is err, unless the version that was found out is not served any more: then nothing is gone, and the next
// request finds out again.
func (c *Client) moved(p place, err error) error {
	if !errors.Is(err, disrupt.ErrGone) || !apierrors.IsUnexpectedServerError(err) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, found := c.served[p.group]; !found {
		return err
	}
	delete(c.served, p.group)
	return fmt.Errorf("%s is served no more", p.apiVersion())
}

// list reads all objects, page by page. A group that nobody serves has none.
func (c *Client) list(ctx context.Context, p place, namespace string, selectors map[string]string) ([]item, error) {
	p, err := c.at(ctx, p)
	if errors.Is(err, disrupt.ErrGone) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var all []item
	for next := ""; ; {
		r := p.to(c.server.Get(), namespace).Param("limit", pageSize)
		for key, value := range selectors {
			r = r.Param(key, value)
		}
		if next != "" {
			r = r.Param("continue", next)
		}
		var page struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []item `json:"items"`
		}
		if err := c.moved(p, c.read(r, ctx, &page)); errors.Is(err, disrupt.ErrGone) {
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("list of %s: %w", p.resource, err)
		}
		all = append(all, page.Items...)
		if next = page.Metadata.Continue; next == "" {
			return all, nil
		}
	}
}

// fault tells the errors apart that mean something to a step.
func fault(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err):
		return fmt.Errorf("%w: %w", disrupt.ErrConflict, err)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %w", disrupt.ErrGone, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: %w", disrupt.ErrForbidden, err)
	}
	return err
}
