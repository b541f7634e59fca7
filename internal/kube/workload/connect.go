package workload

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
)

// dialTimeout bounds how long a connection takes. kube.NewClient bounds each request.
const dialTimeout = 5 * time.Second

var (
	errEmpty   = errors.New("it has nothing under the key value")
	errRefused = errors.New("a kubeconfig in a Secret may neither run programs nor name files")
)

// connection is a client with what its connections need at the end.
type connection struct {
	client client.Client
	close  func()
}

// connect makes a client of a kubeconfig. Nothing is sent yet.
func connect(kubeconfig []byte, userAgent string) (c connection, err error) {
	to, err := config(kubeconfig)
	if err != nil {
		return c, err
	}
	to.Dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	if to.Proxy == nil {
		to.Proxy = http.ProxyFromEnvironment // client-go keeps transports without it for ever, one for each renewal
	}
	transport, err := rest.TransportFor(to)
	if err != nil {
		return c, err
	}
	c.close = func() { utilnet.CloseIdleConnectionsFor(transport) }
	c.client, err = kube.NewClient(&rest.Config{Host: to.Host, Transport: transport, UserAgent: userAgent})
	return c, err
}

// config reads a kubeconfig. Whoever writes the Secret chooses the server and the credentials; to let them have programs run
// or files read here would give them the throttle's pod.
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
