//go:build e2e

package kube

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// certificate is a file that throttle and clients are given; its key lies beside it.
func certificate(t *testing.T, names ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "tls.crt")
	if err := child.WriteCertificate(file, keyOf(file), names...); err != nil {
		t.Fatal(err)
	}
	return file
}

func keyOf(cert string) string { return strings.TrimSuffix(cert, ".crt") + ".key" }

// trusting is a client that believes these certificates.
func trusting(t *testing.T, keepAlive bool, certs ...string) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	for _, file := range certs {
		pem, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pool.AppendCertsFromPEM(pem)
	}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: !keepAlive, MaxIdleConnsPerHost: 16,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// guarded is a throttle with the rights of the overlay standalone, the API of which asks
// for tokens.
func guarded(t *testing.T, namespace, cert string) *throttle {
	t.Helper()
	kubeconfig := deploy(t, namespace, rights(t, filepath.Join(overlays, "standalone"), namespace))
	p := serve(t, clustered(serveIronic(t, time.Hour).URL, kubeconfig, namespace).with(settings{
		"WATCH_NAMESPACE": namespace, ours + "API_ACCESS": "kubernetes",
		ours + "TLS_CERT_DIR": filepath.Dir(cert),
	}))
	p.isReady()
	return p
}

// request asks for a path with a token, none where it is empty.
func (p *throttle) request(client *http.Client, verb, path, token string) (*http.Response, string) {
	p.Helper()
	var body io.Reader
	if verb == "post" {
		body = strings.NewReader(`{}`)
	}
	req, err := http.NewRequestWithContext(p.Context(), strings.ToUpper(verb), p.at.API+path, body)
	if err != nil {
		p.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		p.Error(err)
		return &http.Response{}, ""
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.Header.Get("Content-Type") == "text/event-stream" { // it does not end by itself
		return resp, ""
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.Error(err)
	}
	return resp, string(text)
}

func token(t *testing.T, namespace, account string, roles ...string) string {
	t.Helper()
	text, err := os.ReadFile(tokenOf(t, namespace, account, roles...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTokensOfTheAPI asks with all kinds of tokens.
func TestTokensOfTheAPI(t *testing.T) {
	t.Parallel()
	ns, cert := namespace(t, "access"), certificate(t)
	p, client := guarded(t, ns, cert), trusting(t, true, cert)

	nobody, good := token(t, ns, "nobody"), token(t, ns, "viewer", "ironic-throttle-viewer-"+ns)
	foreign, err := cluster.Token(t.Context(), ns, "nobody", "another-audience")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		token string
		want  int
	}{
		"none":           {"", http.StatusUnauthorized},
		"wrong":          {"nonsense", http.StatusUnauthorized},
		"cut off":        {nobody[:len(nobody)-5], http.StatusUnauthorized},
		"for others":     {foreign, http.StatusUnauthorized},
		"without rights": {nobody, http.StatusForbidden},
		"good":           {good, http.StatusOK},
	} {
		resp, body := p.request(client, "get", "/v1/status", tc.token)
		if resp.StatusCode != tc.want {
			t.Errorf("%s token: %d %s, want %d", name, resp.StatusCode, body, tc.want)
		}
		if asks := resp.Header.Get("WWW-Authenticate"); (asks == "Bearer") != (tc.want == http.StatusUnauthorized) {
			t.Errorf("%s token: WWW-Authenticate %q", name, asks)
		}
		if tc.token != "" && strings.Contains(p.log.String(), tc.token) {
			t.Errorf("%s token: it is in the log", name)
		}
	}
}

// TestRolesOfClientsAreExactlyEnough asks for each path of the roles that clients are given, as somebody with the role, and as
// somebody without.
func TestRolesOfClientsAreExactlyEnough(t *testing.T) {
	t.Parallel()
	ns, cert := namespace(t, "access"), certificate(t)
	p, client := guarded(t, ns, cert), trusting(t, true, cert)
	nobody, asked := token(t, ns, "nobody"), 0
	for _, role := range rights(t, filepath.Join(overlays, "standalone"), ns) {
		rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
		for _, rule := range rules {
			for _, url := range texts(rule, "nonResourceURLs") {
				for _, verb := range texts(rule, "verbs") {
					asked++
					path := strings.NewReplacer("holds/*", "holds/"+ns+"/host-1/release", "breakers/*", "breakers/ironic/reset").Replace(url)
					code, body := p.judged(client, verb, path, token(t, ns, "one-of-"+role.GetName(), role.GetName()))
					if code == http.StatusUnauthorized || code == http.StatusForbidden {
						t.Errorf("%s: %s %s: %d %s", role.GetName(), verb, path, code, body)
					}
					if code, body := p.judged(client, verb, path, nobody); code != http.StatusForbidden {
						t.Errorf("%s %s: %d %s, want 403", verb, path, code, body)
					}
				}
			}
		}
	}
	if asked < 8 {
		t.Errorf("asked for %d paths: the search is broken", asked)
	}
}

// judged asks until the throttle has found out who asks: the API server is spared when
// many ask who are new.
func (p *throttle) judged(client *http.Client, verb, path, token string) (code int, body string) {
	p.Helper()
	await(p.T, "judgement", func() bool {
		var resp *http.Response
		resp, body = p.request(client, verb, path, token)
		code = resp.StatusCode
		return code != http.StatusServiceUnavailable
	}, p.log.Tail)
	return code, body
}
