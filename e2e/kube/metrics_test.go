//go:build e2e

package kube

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTokensOfMetrics scrapes beyond loopback, with the rights of the component monitoring and no others. On loopback nobody is asked who they are.
func TestTokensOfMetrics(t *testing.T) {
	t.Parallel()
	ns, cert := namespace(t, "metrics"), certificate(t)
	kubeconfig := deploy(t, ns, rights(t, filepath.Join(testCases, "scraped"), ns))
	s := clustered(serveIronic(t, time.Hour).URL, kubeconfig, ns).with(settings{"WATCH_NAMESPACE": ns})
	p := serve(t, s.with(settings{
		ours + "METRICS_BIND_ADDRESS": ":0", ours + "TLS_CERT_DIR": filepath.Dir(cert),
	}))
	p.isReady()
	at, err := url.Parse(p.at.Metrics)
	if err != nil || at.Scheme != "https" {
		t.Fatalf("/metrics is at %s, %v", p.at.Metrics, err)
	}
	client := trusting(t, true, cert)
	for name, tc := range map[string]struct {
		path, token string
		want        int
	}{
		"no token":       {"/metrics", "", http.StatusUnauthorized},
		"wrong token":    {"/metrics", "nonsense", http.StatusUnauthorized},
		"without rights": {"/metrics", token(t, ns, "nobody"), http.StatusForbidden},
		"reader":         {"/metrics", token(t, ns, "prometheus", "ironic-throttle-metrics-reader-"+ns), http.StatusOK},
		"reader of more": {"/v1/status", token(t, ns, "prometheus"), http.StatusForbidden},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.at.Metrics+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.token != "" {
			req.Header.Set("Authorization", "Bearer "+tc.token)
		}
		code, body := ask(client, req)
		if code != tc.want || strings.Contains(body, "ironic_throttle_") != (tc.want == http.StatusOK) {
			t.Errorf("%s: %d %s, want %d", name, code, body, tc.want)
		}
	}
	if code, _ := p.get("http://" + at.Host + "/metrics"); code != http.StatusBadRequest {
		t.Errorf("in the clear: %d", code)
	}
	if code, body := p.get(serve(t, s).at.Metrics + "/metrics"); code != http.StatusOK {
		t.Errorf("on loopback: %d %s", code, body)
	}
}
