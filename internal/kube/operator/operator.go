package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Bounds of what the cluster writes, bytes: one value, and a fault as a whole.
const (
	maxValue = 100
	maxFault = 600
)

// cut is a value as a fault shows it.
func cut(text string) string { return ironic.Line(text, maxValue) }

// fault is err, which may hold whatever the API server answered, as logs and status show it.
func fault(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(ironic.Line(err.Error(), maxFault))
}

// requestTimeout bounds one request.
const requestTimeout = 5 * time.Second

// The container of BMO in its own manifests.
const manager = "manager"

// Options say which Deployment it is.
type Options struct {
	Config *rest.Config // leads to the API server
	// Deployment is NAME or NAMESPACE/NAME; without a namespace it is in Namespace, ours.
	Deployment, Namespace string
	CPUs                  int // of BMO's machine, as far as is known
	// Own reports whether a URL leads to this throttle's gateway, and so not to Ironic.
	Own      func(endpoint string) bool
	Instance string // our name in Events
	Log      *slog.Logger
}

// Reader reads the Deployment. It is for one goroutine.
type Reader struct {
	Options

	namespace, name string
	apps            appsclient.DeploymentsGetter
	core            coreclient.CoreV1Interface
}

// Found is what the Deployment says.
type Found struct {
	UID     types.UID
	Workers Workers
	// Limit is BMO's own limit of hosts at work (PROVISIONING_LIMIT).
	Limit int
	// Err is why Workers or Limit are not known.
	Err error

	container container
}

// New checks the Options. Nothing is sent yet.
func New(o Options) (*Reader, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	config := rest.CopyConfig(o.Config)
	config.Timeout = requestTimeout
	config.QPS, config.RateLimiter = -1, nil // a handful of requests a minute
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	deployments, err := appsclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("BMO's Deployment: %w", err)
	}
	others, err := coreclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("BMO's Deployment: %w", err)
	}
	r := &Reader{Options: o, namespace: o.Namespace, name: o.Deployment, apps: deployments, core: others}
	if namespace, name, ok := strings.Cut(o.Deployment, "/"); ok {
		r.namespace, r.name = namespace, name
	}
	return r, nil
}

// Name is the Deployment's namespace and name.
func (r *Reader) Name() string { return r.namespace + "/" + r.name }

// Read reads the Deployment and what it refers to.
func (r *Reader) Read(ctx context.Context) (Found, error) {
	d, err := r.apps.Deployments(r.namespace).Get(ctx, r.name, metav1.GetOptions{})
	if err != nil {
		return Found{}, fault(fmt.Errorf("BMO's Deployment %s: %w", r.Name(), err))
	}
	c, err := r.containerOf(d)
	if err != nil {
		return Found{}, fmt.Errorf("BMO's Deployment %s: %w", r.Name(), err)
	}
	f := Found{UID: d.UID, container: c}
	var noWorkers, noLimit error
	f.Workers, noWorkers = c.workers(ctx, r.CPUs)
	f.Limit, noLimit = c.limit(ctx)
	if f.Err = fault(noWorkers); f.Err == nil {
		f.Err = fault(noLimit)
	}
	return f, nil
}

var errNoContainer = errors.New("it has no container")

// containerOf finds BMO among the containers: its name is the one that BMO's own manifests
// give it, or it is the first.
func (r *Reader) containerOf(d *apps.Deployment) (container, error) {
	pod := d.Spec.Template.Spec
	if len(pod.Containers) == 0 {
		return container{}, errNoContainer
	}
	i := max(0, slices.IndexFunc(pod.Containers, func(c core.Container) bool { return c.Name == manager }))
	return container{
		Container: pod.Containers[i], volumes: pod.Volumes, maps: r.core.ConfigMaps(r.namespace), read: map[string]*core.ConfigMap{},
	}, nil
}
