//go:build e2e

package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// certificate is the gateway's own, for 127.0.0.1.
type certificate struct{ file, key string }

func newCertificate(t *testing.T) certificate {
	t.Helper()
	dir := t.TempDir()
	c := certificate{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
	if err := child.WriteCertificate(c.file, c.key); err != nil {
		t.Fatal(err)
	}
	return c
}

// settings let the gateway speak TLS with it, as it does beyond loopback alone.
func (c certificate) settings() []string {
	return []string{"IRONIC_THROTTLE_TLS_CERT_DIR=" + filepath.Dir(c.file), "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=:0"}
}

// client trusts this certificate and no other.
func (c certificate) client(t *testing.T) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

// trusted is what a client trusts.
func trusted(c *http.Client) *tls.Config { return c.Transport.(*http.Transport).TLSClientConfig }
