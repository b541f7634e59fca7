package httpserve

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Whatever lies in a certificate's place, connections go on with the one before, and with
// the new one as soon as it is there.
func TestCertificatesAreReadAgainWhenTheyChange(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "tls", 1)
	var log bytes.Buffer
	inUse := open(t, certificates(dir, &log))
	s := serve(t, &http.Server{Handler: echo, TLSConfig: inUse.Config()}, 0)
	want := func(n int64) {
		t.Helper()
		if got, err := s.ask(); err != nil || got != n {
			t.Errorf("serial %d, %v; want %d", got, err, n)
		}
	}
	want(1)
	n := int64(1)
	for what, put := range map[string]func(string) error{
		"nothing":         func(string) error { return nil },
		"half a file":     func(name string) error { return os.WriteFile(name, []byte("-----BEGIN CERT"), 0o600) },
		"what never ends": func(name string) error { return os.Symlink("/dev/zero", name) },
	} {
		for _, name := range []string{key, cert} {
			log.Reset()
			if err := errors.Join(os.RemoveAll(name), put(name)); err != nil {
				t.Fatal(err)
			}
			want(n)
			want(n)
			if lines := strings.Count(log.String(), "level=ERROR"); lines != 1 {
				t.Errorf("%s: %d lines, want 1:\n%s", what, lines, &log)
			}
			_ = os.RemoveAll(name)
			n++
			certify(t, dir, "tls", n)
			if left := time.Until(inUse.NotAfter()).Round(time.Hour); left != time.Duration(n)*time.Hour { // also where nobody connects
				t.Errorf("%s: %v left", what, left)
			}
			want(n)
		}
	}
}

func TestClientsShowTheirCertificateWhereAnAuthorityIsSet(t *testing.T) {
	dir := t.TempDir()
	certify(t, dir, "tls", 1)
	ca, caKey := certify(t, dir, "client-ca", 7)
	other, otherKey := certify(t, dir, "others", 8)
	s := serve(t, &http.Server{
		Handler: echo, TLSConfig: open(t, certificates(dir, io.Discard)).Config(), ErrorLog: quiet,
	}, 0)
	if _, err := s.ask(); err == nil {
		t.Error("a client without a certificate is served")
	}
	for _, row := range []struct {
		cert, key string
		ok        bool
	}{{ca, caKey, true}, {other, otherKey, false}} {
		pair, err := tls.LoadX509KeyPair(row.cert, row.key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.ask(pair); (err == nil) != row.ok {
			t.Errorf("client with %q: %v", row.cert, err)
		}
	}
}

func TestBrokenCertificatesNameTheirSetting(t *testing.T) {
	for name, says := range map[string]string{"tls.crt": "tls.crt with tls.key: ", "tls.key": "tls.crt with tls.key: ", "client-ca.crt": "client-ca.crt: "} {
		dir := t.TempDir()
		certify(t, dir, "tls", 1)
		if err := os.WriteFile(filepath.Join(dir, name), []byte("no PEM"), 0o600); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("IRONIC_THROTTLE_TLS_CERT_DIR=%q: %s", dir, says)
		if _, err := certificates(dir, io.Discard).Open(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is broken: %v, want one with %s", name, err, want)
		}
	}
	if _, err := certificates("/nowhere", io.Discard).Open(); err == nil {
		t.Error("no directory, and no error")
	}
	none := open(t, Certificates{})
	if none.Config() != nil || none.Fault() != "" || !none.NotAfter().IsZero() {
		t.Errorf("no files: %+v", none)
	}
}

// Whoever is responsible learns of a certificate that is not renewed before clients do: a week before is early enough,
// and no certificate of days is late all its life.
func TestACertificateThatEndsIsTold(t *testing.T) {
	const day = 24 * time.Hour
	for _, row := range []struct {
		lives, left time.Duration
		want        string
	}{
		{90 * day, 8 * day, ""}, {90 * day, 6 * day, "and was not renewed"}, {28 * day, 7 * day, "and was not renewed"},
		{4 * day, 2 * day, ""}, {4 * day, 23 * time.Hour, "and was not renewed"},
		{day, 7 * time.Hour, ""}, {day, 5 * time.Hour, "and was not renewed"}, {day, -time.Minute, "has expired at"},
	} {
		now := time.Now()
		leaf := &x509.Certificate{NotBefore: now.Add(row.left - row.lives), NotAfter: now.Add(row.left)}
		in := &InUse{
			files: Certificates{Name: "gateway", Dir: "/certs", Now: func() time.Time { return now }},
			conf:  &tls.Config{Certificates: []tls.Certificate{{Leaf: leaf}}},
		}
		got := in.Fault()
		if (got == "") != (row.want == "") || !strings.Contains(got, row.want) || got != "" && !strings.Contains(got, "gateway listener (/certs/tls.crt)") {
			t.Errorf("lives %v, %v left: %q", row.lives, row.left, got)
		}
	}
}
