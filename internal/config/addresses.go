package config

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// leadsTo reports whether a request to endpoint arrives at the listener itself, as
// far as the two texts tell: nothing is looked up.
func leadsTo(endpoint, listen string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	usual := "80"
	if u.Scheme == "https" {
		usual = "443"
	}
	return collide(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), usual)), listen)
}

// collide reports whether two addresses are one port of one host. All of loopback is one
// host, and the wildcard, which leads there when it is dialled, has it too.
func collide(a, b string) bool {
	aHost, aPort := split(a)
	bHost, bPort := split(b)
	here := func(host string) bool { return host == "" || host == "0.0.0.0" || host == "::" || isLoopback(host) }
	return aPort > 0 && aPort == bPort && (aHost == bHost || here(aHost) && here(bHost))
}

// split is the one spelling of a host, and a port; -1 where text is no address.
func split(text string) (host string, port int) {
	host, digits, err := net.SplitHostPort(text)
	port, notNumber := strconv.Atoi(digits)
	if err != nil || notNumber != nil {
		return "", -1
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String(), port
	}
	return strings.TrimSuffix(strings.ToLower(host), "."), port
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.IsLoopback()
}

// beyond reports whether other machines, and in a pod other pods, reach a listener.
func beyond(listen string) bool {
	host, _ := split(listen)
	return listen != "" && !isLoopback(host)
}

// Guarded reports whether Kubernetes is asked about everybody who uses the API.
func (c Config) Guarded() bool {
	return c.Access.Mode == AccessKubernetes || c.Access.Mode == AccessAuto && beyond(c.Listen.API)
}

// MetricsGuarded reports whether Kubernetes is asked about everybody who reads /metrics.
func (c Config) MetricsGuarded() bool { return c.Access.Mode != AccessOpen && beyond(c.Listen.Metrics) }

// Own reports whether a URL that BMO has for Ironic leads to a gateway beside it, or to where the manifests have one.
func (g Gateway) Own(endpoint string) bool {
	return leadsTo(endpoint, g.Listen) || leadsTo(endpoint, "127.0.0.1:6390")
}

// maskURL hides what may be a secret in a URL.
func maskURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case !strings.ContainsAny(text, "@?#"):
		return text
	case err != nil || u.User == nil || strings.ContainsAny(text, "?#"):
		return "(hidden: may hold credentials)"
	}
	u.User = url.User("xxxxx")
	return u.String()
}

// CertDirFor is where the certificate of the listener at address is; "" = it speaks plain HTTP. Those speak TLS that
// others can reach.
func (a Access) CertDirFor(address string) string {
	if beyond(address) {
		return a.CertDir
	}
	return ""
}

// APICertDir is where that of the API is, which speaks TLS on loopback too where it asks for tokens.
func (c Config) APICertDir() string {
	if c.Guarded() {
		return c.Access.CertDir
	}
	return c.Access.CertDirFor(c.Listen.API)
}

// MinVersion is MinTLS as crypto/tls has it.
func (a Access) MinVersion() uint16 {
	if strings.HasSuffix(a.MinTLS, "13") {
		return tls.VersionTLS13
	}
	return tls.VersionTLS12
}
