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
	always, ours, never := [4]bool{true, true, true, true}, [4]bool{false, true, false, true}, [4]bool{false, false, false, true}
	for host, good := range map[string][4]bool{
		"127.0.0.1:8087": always, "127.8.8.8:1": always, "[::1]:8087": always, "[::ffff:127.0.0.1]:8087": always,
		"localhost:8087": always, "throttle.localhost:1": always, "": always, // HTTP/1.0, as of a health check
		"Throttle.Example:8087": ours, "evil.example:8087": never, "evillocalhost": never, "127.0.0.1.evil.example:8087": never,
		"10.0.0.1:8087": never, "[::]:8087": never, "[::1]x": never, "user@127.0.0.1": never,
	} {
		for i, names := range all {
			why := names.Refuse(&http.Request{Host: host})
			if (why == "") != good[i] {
				t.Errorf("%q, listener %d: %q", host, i, why)
			}
			if why != "" && (len(why) > 500 || strings.Contains(why, "SETTING") != (i > 0)) {
				t.Errorf("%q, listener %d: %q", host, i, why)
			}
		}
	}
	if why := (Names{}).Refuse(&http.Request{Host: strings.Repeat("x", 10_000)}); len(why) > 500 {
		t.Errorf("%d bytes", len(why))
	}
}
