//go:build linux

package attack

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

func silent() *log.Logger { return log.New(io.Discard, "", 0) }

// All of it by IPv6: Ironic's endpoint, our listeners, and the links that Ironic makes.
func TestAllByIPv6(t *testing.T) {
	needsFaults(t)
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	_, base := newIronic(t)
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // Ironic makes its links of it
	}})
	_ = front.Listener.Close()
	front.Listener = l
	front.Start()
	t.Cleanup(front.Close)
	s := newSite(t, siteOptions{ironic: base, endpoint: front.URL, env: []string{
		"IRONIC_THROTTLE_LISTEN_ADDRESS=[::1]:0", "IRONIC_THROTTLE_HEALTH_PROBE_BIND_ADDRESS=[::1]:0",
		"IRONIC_THROTTLE_METRICS_BIND_ADDRESS=[::1]:0", "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=[::1]:0",
	}})
	for _, address := range []string{s.at.API, s.at.Gateway, s.at.Health, s.at.Metrics} {
		if !strings.HasPrefix(address, "http://[::1]:") {
			t.Errorf("listens on %s", address)
		}
	}
	next := s.at.Gateway + "/v1/nodes?limit=3"
	pages, last := 0, ""
	for ; next != "" && pages < 50; pages++ {
		var page json.RawMessage
		if _, err := s.fleet.call(t.Context(), http.MethodGet, next, nil, &page); err != nil {
			t.Fatal(err)
		}
		text := string(page)
		last = text[max(0, len(text)-300):]
		_, rest, more := strings.Cut(text, `"next": "`)
		if next = ""; more {
			next, _, _ = strings.Cut(rest, `"`)
			if !strings.HasPrefix(next, s.at.Gateway+"/") {
				t.Fatalf("the next page is at %q, want the gateway %s", next, s.at.Gateway)
			}
		}
	}
	if pages < 10 {
		t.Errorf("%d pages, the last of %.300s", pages, last)
	}
	if resp, err := http.Get(s.at.API + "/"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("page: %v", err)
	} else {
		_ = resp.Body.Close()
	}
	s.soundf(1, "endpoint, listeners and links by IPv6 ([::1])")
}
