package httpserve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificates are those of a gateway.
func certificates(cert, key, ca string, log *slog.Logger) Certificates {
	return Certificates{
		Name: "gateway", Log: log,
		Cert:     File{"IRONIC_THROTTLE_GATEWAY_TLS_CERT_FILE", cert},
		Key:      File{"IRONIC_THROTTLE_GATEWAY_TLS_KEY_FILE", key},
		ClientCA: File{"IRONIC_THROTTLE_GATEWAY_CLIENT_CA_FILE", ca},
	}
}

// certify writes a certificate for name that is its own authority.
func certify(t *testing.T, dir, name string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// greet shakes hands with the config and returns the serial number of the server's
// certificate.
func greet(t *testing.T, conf *tls.Config, client *tls.Config) (int64, error) {
	t.Helper()
	listen, err := tls.Listen("tcp", "127.0.0.1:0", conf)
	if err != nil {
		t.Fatal(err)
	}
	defer listen.Close()
	served := make(chan error, 1)
	go func() {
		there, err := listen.Accept()
		if err == nil {
			err = there.(*tls.Conn).Handshake()
			there.Close()
		}
		served <- err
	}()
	client.InsecureSkipVerify = true
	here, err := tls.Dial("tcp", listen.Addr().String(), client)
	if err != nil {
		<-served
		return 0, err
	}
	defer here.Close()
	return here.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), <-served
}

func TestGW12_CertificatesAreReadAgainWhenTheyChange(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "gateway", 1)
	var log strings.Builder
	inUse, err := certificates(cert, key, "", slog.New(slog.NewTextHandler(&log, nil))).Open()
	if err != nil {
		t.Fatal(err)
	}
	conf := inUse.Config()
	wants := func(want int64) {
		t.Helper()
		if got, err := greet(t, conf, &tls.Config{}); err != nil || got != want {
			t.Errorf("certificate %d, %v, want %d", got, err, want)
		}
	}
	wants(1)
	certify(t, dir, "gateway", 2)
	age(t, cert, 1)
	wants(2)
	if err := os.WriteFile(cert, []byte("half a cert"), 0o600); err != nil {
		t.Fatal(err)
	}
	wants(2)
	wants(2)
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
		t.Errorf("%d lines about the broken file, want 1:\n%s", n, &log)
	}
	certify(t, dir, "gateway", 3)
	age(t, cert, 2)
	wants(3)
}

// age gives a file another time, for a file system that tells it in seconds.
func age(t *testing.T, file string, hours int) {
	t.Helper()
	at := time.Now().Add(time.Duration(hours) * time.Hour)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestGW12_ClientsShowTheirCertificateWhereAnAuthorityIsSet(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "gateway", 1)
	ca, caKey := certify(t, dir, "clients", 7)
	other, otherKey := certify(t, dir, "others", 8)
	inUse, err := certificates(cert, key, ca, nil).Open()
	if err != nil {
		t.Fatal(err)
	}
	conf := inUse.Config()
	for _, row := range []struct {
		cert, key string
		ok        bool
	}{{"", "", false}, {ca, caKey, true}, {other, otherKey, false}} {
		client := &tls.Config{}
		if row.cert != "" {
			pair, err := tls.LoadX509KeyPair(row.cert, row.key)
			if err != nil {
				t.Fatal(err)
			}
			client.Certificates = []tls.Certificate{pair}
		}
		if _, err := greet(t, conf, client); (err == nil) != row.ok {
			t.Errorf("client with %q: %v", row.cert, err)
		}
	}
}

func TestBrokenCertificatesNameTheirSetting(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "gateway", 1)
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		files Certificates
		want  string
	}{
		{certificates("/nowhere", key, "", nil), `IRONIC_THROTTLE_GATEWAY_TLS_CERT_FILE="/nowhere"`},
		{certificates(cert, text, "", nil), fmt.Sprintf("IRONIC_THROTTLE_GATEWAY_TLS_KEY_FILE=%q", text)},
		{certificates(cert, key, text, nil), fmt.Sprintf("IRONIC_THROTTLE_GATEWAY_CLIENT_CA_FILE=%q", text)},
		{certificates(cert, key, "/nowhere", nil), `IRONIC_THROTTLE_GATEWAY_CLIENT_CA_FILE="/nowhere"`},
	} {
		if _, err := row.files.Open(); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%+v: %v, want one with %s", row.files, err, row.want)
		}
	}
	if conf, err := (Certificates{}).Open(); conf.Config() != nil || err != nil {
		t.Errorf("no files: %v, %v", conf, err)
	}
}
