package kube

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
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

// Connect finds out how to reach the API server. An error names the setting.
func Connect(o Options) (*Cluster, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	klog.SetSlogLogger(o.Log.With("from", "client-go"))
	crlog.SetLogger(klog.Background()) // else it prints a stack trace after 30 s
	setting := fmt.Sprintf("KUBECONFIG=%q", o.Kubeconfig)
	if o.Kubeconfig == "" {
		setting = "IRONIC_THROTTLE_KUBERNETES=on without KUBECONFIG, as a pod with a service account"
	}
	// Exactly this file: not the list of files that kubectl reads.
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: o.Kubeconfig}, &clientcmd.ConfigOverrides{})
	c := &Cluster{Namespace: o.Namespace}
	var err error
	if c.Config, err = loaded.ClientConfig(); err == nil && c.Namespace == "" {
		c.Namespace, _, err = loaded.Namespace()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
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
