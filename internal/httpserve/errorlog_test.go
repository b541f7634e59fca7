package httpserve

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLinesThatAnybodyCanCauseAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		to := slog.NewLogLogger(ErrorLog(slog.New(slog.NewTextHandler(&log, nil))), slog.LevelWarn)
		pass := func(d time.Duration) { <-time.After(d) }
		for range 200 {
			to.Printf("http: TLS handshake error from %s: tls: first record does not look like a TLS handshake", "192.0.2.1:1")
			to.Printf("http: TLS handshake error from %s: EOF", "192.0.2.1:2")
			to.Printf("http: TLS handshake error from %s: read tcp 10.0.0.1:1->10.0.0.2:2: read: connection reset by peer", "192.0.2.1:3")
			to.Print("http: Accept error: too many open files; retrying in 1s")
		}
		if got := log.String(); strings.Count(got, "level=WARN") != 2 || strings.Count(got, "\n") != 2 ||
			!strings.Contains(got, "first record does not look") || !strings.Contains(got, "Accept error") {
			t.Errorf("log:\n%s", got)
		}
		log.Reset()
		for range 3 {
			to.Print("http: panic serving 192.0.2.1:5: oh no")
		}
		if got := log.String(); strings.Count(got, "level=WARN") != 3 {
			t.Errorf("panics are kept back:\n%s", got)
		}
		log.Reset()
		pass(strangersGap)
		to.Print("http: TLS handshake error from 192.0.2.1:4: remote error: tls: expired certificate")
		if got := log.String(); !strings.Contains(got, "expired certificate") || !strings.Contains(got, "before=199") {
			t.Errorf("log:\n%s", got)
		}
	})
}

// net/http writes such lines as ErrorLog reads them.
func TestJunkOnATLSPortFillsNoLog(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "first.example", 1)
	inUse, err := certificates(cert, key, "", nil).Open()
	if err != nil {
		t.Fatal(err)
	}
	conf := inUse.Config()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	server := &http.Server{TLSConfig: conf, ErrorLog: slog.NewLogLogger(ErrorLog(slog.New(slog.NewTextHandler(&log, nil))), slog.LevelWarn), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(listen, "", "") }()
	for range 20 {
		c, err := net.Dial("tcp", listen.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("no handshake at all\n")); err != nil {
			t.Fatal(err)
		}
		for b := make([]byte, 99); err == nil; { // until it is cut
			_, err = c.Read(b)
		}
		c.Close()
	}
	server.Close()
	<-served
	if n := strings.Count(log.String(), "TLS handshake error"); n != 1 {
		t.Errorf("%d lines, want 1:\n%s", n, log.String())
	}
}
