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

// Words of settings that the program goes by; what each means is in the help of its setting.
const (
	Observe           = "observe"
	LimitAdaptive     = "adaptive"
	MediaExempt       = "exempt"
	AccessOpen        = "open"
	AccessKubernetes  = "kubernetes"
	DisruptionExecute = "execute"
)

// LeaseRenewDeadline is the age of the last renewal from which a leader grants nothing more, and ends.
const LeaseRenewDeadline = 10 * time.Second

const localAPI = "127.0.0.1:8087" // where commands look for it

// derive fills in what follows from settings, and what a pod, and each client of Kubernetes, has in its environment.
func (c *Config) derive() {
	c.View.MaxStale = max(30*time.Second, 6*c.View.PollInterval)
	c.View.ListMaxAge = min(time.Minute, 12*c.View.PollInterval)
	c.Leases.StartupSettle = c.Leases.Linger + c.Leases.Linger/3
	k, h := &c.Kubernetes, &c.Holdoff
	k.Kubeconfig, k.Namespace, k.Identity = os.Getenv("KUBECONFIG"), os.Getenv("POD_NAMESPACE"), os.Getenv("POD_NAME")
	if k.Leader.Elect {
		// What a leader granted before it knew that it leads no more has begun when the next one grants its first slot.
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

// leadsTo reports whether a request to endpoint arrives at the listener itself, as far as the two texts tell: nothing
// is looked up. All of loopback is one host, and the wildcard, which leads there when it is dialled, has it too.
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

// spelt is the one spelling of a host.
func spelt(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

func loopback(host string) bool { return spelt(host) == "localhost" || net.ParseIP(host).IsLoopback() }

// beyond reports whether other machines, and in a pod other pods, reach a listener.
func beyond(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && !loopback(host)
}

// Guarded reports whether Kubernetes is asked about everybody who uses the API.
func (c Config) Guarded() bool {
	return c.Access.Mode == AccessKubernetes || c.Access.Mode != AccessOpen && beyond(c.Listen.API)
}

// MetricsGuarded reports whether Kubernetes is asked about everybody who reads /metrics.
func (c Config) MetricsGuarded() bool { return c.Access.Mode != AccessOpen && beyond(c.Listen.Metrics) }

// CertDirFor is where the certificate of the listener at address is; "" = it speaks plain HTTP. Those speak TLS that
// others can reach, and what is guarded.
func (c Config) CertDirFor(address string, guarded bool) string {
	if beyond(address) || guarded {
		return c.Access.CertDir
	}
	return ""
}

// MinVersion is MinTLS as crypto/tls has it.
func (a Access) MinVersion() uint16 {
	if strings.HasSuffix(a.MinTLS, "13") {
		return tls.VersionTLS13
	}
	return tls.VersionTLS12
}

// CipherSuites are Ciphers as crypto/tls has them, the safe ones; nil = Go's own.
func (a Access) CipherSuites() (ids []uint16) {
	for _, suite := range tls.CipherSuites() {
		if slices.Contains(a.Ciphers, suite.Name) {
			ids = append(ids, suite.ID)
		}
	}
	return ids
}

// OwnGateway reports whether a URL that BMO has for Ironic leads to our gateway, or to where the manifests have one.
func (c Config) OwnGateway(url string) bool {
	return leadsTo(url, c.Gateway.Listen) || leadsTo(url, "127.0.0.1:6390")
}

// On reports whether plans are made.
func (d Disruption) On() bool { return d.Mode == "plan" || d.Mode == DisruptionExecute }

// IronicNamespace is that of the Ironic resource, as BMO finds it: the one that was set, else
// ours, else the one that is watched; "" = that of the service account.
func (c Config) IronicNamespace() string {
	watched := ""
	if len(c.Kubernetes.Watch) == 1 {
		watched = c.Kubernetes.Watch[0]
	}
	return cmp.Or(c.Ironic.Namespace, c.Kubernetes.Namespace, watched)
}
