package ironic_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// selfSigned writes a certificate which is its own authority, and its key.
func selfSigned(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	if err := child.WriteCertificate(certFile, keyFile); err != nil {
		t.Fatal(err)
	}
	return certFile, keyFile
}

// tlsIronic serves the fake over TLS; with a client authority it wants to see the client's certificate.
func tlsIronic(t *testing.T, clientCA string) (endpoint, caFile string) {
	t.Helper()
	srv := httptest.NewUnstartedServer(newFake(t, 0, node("a", ironic.Deploying)))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	if clientCA != "" {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM([]byte(readFile(t, clientCA)))
		srv.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MaxVersion: tls.VersionTLS12}
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	caFile = filepath.Join(t.TempDir(), "ca.crt")
	writeFile(t, caFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})))
	return srv.URL + "/v1/", caFile
}

func TestTLSAsBMOReadsIt(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, dir, "bmo")
	otherCert, otherKey := selfSigned(t, dir, "other")
	missing := filepath.Join(dir, "missing")
	open, openCA := tlsIronic(t, "")
	mutual, mutualCA := tlsIronic(t, cert)

	for _, tt := range []struct {
		name string
		s    ironic.Settings
		want string // "" works; else what the error of the first request holds
	}{
		{"CA", ironic.Settings{Endpoint: open, CACertFile: openCA}, ""},
		{"CA and a client certificate that nobody wants", ironic.Settings{Endpoint: open, CACertFile: openCA, ClientCertFile: cert, ClientPrivateKeyFile: key}, ""},
		{"another CA", ironic.Settings{Endpoint: open, CACertFile: cert}, "certificate"},
		{"CA file missing: system's authorities", ironic.Settings{Endpoint: open, CACertFile: missing}, "certificate"},
		{"no CA", ironic.Settings{Endpoint: open}, "certificate"},
		{"insecure", ironic.Settings{Endpoint: open, Insecure: true}, ""},
		{"insecure with another CA", ironic.Settings{Endpoint: open, CACertFile: cert, Insecure: true}, ""},
		{"client certificate", ironic.Settings{Endpoint: mutual, CACertFile: mutualCA, ClientCertFile: cert, ClientPrivateKeyFile: key}, ""},
		{"less than the least version of TLS", ironic.Settings{Endpoint: mutual, Insecure: true, MinTLS: tls.VersionTLS13}, "protocol version"},
		{"client certificate missing", ironic.Settings{Endpoint: mutual, CACertFile: mutualCA, ClientCertFile: missing, ClientPrivateKeyFile: missing}, "handshake failure"},
		{"another client certificate", ironic.Settings{Endpoint: mutual, CACertFile: mutualCA, ClientCertFile: otherCert, ClientPrivateKeyFile: otherKey}, "certificate"},
		{"plain HTTP to a TLS port", ironic.Settings{Endpoint: strings.Replace(open, "https", "http", 1)}, "400"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := ironic.NewClient(tt.s)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			n, ok, err := c.Node(t.Context(), "a")
			if tt.want == "" {
				if err != nil || !ok || n.State != ironic.Deploying {
					t.Errorf("got %+v, %v, %v", n, ok, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error about %s", err, tt.want)
			}
		})
	}
}

func TestClientCertificateIsReadAgainAtEachHandshake(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, dir, "bmo")
	endpoint, ca := tlsIronic(t, cert)
	c, err := ironic.NewClient(ironic.Settings{Endpoint: endpoint, CACertFile: ca, ClientCertFile: cert, ClientPrivateKeyFile: key})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	mustFind(t, c, "a")
	good := readFile(t, cert)
	writeFile(t, cert, "broken")
	c.Close() // the next request shakes hands anew
	if _, _, err := c.Node(t.Context(), "a"); ironic.CauseOf(err) != ironic.CauseUnreachable || !strings.Contains(err.Error(), cert) {
		t.Errorf("got %v, want an error that names %s", err, cert)
	}
	writeFile(t, cert, good)
	mustFind(t, c, "a")
}

