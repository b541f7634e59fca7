package kube

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ironic-throttle/ironic-throttle/internal/plainfile"
)

// namespaceFile is where a pod finds its own namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

const (
	maxNamespace  = 253     // bytes
	maxKubeconfig = 4 << 20 // with certificates in it
)

// Options is what Connect needs; all may be zero.
type Options struct {
	// Kubeconfig is a file; "" = we are a pod and have a service account.
	Kubeconfig string
	// Namespace is ours; "" = that of the service account or of the kubeconfig's context.
	Namespace string
	Version   string       // for the user agent
	Log       *slog.Logger // of client-go too, which has one logger in the whole process; nil: silent
	// Transport replaces the network between us and the API server; nil: the network.
	Transport http.RoundTripper
}

// Cluster says how to reach the API server. Nothing was sent to it yet.
type Cluster struct {
	Config    *rest.Config  // not to be changed: rest.CopyConfig first
	Client    client.Client // for single requests; safe for concurrent use
	Namespace string
}

// Connect finds out how to reach the API server. An error tells which setting would
// help.
func Connect(o Options) (*Cluster, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	klog.SetSlogLogger(o.Log.With("from", "client-go"))
	crlog.SetLogger(klog.Background()) // else it prints a stack trace after 30 s
	c := &Cluster{Namespace: o.Namespace}
	var err error
	if o.Kubeconfig == "" {
		err = c.asPod()
	} else {
		err = c.byFile(o.Kubeconfig)
	}
	if err != nil {
		return nil, err
	}
	c.Config.UserAgent = fmt.Sprintf("ironic-throttle/%s (%s/%s)", o.Version, runtime.GOOS, runtime.GOARCH)
	if o.Transport != nil {
		c.Config.Transport = o.Transport
	}
	if c.Client, err = NewClient(c.Config); err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	return c, nil
}

func (c *Cluster) asPod() (err error) {
	c.Config, err = rest.InClusterConfig()
	switch {
	case errors.Is(err, rest.ErrNotInCluster):
		return errors.New("IRONIC_THROTTLE_KUBERNETES=on: this is no pod, and KUBECONFIG is not set")
	case err != nil:
		return fmt.Errorf("IRONIC_THROTTLE_KUBERNETES=on: the service account cannot be used (is its token mounted?): %w", err)
	case c.Namespace != "":
		return nil
	}
	text, err := plainfile.Read(namespaceFile, maxNamespace)
	if c.Namespace = strings.TrimSpace(string(text)); err == nil && c.Namespace == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return fmt.Errorf("IRONIC_THROTTLE_KUBERNETES=on: POD_NAMESPACE is not set and %s tells nothing: %w", namespaceFile, err)
	}
	return nil
}

func (c *Cluster) byFile(path string) error {
	if _, err := plainfile.Read(path, maxKubeconfig); err != nil { // before client-go, which would wait for a FIFO
		return fmt.Errorf("KUBECONFIG=%q: %w", path, err)
	}
	// Exactly this file: not the list of files that kubectl reads.
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}, &clientcmd.ConfigOverrides{})
	var err error
	if c.Config, err = loaded.ClientConfig(); err != nil {
		return fmt.Errorf("KUBECONFIG=%q: %w", path, err)
	}
	if c.Namespace == "" {
		if c.Namespace, _, err = loaded.Namespace(); err != nil {
			return fmt.Errorf("KUBECONFIG=%q: its namespace: %w", path, err)
		}
	}
	return nil
}
