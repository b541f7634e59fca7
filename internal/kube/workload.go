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

// dialTimeout bounds how long a connection takes. NewClient bounds each request.
const dialTimeout = 5 * time.Second

var (
	errEmpty   = errors.New("it has nothing under the key value")
	errRefused = errors.New("a kubeconfig in a Secret may neither run programs nor name files")
)

// Clusters has the clients of the clusters that hosts are nodes of. It reaches a workload cluster as Cluster API does: by
// the kubeconfig in the Secret CLUSTER-kubeconfig, in the namespace of its Cluster. It is safe for concurrent use.
type Clusters struct {
	own       client.Client
	userAgent string

	mu  sync.Mutex
	all map[disruption.Key]connection
}

// connection is a client with the Secret that it was made of. One that is not used any more closes its connections by itself.
type connection struct {
	client client.Client
	secret string // UID and version
	used   time.Time
}

// keptFor is how long the client of a cluster is kept that nobody asks for.
const keptFor = time.Hour

// NewClusters returns Clusters that read Secrets by the client of the throttle's own cluster. Other clusters are told the user agent.
func NewClusters(own client.Client, userAgent string) *Clusters {
	return &Clusters{own: own, userAgent: userAgent, all: map[disruption.Key]connection{}}
}

// Client returns the client of a cluster, the throttle's own for the zero key. It reads the Secret each time, and so
// follows credentials that are renewed.
func (c *Clusters) Client(ctx context.Context, of disruption.Key) (client.Client, error) {
	if of == (disruption.Key{}) {
		return c.own, nil
	}
	secret, err := c.secret(ctx, of)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	version := string(secret.UID) + "/" + secret.ResourceVersion
	now, to := time.Now(), c.all[of]
	if to.secret != version {
		maps.DeleteFunc(c.all, func(_ disruption.Key, to connection) bool { return now.Sub(to.used) > keptFor })
		if to.client, err = connect(secret.Data["value"], c.userAgent); err != nil {
			return nil, fmt.Errorf("the Secret %s cannot be used: %w", secret.Name, err)
		}
		to.secret = version
	}
	to.used = now
	c.all[of] = to
	return to.client, nil
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
		const why = "the throttle may not get the Secret %s (docs/planned-work.md, workload clusters): %w"
		return nil, fmt.Errorf(why, name, err)
	case err != nil:
		return nil, fmt.Errorf("the Secret %s cannot be read: %w", name, err)
	}
	return secret, nil
}

// connect makes a client of a kubeconfig. Nothing is sent yet.
func connect(kubeconfig []byte, userAgent string) (client.Client, error) {
	to, err := config(kubeconfig)
	if err != nil {
		return nil, err
	}
	to.Dial, to.UserAgent = (&net.Dialer{Timeout: dialTimeout}).DialContext, userAgent
	if to.Proxy == nil {
		to.Proxy = http.ProxyFromEnvironment // client-go keeps transports without it for ever, one for each renewal
	}
	return NewClient(to)
}

// config reads a kubeconfig. Whoever writes the Secret chooses the server and the credentials; to let them have
// programs run or files read here would give them the throttle's pod.
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
