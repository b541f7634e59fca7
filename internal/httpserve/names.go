package httpserve

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Names are the names to which a listener answers that trusts every client. A page of another site can have a name that
// resolves to loopback: the browser then takes the throttle for that site's server, and lets the page read and write
// (DNS rebinding). So a listener on loopback answers only to names that nobody else can have: loopback addresses,
// localhost and names below it, and the name in the listener's setting. The zero value is for loopback, without such a
// setting.
type Names struct {
	setting string // the setting with the address
	own     string // the host in it
	all     bool   // the listener answers to every name
}

// NamesOf returns the names of an open listener, whose address, a host:port, comes from setting. Beyond loopback it
// answers to every name: a client may have a name for it that the throttle does not know.
func NamesOf(l net.Listener, setting, address string) Names {
	at, ok := l.Addr().(*net.TCPAddr)
	host, _, _ := net.SplitHostPort(address)
	return Names{setting: setting, own: host, all: !ok || !at.IP.IsLoopback()}
}

// Refuse says why r gets no answer; "" if it gets one. A client that sends no name is no browser.
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
	why := fmt.Sprintf("%.100q is not a name of this machine: this listener is on loopback and answers only to "+
		"127.0.0.1, [::1] and localhost, because a web page could have a name that resolves to loopback (DNS rebinding); "+
		"use one of these", r.Host)
	if n.setting != "" {
		why += fmt.Sprintf(", or listen on that name (%s), if it resolves to loopback", n.setting)
	}
	return why
}