func TestARenewedCANeedsNoRestart(t *testing.T) {
	endpoint, ca := tlsIronic(t, "")
	good := readFile(t, ca)
	other, _ := selfSigned(t, t.TempDir(), "other")
	writeFile(t, ca, readFile(t, other))
	c, err := ironic.NewClient(ironic.Settings{Endpoint: endpoint, CACertFile: ca})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, _, err := c.Node(t.Context(), "a"); ironic.CauseOf(err) != ironic.CauseUnreachable {
		t.Fatalf("got %v, want no trust", err)
	}
	writeFile(t, ca, "half a fi")
	if _, _, err := c.Node(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), ca) {
		t.Errorf("got %v, want an error that names %s", err, ca)
	}
	writeFile(t, ca, good)
	mustFind(t, c, "a")
}

func TestBrokenCertificatesAreErrorsAtTheStart(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, dir, "bmo")
	_, otherKey := selfSigned(t, dir, "other")
	junk, missing, below := filepath.Join(dir, "junk"), filepath.Join(dir, "missing"), filepath.Join(dir, "junk", "below")
	writeFile(t, junk, "no PEM")
	for _, tt := range []struct {
		name           string
		s              ironic.Settings
		variable, file string
	}{
		{"CA is junk", ironic.Settings{CACertFile: junk}, "IRONIC_CACERT_FILE", junk},
		{"CA is a directory", ironic.Settings{CACertFile: dir}, "IRONIC_CACERT_FILE", dir},
		{"CA below a file", ironic.Settings{CACertFile: below}, "IRONIC_CACERT_FILE", below},
		{"certificate alone", ironic.Settings{ClientCertFile: cert}, "IRONIC_CLIENT_PRIVATE_KEY_FILE", cert},
		{"key missing", ironic.Settings{ClientCertFile: cert, ClientPrivateKeyFile: missing}, "IRONIC_CLIENT_PRIVATE_KEY_FILE", missing},
		{"certificate missing", ironic.Settings{ClientCertFile: missing, ClientPrivateKeyFile: key}, "IRONIC_CLIENT_CERT_FILE", missing},
		{"certificate below a file", ironic.Settings{ClientCertFile: below, ClientPrivateKeyFile: key}, "IRONIC_CLIENT_CERT_FILE", below},
		{"key below a file", ironic.Settings{ClientCertFile: cert, ClientPrivateKeyFile: below}, "IRONIC_CLIENT_PRIVATE_KEY_FILE", below},
		{"key of another", ironic.Settings{ClientCertFile: cert, ClientPrivateKeyFile: otherKey}, "IRONIC_CLIENT_CERT_FILE", otherKey},
		{"certificate is junk", ironic.Settings{ClientCertFile: junk, ClientPrivateKeyFile: key}, "IRONIC_CLIENT_CERT_FILE", junk},
	} {
		tt.s.Endpoint = "https://h"
		if _, err := ironic.NewClient(tt.s); err == nil || !strings.Contains(err.Error(), tt.variable) || !strings.Contains(err.Error(), tt.file) {
			t.Errorf("%s: got %v, want an error that names %s and %s", tt.name, err, tt.variable, tt.file)
		}
	}
}

func TestAMissingCAFileIsSaidUnlessItIsTheDefault(t *testing.T) {
	for file, want := range map[string]bool{"/nowhere/ca.crt": true, "": false, ironic.DefaultCACertFile: false} {
		var out bytes.Buffer
		s := ironic.Settings{Endpoint: "https://h", CACertFile: file, Log: slog.New(slog.NewTextHandler(&out, nil))}
		if _, err := ironic.NewClient(s); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "IRONIC_CACERT_FILE"); got != want {
			t.Errorf("%q: said %v, want %v", file, got, want)
		}
	}
}
