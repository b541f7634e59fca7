package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// dialTimeout bounds the time to connect. NewClient bounds each request.
const dialTimeout = 5 * time.Second

var (
	errEmpty   = errors.New("it has nothing under the key value")
	errRefused = errors.New("a kubeconfig in a Secret may neither run programs nor name files")
)

// Clusters has a client for each cluster whose nodes run on our hosts. It reaches a workload cluster as Cluster API
// does: by the kubeconfig in the Secret CLUSTER-kubeconfig of the Cluster's namespace. It is safe for concurrent use.
type Clusters struct {
	own       client.Client
	userAgent string

	mu  sync.Mutex
	all map[disruption.Key]connection
}

// connection is a client, and the Secret that it was made from. An unused client closes its idle connections by itself.
type connection struct {
	client client.Client
	secret string // UID and resourceVersion
	used   time.Time
}

// keptFor is how long Clusters keeps a client that nobody asks for.
const keptFor = time.Hour

// NewClusters returns Clusters that read Secrets with own, the client of the throttle's own cluster. The clients of
// workload clusters send userAgent.
func NewClusters(own client.Client, userAgent string) *Clusters {
	return &Clusters{own: own, userAgent: userAgent, all: map[disruption.Key]connection{}}
}

// Client returns the client of a cluster; the zero key is the throttle's own. It reads the Secret on each call, and so
// uses renewed credentials.
func (c *Clusters) Client(ctx context.Context, cluster disruption.Key) (client.Client, error) {
	if cluster == (disruption.Key{}) {
		return c.own, nil
	}
	secret, err := c.secret(ctx, cluster)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	version := string(secret.UID) + "/" + secret.ResourceVersion
	now, to := time.Now(), c.all[cluster]
	if to.secret != version {
		maps.DeleteFunc(c.all, func(_ disruption.Key, to connection) bool { return now.Sub(to.used) > keptFor })
		if to.client, err = connect(secret.Data["value"], c.userAgent); err != nil {
			return nil, fmt.Errorf("the Secret %s cannot be used: %w", secret.Name, err)
		}
		to.secret = version
	}
	to.used = now
	c.all[cluster] = to
	return to.client, nil
}

// secret reads the Secret with the kubeconfig of a cluster. An error names the Secret.
func (c *Clusters) secret(ctx context.Context, cluster disruption.Key) (*corev1.Secret, error) {
	name := cluster.Name + "-kubeconfig"
	secret := &corev1.Secret{}
	err := c.own.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no Secret %s: %w", name, err)
	case apierrors.IsForbidden(err):
		const why = "the throttle may not get the Secret %s (docs/planned-work.md, workload clusters): %w"
		return nil, fmt.Errorf(why, name, err)
	case err != nil:
		return nil, fmt.Errorf("the Secret %s cannot be read: %w", name, err)
	}
	return secret, nil
}

// connect makes a client from a kubeconfig. It sends nothing yet.
func connect(kubeconfig []byte, userAgent string) (client.Client, error) {
	to, err := config(kubeconfig)
	if err != nil {
		return nil, err
	}
	to.Dial, to.UserAgent = (&net.Dialer{Timeout: dialTimeout}).DialContext, userAgent
	if to.Proxy == nil {
		to.Proxy = http.ProxyFromEnvironment // without it, client-go keeps one transport for ever at each renewal
	}
	return NewClient(to)
}

// config reads a kubeconfig. Whoever writes the Secret chooses the server and the credentials. A kubeconfig that could
// also run programs or read files here would give its writer the throttle's pod.
func config(kubeconfig []byte) (*rest.Config, error) {
	if len(kubeconfig) == 0 {
		return nil, errEmpty
	}
	c, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, err
	}
	for name, user := range c.AuthInfos {
		if user.Exec != nil || user.AuthProvider != nil || user.TokenFile+user.ClientCertificate+user.ClientKey != "" {
			return nil, fmt.Errorf("user %.80q: %w", name, errRefused)
		}
	}
	for name, cluster := range c.Clusters {
		if cluster.CertificateAuthority != "" {
			return nil, fmt.Errorf("cluster %.80q: %w", name, errRefused)
		}
	}
	to, err := clientcmd.NewDefaultClientConfig(*c, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, err
	}
	if !strings.Contains(to.Host, "://") {
		to.Host = "https://" + to.Host
	}
	return to, nil
}
