package httpserve

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Whatever lies in a certificate's place, connections go on with the one before, and with
// the new one as soon as it is there.
func TestCertificatesAreReadAgainWhenTheyChange(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "gateway", 1)
	var log bytes.Buffer
	inUse := open(t, certificates(cert, key, "", &log))
	s := serve(t, &http.Server{Handler: echo, TLSConfig: inUse.Config()}, 0)
	want := func(n int64) {
		t.Helper()
		if got, err := s.ask(); err != nil || got != n {
			t.Errorf("serial %d, %v; want %d", got, err, n)
		}
	}
	want(1)
	n := int64(1)
	for _, name := range []string{key, cert} {
		for what, put := range map[string]func() error{
			"nothing":         func() error { return nil },
			"half a file":     func() error { return os.WriteFile(name, []byte("-----BEGIN CERT"), 0o600) },
			"a FIFO":          func() error { return syscall.Mkfifo(name, 0o600) },
			"a folder":        func() error { return os.Mkdir(name, 0o700) },
			"what never ends": func() error { return os.Symlink("/dev/zero", name) },
		} {
			log.Reset()
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
			if err := put(); err != nil {
				t.Fatal(err)
			}
			want(n)
			want(n)
			if lines := strings.Count(log.String(), "level=ERROR"); lines != 1 {
				t.Errorf("%s: %d lines, want 1:\n%s", what, lines, &log)
			}
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
			n++
			certify(t, dir, "gateway", n)
			if left := time.Until(inUse.NotAfter()).Round(time.Hour); left != time.Duration(n)*time.Hour { // also where nobody connects
				t.Errorf("%s: %v left", what, left)
			}
			want(n)
		}
	}
}

func TestClientsShowTheirCertificateWhereAnAuthorityIsSet(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "gateway", 1)
	ca, caKey := certify(t, dir, "clients", 7)
	other, otherKey := certify(t, dir, "others", 8)
	s := serve(t, &http.Server{
		Handler: echo, TLSConfig: open(t, certificates(cert, key, ca, io.Discard)).Config(), ErrorLog: quiet,
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
	dir := t.TempDir()
	cert, key := certify(t, dir, "gateway", 1)
	text, fifo := filepath.Join(dir, "text"), filepath.Join(dir, "fifo")
	if err := os.WriteFile(text, []byte("no PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, files := range map[string]Certificates{
		`IRONIC_THROTTLE_GATEWAY_TLS_CERT_FILE="/nowhere"`:             certificates("/nowhere", key, "", io.Discard),
		fmt.Sprintf("IRONIC_THROTTLE_GATEWAY_TLS_KEY_FILE=%q", text):   certificates(cert, text, "", io.Discard),
		fmt.Sprintf("IRONIC_THROTTLE_GATEWAY_CLIENT_CA_FILE=%q", text): certificates(cert, key, text, io.Discard),
		fmt.Sprintf("IRONIC_THROTTLE_GATEWAY_CLIENT_CA_FILE=%q", fifo): certificates(cert, key, fifo, io.Discard),
		`IRONIC_THROTTLE_GATEWAY_CLIENT_CA_FILE="/nowhere"`:            certificates(cert, key, "/nowhere", io.Discard),
	} {
		if _, err := files.Open(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one with %s", err, want)
		}
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
			files: Certificates{Cert: File{Setting: "IRONIC_THROTTLE_GATEWAY_TLS_CERT_FILE"}, Now: func() time.Time { return now }},
			conf:  &tls.Config{Certificates: []tls.Certificate{{Leaf: leaf}}},
		}
		got := in.Fault()
		if (got == "") != (row.want == "") || !strings.Contains(got, row.want) || got != "" && !strings.Contains(got, "GATEWAY_TLS_CERT_FILE") {
			t.Errorf("lives %v, %v left: %q", row.lives, row.left, got)
		}
	}
}
