package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
)

// certified writes a certificate that ends at end, and its key.
func certified(t *testing.T, end time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.Add(-30 * 24 * time.Hour), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestCertificatesThatEndAreInMetricsAndStatus(t *testing.T) {
	soon, later := time.Now().Add(24*time.Hour).Truncate(time.Second), time.Now().Add(30*24*time.Hour).Truncate(time.Second)
	c := config.Default()
	c.Ironic.Endpoint, c.Listen = "http://127.0.0.1:1", config.Listen{}
	c.Access.CertFile, c.Access.KeyFile = certified(t, soon)
	c.Gateway.Listen = "127.0.0.1:0"
	c.Gateway.CertFile, c.Gateway.KeyFile = certified(t, later)
	c.Access.MetricsCertFile, c.Access.MetricsKeyFile = certified(t, later.Add(time.Hour))
	a, err := New(t.Context(), Options{Config: c, Log: (&logBook{}).logger()})
	if err != nil {
		t.Fatal(err)
	}
	scrape := httptest.NewRecorder()
	a.server.Metrics().ServeHTTP(scrape, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for listener, end := range map[string]time.Time{"api": soon, "gateway": later, "metrics": later.Add(time.Hour)} {
		if want := fmt.Sprintf("certificate_not_after_seconds{listener=%q} %v\n", listener, float64(end.Unix())); !strings.Contains(scrape.Body.String(), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	told := strings.Join(a.Status().Warnings, "\n")
	if !strings.Contains(told, "the certificate of the API listener (IRONIC_THROTTLE_API_TLS_CERT_FILE=") || strings.Contains(told, "gateway listener") {
		t.Errorf("warnings %q", told)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Run(ctx); err != nil {
		t.Error(err)
	}
}
