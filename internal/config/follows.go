package config

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// Values of settings that the code compares with. The help of a setting says what each means.
const (
	Observe           = "observe"
	LimitAdaptive     = "adaptive"
	MediaExempt       = "exempt"
	AccessOpen        = "open"
	AccessKubernetes  = "kubernetes"
	DisruptionExecute = "execute"
)

// LeaseRenewDeadline is how long after its last renewal of the Lease a leader gives no more slots, and ends.
const LeaseRenewDeadline = 10 * time.Second

const localAPI = "127.0.0.1:8087" // where the client commands look for the API

// derive fills in what follows from the settings, and what a pod or client of Kubernetes has in its environment.
func (c *Config) derive() {
	c.View.MaxStale = max(30*time.Second, 6*c.View.PollInterval)
	c.View.ListMaxAge = min(time.Minute, 12*c.View.PollInterval)
	c.Leases.StartupSettle = c.Leases.Linger + c.Leases.Linger/3
	k, h := &c.Kubernetes, &c.Holdoff
	k.Kubeconfig, k.Namespace, k.Identity = os.Getenv("KUBECONFIG"), os.Getenv("POD_NAMESPACE"), os.Getenv("POD_NAME")
	if k.Leader.Elect {
		// Before this leader gives its first slot, it must see the work of slots that the last one gave at its end.
		c.Leases.StartupSettle = max(c.Leases.StartupSettle, LeaseRenewDeadline)
	}
	if name, ok := strings.CutPrefix(h.State, "configmap:"); ok {
		h.ConfigMap = name
	} else {
		h.File = h.State
	}
	k.Leader.LeaseName = cmp.Or(h.ConfigMap, "ironic-throttle")
	if api := c.Listen.API; strings.HasSuffix(api, ":0") && beyond(api) {
		c.Listen.Local = "127.0.0.1:0" // any free port, in tests
	} else if beyond(api) && !leadsTo("http://"+localAPI, api) {
		c.Listen.Local = localAPI
	}
}

// leadsTo reports whether a request to endpoint arrives at the listener, as far as the two texts tell: it looks no name
// up. It takes all loopback addresses, and the wildcard, which includes them, for one host.
func leadsTo(endpoint, listen string) bool {
	u, err := url.Parse(endpoint)
	host, port, none := net.SplitHostPort(listen)
	if err != nil || none != nil {
		return false
	}
	here := func(host string) bool { return host == "" || loopback(host) || net.ParseIP(host).IsUnspecified() }
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	to := strings.TrimLeft(cmp.Or(u.Port(), usual), "0")
	return to != "" && to == strings.TrimLeft(port, "0") &&
		(spelt(u.Hostname()) == spelt(host) || here(u.Hostname()) && here(host))
}

// spelt returns one spelling for all spellings of a host.
func spelt(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

func loopback(host string) bool { return spelt(host) == "localhost" || net.ParseIP(host).IsLoopback() }

// beyond reports whether other machines or pods can reach a listener.
func beyond(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && !loopback(host)
}

// Guarded reports whether the throttle asks Kubernetes about every client of the API.
func (c Config) Guarded() bool {
	return c.Access.Mode == AccessKubernetes || c.Access.Mode != AccessOpen && beyond(c.Listen.API)
}

// MetricsGuarded reports whether the throttle asks Kubernetes about every reader of /metrics.
func (c Config) MetricsGuarded() bool { return c.Access.Mode != AccessOpen && beyond(c.Listen.Metrics) }

// CertDirFor returns the folder of the certificate of the listener at address; "" = plain HTTP. Listeners speak TLS if
// other machines can reach them, or if they are guarded.
func (c Config) CertDirFor(address string, guarded bool) string {
	if beyond(address) || guarded {
		return c.Access.CertDir
	}
	return ""
}

// MinVersion returns MinTLS as a version of crypto/tls.
func (a Access) MinVersion() uint16 {
	if strings.HasSuffix(a.MinTLS, "13") {
		return tls.VersionTLS13
	}
	return tls.VersionTLS12
}

// CipherSuites returns Ciphers as IDs of crypto/tls; nil = Go's own.
func (a Access) CipherSuites() (ids []uint16) {
	for _, suite := range tls.CipherSuites() {
		if slices.Contains(a.Ciphers, suite.Name) {
			ids = append(ids, suite.ID)
		}
	}
	return ids
}

// OwnGateway reports whether BMO's URL for Ironic leads to this gateway, or to the address that the manifests give it.
func (c Config) OwnGateway(url string) bool {
	return leadsTo(url, c.Gateway.Listen) || leadsTo(url, "127.0.0.1:6390")
}

// On reports whether the throttle makes plans.
func (d Disruption) On() bool { return d.Mode == "plan" || d.Mode == DisruptionExecute }

// IronicNamespace returns the namespace of the Ironic resource, as BMO finds it: the one that is set, else that of the
// throttle, else the only one that it watches; "" = that of the service account.
func (c Config) IronicNamespace() string {
	watched := ""
	if len(c.Kubernetes.Watch) == 1 {
		watched = c.Kubernetes.Watch[0]
	}
	return cmp.Or(c.Ironic.Namespace, c.Kubernetes.Namespace, watched)
}
