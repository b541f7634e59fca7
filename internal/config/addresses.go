package config

import (
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
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return collide(net.JoinHostPort(u.Hostname(), port), listen)
}

// collide reports whether two addresses are one port of one host. All of loopback is one
// host, and the wildcard has it too.
func collide(a, b string) bool {
	aHost, aPort, aErr := net.SplitHostPort(a)
	bHost, bPort, bErr := net.SplitHostPort(b)
	if aErr != nil || bErr != nil || number(aPort) <= 0 || number(aPort) != number(bPort) {
		return false
	}
	aHost, bHost = plainHost(aHost), plainHost(bHost)
	return aHost == bHost || isHere(aHost) && isHere(bHost)
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

// localOnly reports whether a listener is out of reach of other machines and, in
// a pod, of other pods.
func localOnly(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && isLoopback(plainHost(host))
}

// maskURL replaces what may be a secret in a URL: user and password, query and
// fragment. What cannot be read as a URL and might hold one is not shown at all.
func maskURL(text string) string {
	if !strings.ContainsAny(text, "@?#") {
		return text
	}
	const mask = "xxxxx"
	u, err := url.Parse(text)
	if err != nil || u.User == nil && strings.Contains(text, "@") {
		return "(hidden: may hold credentials)"
	}
	if u.User != nil {
		u.User = url.User(mask)
	}
	if u.RawQuery != "" {
		u.RawQuery = mask
	}
	if u.Fragment != "" {
		u.Fragment, u.RawFragment = mask, ""
	}
	return u.String()
}
