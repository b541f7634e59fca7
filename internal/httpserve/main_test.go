package httpserve

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// certificates are those of a gateway.
func certificates(dir string, log io.Writer) Certificates {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	return Certificates{Name: "gateway", Dir: dir, Clients: true, TLS: conf, Log: slog.New(slog.NewTextHandler(log, nil)), Now: time.Now}
}

// certify writes a certificate for name that is its own authority, and ends the later the higher its serial number is.
func certify(t *testing.T, dir, name string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Duration(serial) * time.Hour),
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

// open reads the files.
func open(t *testing.T, files Certificates) *InUse {
	t.Helper()
	inUse, err := files.Open()
	if err != nil {
		t.Fatal(err)
	}
	return inUse
}

// testServer is one that serves until the end of its test, or until its end is called.
type testServer struct {
	*testing.T
	url    string
	listen *counted
	end    func()
}

// serve begins to serve with at most so many connections.
func serve(t *testing.T, server *http.Server, places int) *testServer {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{T: t, url: "http://" + listen.Addr().String(), listen: &counted{Listener: listen}}
	if server.TLSConfig != nil {
		s.url = strings.Replace(s.url, "http", "https", 1)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, 4*time.Second, Server{Name: "test", HTTP: server, Listen: s.listen, MaxConns: places})
		close(done)
	}()
	s.end = func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(s.end)
	return s
}

// ask sends hello on a connection of its own, and wants it back. The serial number is that of the server's certificate.
func (s *testServer) ask(own ...tls.Certificate) (serial int64, err error) {
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: own}, // the serial number is what is looked at
	}}
	defer client.CloseIdleConnections()
	resp, err := client.Post(s.url, "text/plain", strings.NewReader("hello"))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "hello" || resp.ProtoMajor != 1 {
		return 0, fmt.Errorf("%s %q, %w", resp.Proto, text, err)
	}
	if resp.TLS != nil {
		serial = resp.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	return serial, nil
}

// served wants an answer.
func (s *testServer) served() {
	s.Helper()
	if _, err := s.ask(); err != nil {
		s.Error(err)
	}
}

// echo answers with what it is sent.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
