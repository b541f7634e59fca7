package httpserve

import (
	"bytes"
	"io"
	"log/slog"
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
			to.Print("error gathering metrics: twice")
		}
		if got := log.String(); strings.Count(got, "level=WARN") != 6 {
			t.Errorf("mistakes of ours are kept back:\n%s", got)
		}
		log.Reset()
		<-time.After(strangersGap)
		to.Print("http: TLS handshake error from 192.0.2.1:4: remote error: tls: expired certificate")
		if got := log.String(); !strings.Contains(got, "expired certificate") || !strings.Contains(got, "before=199") {
			t.Errorf("log:\n%s", got)
		}
	})
}

// net/http writes such lines as ErrorLog reads them.
func TestJunkOnATLSPortFillsNoLog(t *testing.T) {
	dir := t.TempDir()
	certify(t, dir, "tls", 1)
	var log bytes.Buffer
	lines := ErrorLog(slog.New(slog.NewTextHandler(&log, nil)))
	s := serve(t, &http.Server{
		TLSConfig: open(t, certificates(dir, io.Discard)).Config(), ErrorLog: slog.NewLogLogger(lines, slog.LevelWarn),
	}, 0)
	for range 20 {
		_, _ = io.ReadAll(s.dial("no handshake at all\n")) // until it is cut
	}
	s.end()
	if n := strings.Count(log.String(), "TLS handshake error"); n != 1 {
		t.Errorf("%d lines, want 1:\n%s", n, log.String())
	}
}
