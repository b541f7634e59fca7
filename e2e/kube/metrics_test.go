//go:build e2e

package kube

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// TestTokensOfMetrics scrapes beyond loopback as Prometheus does, with the rights of the
// component monitoring and no others. On loopback nobody is asked who they are.
func TestTokensOfMetrics(t *testing.T) {
	t.Parallel()
	ns, cert := namespace(t, "metrics"), certificate(t)
	kubeconfig := deploy(t, ns, rights(t, filepath.Join(testCases, "scraped"), ns))
	s := clustered(serveIronic(t, time.Hour).URL, kubeconfig, ns).with(settings{"WATCH_NAMESPACE": ns})
	p := serve(t, s.with(settings{
		ours + "METRICS_LISTEN_ADDRESS": ":0", ours + "METRICS_TLS_CERT_FILE": cert, ours + "METRICS_TLS_KEY_FILE": keyOf(cert),
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
	prometheusScrapes(t, at.Host, cert, tokenOf(t, ns, "prometheus"))
	if code, _ := p.get("http://" + at.Host + "/metrics"); code != http.StatusBadRequest {
		t.Errorf("in the clear: %d", code)
	}
	if code, body := p.get(serve(t, s).at.Metrics + "/metrics"); code != http.StatusOK {
		t.Errorf("on loopback: %d %s", code, body)
	}
}

// prometheusScrapes lets Debian's Prometheus scrape as the ServiceMonitor says: over TLS, with
// the token of its account.
func prometheusScrapes(t *testing.T, target, cert, tokenFile string) {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Log("no Prometheus on this machine: run hack/ironic/install.sh as root")
		return
	}
	ports, err := child.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	dir, address := t.TempDir(), net.JoinHostPort(child.Loopback, strconv.Itoa(ports[0]))
	conf := fmt.Sprintf(`{global: {scrape_interval: 1s, scrape_timeout: 1s}, scrape_configs: [{job_name: t, scheme: https,
		authorization: {credentials_file: %q}, tls_config: {ca_file: %q}, static_configs: [{targets: [%q]}]}]}`, tokenFile, cert, target)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	_, log := child.Run(t, child.Command{Name: program, Args: []string{
		"--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + address,
	}})
	query := "http://" + address + "/api/v1/query?query=" + url.QueryEscape("ironic_throttle_leading == 1 and up == 1")
	var body string
	await(t, "scrape", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, query, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, body = ask(&http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}, req)
		return strings.Contains(body, `"job":"t"`)
	}, func() string { return body + log.Tail() })
}
