package httpserve

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

type listenerAt struct {
	net.Listener
	at net.Addr
}

func (l listenerAt) Addr() net.Addr { return l.at }

func TestAListenerOnLoopbackIsAskedByItsOwnNames(t *testing.T) {
	loopback := NamesOf(listenerAt{at: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}}, "SETTING", "throttle.example:8087")
	loopback6 := NamesOf(listenerAt{at: &net.TCPAddr{IP: net.IPv6loopback, Port: 1}}, "SETTING", "[::1]:8087")
	beyond := NamesOf(listenerAt{at: &net.TCPAddr{IP: net.IPv4zero, Port: 1}}, "SETTING", ":8087")
	all := []Names{{}, loopback, loopback6, beyond}
	for _, row := range []struct {
		host string
		good [4]bool // of all
	}{
		{"127.0.0.1:8087", [4]bool{true, true, true, true}},
		{"127.8.8.8:1", [4]bool{true, true, true, true}},
		{"[::1]:8087", [4]bool{true, true, true, true}},
		{"[::ffff:127.0.0.1]:8087", [4]bool{true, true, true, true}},
		{"localhost:8087", [4]bool{true, true, true, true}},
		{"throttle.localhost:1", [4]bool{true, true, true, true}},
		{"", [4]bool{true, true, true, true}}, // HTTP/1.0, as of a health check
		{"Throttle.Example:8087", [4]bool{false, true, false, true}},
		{"evil.example:8087", [4]bool{false, false, false, true}},
		{"evillocalhost", [4]bool{false, false, false, true}},
		{"127.0.0.1.evil.example:8087", [4]bool{false, false, false, true}},
		{"10.0.0.1:8087", [4]bool{false, false, false, true}},
		{"[::]:8087", [4]bool{false, false, false, true}},
		{"[::1]x", [4]bool{false, false, false, true}},
		{"user@127.0.0.1", [4]bool{false, false, false, true}},
	} {
		for i, names := range all {
			why := names.Refuse(&http.Request{Host: row.host})
			if (why == "") != row.good[i] {
				t.Errorf("%q, listener %d: %q", row.host, i, why)
			}
			if why != "" && (len(why) > 500 || strings.Contains(why, "SETTING") != (i > 0)) {
				t.Errorf("%q, listener %d: %q", row.host, i, why)
			}
		}
	}
	if why := (Names{}).Refuse(&http.Request{Host: strings.Repeat("x", 10_000)}); len(why) > 500 {
		t.Errorf("%d bytes", len(why))
	}
}
