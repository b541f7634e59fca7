//go:build e2e

package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// trusting is a client that believes this certificate.
func trusting(t *testing.T, cert string) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// request asks with a token, none where it is empty, until the throttle has found out who asks: the API server is spared
// when many ask who are new.
func (p *throttle) request(client *http.Client, verb, url, text, token string) (code int, header http.Header, body string) {
	p.Helper()
	await(p.T, "judgement", func() bool {
		ctx, cancel := context.WithTimeout(p.Context(), 20*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, strings.ToUpper(verb), url, strings.NewReader(text))
		if err != nil {
			p.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := client.Do(req)
		if err != nil {
			p.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		code, header = resp.StatusCode, resp.Header
		if header.Get("Content-Type") == "text/event-stream" { // it does not end by itself
			return true
		}
		answer, err := io.ReadAll(resp.Body)
		body = string(answer)
		return err == nil && code != http.StatusServiceUnavailable
	}, p.Log.Tail)
	return code, header, body
}

// TestTokensAndRolesOfClients asks with all kinds of tokens, and for each path of the roles that clients are given, as
// somebody with the role and as somebody without.
func TestTokensAndRolesOfClients(t *testing.T) {
	t.Parallel()
	ns, cert := namespace(t, "access"), certificate(t)
	all := rights(t, testCases+"/everything", ns)
	p := serve(t, clustered(serveIronic(t, time.Hour).URL, deploy(t, ns, all), ns).with(settings{
		ours + "API_ACCESS": "kubernetes", ours + "METRICS_BIND_ADDRESS": ":0", ours + "TLS_CERT_DIR": filepath.Dir(cert),
	}))
	client := trusting(t, cert)
	status, metrics := p.At.API+"/v1/status", p.At.Metrics+"/metrics"
	nobody := token(t, ns, "nobody")
	for name, tc := range map[string]struct {
		url, token string
		want       int
	}{
		"none":                    {status, "", http.StatusUnauthorized},
		"wrong":                   {status, "nonsense", http.StatusUnauthorized},
		"cut off":                 {status, nobody[:len(nobody)-5], http.StatusUnauthorized},
		"for others":              {status, cluster.Token(t, ns, "nobody", "another-audience"), http.StatusUnauthorized},
		"without rights":          {status, nobody, http.StatusForbidden},
		"good":                    {status, token(t, ns, "viewer", "ironic-throttle-viewer-"+ns), http.StatusOK},
		"metrics, none":           {metrics, "", http.StatusUnauthorized},
		"metrics, without rights": {metrics, nobody, http.StatusForbidden},
		"metrics, reader":         {metrics, token(t, ns, "prometheus", "ironic-throttle-metrics-reader-"+ns), http.StatusOK},
		"reader of metrics":       {status, token(t, ns, "prometheus"), http.StatusForbidden},
	} {
		code, header, body := p.request(client, "get", tc.url, "{}", tc.token)
		if code != tc.want || (header.Get("WWW-Authenticate") == "Bearer") != (code == http.StatusUnauthorized) {
			t.Errorf("%s: %d %q %s, want %d", name, code, header.Get("WWW-Authenticate"), body, tc.want)
		}
		if tc.token != "" && strings.Contains(p.Log.String(), tc.token) {
			t.Errorf("%s: the token is in the log", name)
		}
	}
	paths := 0
	for _, role := range all {
		rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
		for _, rule := range rules {
			for _, url := range texts(rule, "nonResourceURLs") {
				for _, verb := range texts(rule, "verbs") {
					paths++
					at := p.At.API
					if url == "/metrics" {
						at = p.At.Metrics
					}
					at += strings.NewReplacer("holds/*", "holds/"+ns+"/host-1/release", "breakers/*", "breakers/ironic/reset").Replace(url)
					if code, _, body := p.request(client, verb, at, "{}", token(t, ns, "one-of-"+role.GetName(), role.GetName())); code == http.StatusUnauthorized || code == http.StatusForbidden {
						t.Error(errors.New(role.GetName() + ": " + verb + " " + at + ": " + body))
					}
					if code, _, _ := p.request(client, verb, at, "{}", nobody); code != http.StatusForbidden {
						t.Errorf("%s %s without a role: %d", verb, at, code)
					}
				}
			}
		}
	}
	if paths < 8 {
		t.Errorf("asked for %d paths: the search is broken", paths)
	}
}
