package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// checkGateway holds the rules between the gateway's settings. They mean nothing
// without a gateway.
func (l *loader) checkGateway() {
	g := l.config.Gateway
	if g.Listen == "" || !l.sound(nameGateway) {
		return
	}
	l.needs(nameGatewayCert, g.CertFile, nameGatewayKey, g.KeyFile)
	l.needs(nameGatewayKey, g.KeyFile, nameGatewayCert, g.CertFile)
	// A key without its certificate has been told already.
	if g.KeyFile == "" {
		l.needs(nameGatewayCA, g.ClientCAFile, nameGatewayCert, g.CertFile)
	}
	if l.sound(nameGatewaySpool, nameGatewayMaxBody) && g.SpoolLimit < g.MaxBody {
		l.between(nameGatewaySpool, formatSize(g.SpoolLimit), fmt.Sprintf("must be at least %s, which is %s (%s)",
			nameGatewayMaxBody, formatSize(g.MaxBody), l.source(nameGatewayMaxBody)))
	}
	if endpoint := l.config.Ironic.Endpoint; l.sound(nameEndpoint) && leadsTo(endpoint, g.Listen) {
		l.between(nameEndpoint, maskURL(endpoint), fmt.Sprintf(
			"must name Ironic itself, and this is the gateway: %s is %s (%s); only BMO's %s names the gateway",
			nameGateway, quote(g.Listen), l.source(nameGateway), nameEndpoint))
	}
}

// needs demands that b is set where a is.
func (l *loader) needs(aName, a, bName, b string) {
	if l.sound(aName, bName) && a != "" && b == "" {
		l.between(aName, a, fmt.Sprintf("needs %s too, which is not set", bName))
	}
}

// warnGateway tells of settings that do nothing without the gateway, and of a
// gateway that opens more than was perhaps meant.
func (l *loader) warnGateway(exists func(string) bool) {
	c := l.config
	switch {
	case !l.sound(nameGateway):
		return
	case c.Gateway.Listen == "":
		l.warnIdle()
		return
	}
	if localOnly(c.Gateway.Listen) {
		return
	}
	warn := func(format string, args ...any) {
		l.warnings = append(l.warnings, warnf("%s=%s (%s) can be reached from elsewhere "+format,
			append([]any{nameGateway, quote(c.Gateway.Listen), l.source(nameGateway)}, args...)...))
	}
	if c.Gateway.CertFile == "" && l.sound(nameGatewayCert, nameGatewayKey) {
		warn("without TLS (%s): what it carries, such as passwords, can be read and changed on the way", nameGatewayCert)
	}
	if exists == nil {
		exists = onDisk
	}
	// Ironic sees our certificate through https only.
	ours := strings.HasPrefix(strings.ToLower(c.Ironic.Endpoint), "https:") && c.Ironic.ClientCertFile != "" && exists(c.Ironic.ClientCertFile)
	if c.Gateway.ClientCAFile == "" && ours && l.sound(nameGatewayCA) {
		warn("without %s: whoever reaches it acts towards Ironic with our certificate (IRONIC_CLIENT_CERT_FILE=%s)",
			nameGatewayCA, quote(c.Ironic.ClientCertFile))
	}
}

// warnIdle names the settings that were given for a gateway that there is not.
func (l *loader) warnIdle() {
	var idle []string
	for _, s := range gatewayRows() {
		if g, ok := l.from[s.name]; ok && g.text != "" && s.name != nameGateway {
			idle = append(idle, fmt.Sprintf("%s (%s)", s.name, g.source))
		}
	}
	if len(idle) > 0 {
		l.warnings = append(l.warnings, warnf("without %s there is no gateway; without effect: %s", nameGateway, strings.Join(idle, ", ")))
	}
}

func onDisk(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// leadsTo reports whether a request to endpoint arrives at the listener itself, as
// far as the two texts tell: nothing is looked up. All of loopback is one host.
func leadsTo(endpoint, listen string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil || number(port) <= 0 || number(port) != endpointPort(u) {
		return false
	}
	at, to := plainHost(host), plainHost(u.Hostname())
	return at == to || isHere(at) && isHere(to)
}

func endpointPort(u *url.URL) int {
	switch port := u.Port(); {
	case port != "":
		return number(port)
	case u.Scheme == "https":
		return 443
	}
	return 80
}

// number is the whole number that text says, -1 if none.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// plainHost is the one spelling of a host for comparing.
func plainHost(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// isHere reports whether a plain host is loopback or the wildcard, which leads to
// loopback when it is dialled.
func isHere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || isLoopback(host) || err == nil && ip.IsUnspecified()
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.IsLoopback()
}

// collide reports whether two listeners want one port of this machine. All of loopback
// is one host, and the wildcard has it too.
func collide(a, b string) bool {
	aHost, aPort, aErr := net.SplitHostPort(a)
	bHost, bPort, bErr := net.SplitHostPort(b)
	return aErr == nil && bErr == nil && number(aPort) > 0 && number(aPort) == number(bPort) &&
		isHere(plainHost(aHost)) && isHere(plainHost(bHost))
}

// localOnly reports whether a listener is out of reach of other machines and, in
// a pod, of other pods.
func localOnly(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && isLoopback(plainHost(host))
}
