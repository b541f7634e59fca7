package httpserve

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Names tells by which names a listener may be asked that trusts every client that reaches it. A page of another site can have a
// name that leads to loopback; the browser takes us for that site's own server then, and lets the page read and write
// (DNS rebinding). So a listener on loopback answers to names that can be of nobody else: loopback addresses,
// localhost and what is below it, and the name that it was told to listen on. The zero value is for loopback, without
// such a name.
type Names struct {
	setting string // that has the address
	own     string // its host
	all     bool
}

// NamesOf is for a listener that is open at address, a host:port which a setting has. Any name is good beyond
// loopback: there a client may know us by a name that we do not.
func NamesOf(l net.Listener, setting, address string) Names {
	at, ok := l.Addr().(*net.TCPAddr)
	host, _, _ := net.SplitHostPort(address)
	return Names{setting: setting, own: host, all: !ok || !at.IP.IsLoopback()}
}

// Refuse tells why r is not answered, "" if it is. Who tells no name is no browser.
func (n Names) Refuse(r *http.Request) string {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	at, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	switch name := strings.ToLower(host); {
	case n.all, r.Host == "", err == nil && at.IsLoopback(), name == "localhost", strings.HasSuffix(name, ".localhost"),
		host != "" && strings.EqualFold(host, n.own):
		return ""
	}
	why := fmt.Sprintf("%.100q is not a name of this machine: this listener is on loopback and answers only to 127.0.0.1, [::1] and localhost, "+
		"because a web page could have a name that resolves to loopback (DNS rebinding); use one of these", r.Host)
	if n.setting != "" {
		why += fmt.Sprintf(", or listen on that name (%s), if it resolves to loopback", n.setting)
	}
	return why
}
