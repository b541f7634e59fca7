//go:build linux

package attack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-48 * time.Hour),
		NotAfter: time.Now().Add(48 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.cert, a.key = a.make(template)
	return a
}

func (a *authority) make(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// issue returns the PEM of a certificate for a name or an address and of its key.
func (a *authority) issue(name string, ends time.Time) (cert, key []byte) {
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-47 * time.Hour), NotAfter: ends, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	made, private := a.make(template)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Ironic's certificate goes bad in every way, one after the other, and comes good again: the
// throttle says what is wrong, starts nobody, and goes on by itself.
func TestIronicsCertificateGoesBad(t *testing.T) {
	needsFaults(t)
	t.Parallel() // it mostly waits
	ours, others := newAuthority(t), newAuthority(t)
	_, base := newIronic(t)
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	var shown atomic.Pointer[tls.Certificate]
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }})
	front.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c := shown.Load()
		if c == nil {
			return nil, fmt.Errorf("no certificate")
		}
		return &tls.Config{Certificates: []tls.Certificate{*c}}, nil
	}}
	front.Config.ErrorLog = silent()
	show := func(a *authority, name string, ends time.Time) {
		cert, key := a.issue(name, ends)
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		shown.Store(&pair)
	}
	tomorrow := time.Now().Add(24 * time.Hour)
	show(ours, "127.0.0.1", tomorrow)
	front.StartTLS()
	t.Cleanup(front.Close)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	write(t, ca, ours.pem())
	s := newSite(t, siteOptions{ironic: base, endpoint: front.URL, env: []string{"IRONIC_CACERT_FILE=" + ca}})
	bad := []struct {
		name, says string
		do         func()
	}{
		{"expired", "has expired", func() { show(ours, "127.0.0.1", time.Now().Add(-time.Minute)) }},
		{"of another authority", "unknown authority", func() { show(others, "127.0.0.1", tomorrow) }},
		{"not there", "tls: ", func() { shown.Store(nil) }},
		{"good, our CA file is cut", "IRONIC_CACERT_FILE", func() { write(t, ca, ours.pem()[:200]) }},
	}
	for _, b := range bad {
		b.do()
		front.CloseClientConnections()
		child.Await(t, 100*time.Millisecond, goesOn, "word of a certificate that is "+b.name, func() bool {
			text, err := get(t, s.at.Health+"/readyz")
			return err == nil && strings.Contains(text, b.says) || !s.Running()
		}, func() string { text, _ := get(t, s.at.Health+"/readyz"); return text + s.log.Tail() })
		write(t, ca, ours.pem())
		show(ours, "127.0.0.1", tomorrow)
		s.goesOn("after a certificate that is " + b.name)
	}
	s.soundf(len(bad), "Ironic's certificate expired, of another authority, none; our CA file cut")
}

// The certificates of our own listeners are replaced while hosts ask, also in the midst of
// being written: whoever asks is shown the last one that was whole.
func TestOurCertificatesAreSwapped(t *testing.T) {
	needsFaults(t)
	ours := newAuthority(t)
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	tomorrow := time.Now().Add(24 * time.Hour)
	cert, key := ours.issue("127.0.0.1", tomorrow)
	write(t, certFile, cert)
	write(t, keyFile, key)
	s := newSite(t, siteOptions{idle: true, env: []string{
		"IRONIC_THROTTLE_TLS_CERT_DIR=" + dir, "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=:0", "IRONIC_THROTTLE_LISTEN_ADDRESS=:0",
		"IRONIC_THROTTLE_API_ACCESS=open",
	}})
	roots := x509.NewCertPool()
	roots.AddCert(ours.cert)
	ask := func(address string) error {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}, Timeout: 10 * time.Second}
		resp, err := c.Get(address)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	times := 0
	for range 12 {
		next, nextKey := ours.issue("127.0.0.1", tomorrow)
		for _, step := range []func(){
			func() { write(t, certFile, next[:len(next)/2]) },
			func() { write(t, certFile, nil) },
			func() { write(t, certFile, next) }, // not that of the key
			func() { write(t, keyFile, nextKey[:len(nextKey)/2]) },
			func() { _ = os.Remove(keyFile) },
			func() { write(t, keyFile, nextKey) },
		} {
			step()
			times++
			for _, address := range []string{s.at.API + "/v1/status", s.at.Gateway + "/v1/nodes?limit=1"} {
				if err := ask(address); err != nil {
					t.Errorf("%s: %v", address, err)
				}
			}
		}
	}
	if n := s.log.Count("ERROR"); n == 0 || n > 40 {
		t.Errorf("%d errors in the log, want one for each listener and swap", n)
	}
	expired, expiredKey := ours.issue("127.0.0.1", time.Now().Add(-time.Hour))
	write(t, certFile, expired)
	write(t, keyFile, expiredKey)
	if err := ask(s.at.API + "/v1/status"); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired certificate: %v", err)
	}
	child.Await(t, 10*time.Millisecond, goesOn, "word in the log of a certificate that has expired", func() bool { return s.log.Count("has expired") > 0 }, s.log.Tail)
	write(t, certFile, cert)
	write(t, keyFile, key)
	if err := ask(s.at.API + "/v1/status"); err != nil {
		t.Errorf("after all: %v", err)
	}
	table.add(t, times, "our certificates half written, empty, without or with another key, gone, swapped, expired",
		fmt.Sprintf("every request was shown the last whole one; %d lines of the log", s.log.Count("")))
}
