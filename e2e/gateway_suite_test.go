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
	"github.com/ironic-throttle/ironic-throttle/internal/rig/ironicsuite"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
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

// suiteThrough is a real Ironic behind a gateway with room for everybody.
func suiteThrough(t *testing.T, o realironic.Options) ironicsuite.Target {
	t.Helper()
	i := startIronic(t, o)
	s := ironicsuite.Server{Client: i.Client(), User: i.User, Password: i.Password, Backdoor: backdoor{i}}
	more := []string{roomForAll}
	if o.TLS {
		own := newCertificate(t)
		s.Client, s.CAFile = own.client(t), own.file
		more = append(more, own.settings()...)
	}
	g := serveGateway(t, i, append(soon, more...)...).settled()
	s.URL = g.url
	return ironicsuite.Target{
		MaxMinor: maxMinor(t, i), Gateway: true, MariaDB: i.Database == realironic.MariaDB,
		Serve: func(t *testing.T, run func(*testing.T, ironicsuite.Server)) { run(t, s) },
		Wait:  time.Minute, Tick: 200 * time.Millisecond, // http_basic costs Ironic 40 ms each time
	}
}

// TestSuite holds that what anything here depends on in an Ironic is the same
// behind the gateway, Ironic's own words for each error included.
func TestSuite(t *testing.T) {
	t.Parallel()
	ironicsuite.Run(t, suiteThrough(t, realironic.Options{Settings: slowWork}))
}

// TestSuiteThroughTLS is the same with http_basic, TLS at Ironic, and another
// certificate at the gateway.
func TestSuiteThroughTLS(t *testing.T) {
	t.Parallel()
	target := suiteThrough(t, realironic.Options{BasicAuth: true, TLS: true, Settings: slowWork})
	ironicsuite.RunAccess(t, target)
	ironicsuite.Run(t, target)
}

// trusted is what a client trusts.
func trusted(c *http.Client) *tls.Config { return c.Transport.(*http.Transport).TLSClientConfig }
