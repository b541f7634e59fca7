package api

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// inFile writes a file of its own and returns its path.
func inFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// listener remembers what was shown to it.
type listener struct {
	*httptest.Server
	mu    sync.Mutex
	shown []string
	paths []string
}

func newListener(t *testing.T, secure bool, answer http.HandlerFunc) *listener {
	t.Helper()
	l := &listener{}
	if answer == nil {
		answer = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"ready":false,"reason":"full"}`) }
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.shown = append(l.shown, strings.Join(r.Header.Values("Authorization"), "+"))
		l.paths = append(l.paths, r.URL.Path)
		l.mu.Unlock()
		answer(w, r)
	})
	if secure {
		l.Server = httptest.NewTLSServer(h)
	} else {
		l.Server = httptest.NewServer(h)
	}
	t.Cleanup(l.Close)
	return l
}

// certificate is a file with what l is known by.
func (l *listener) certificate(t *testing.T) string {
	t.Helper()
	return inFile(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.Certificate().Raw})))
}

func TestTheTokenIsShownAndReadAgainWhenItChanges(t *testing.T) {
	l := newListener(t, true, nil)
	path := inFile(t, "one\n")
	c, err := NewClient(l.URL, WithBearerTokenFile(path), WithRootCAs(l.certificate(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	ask := func() {
		t.Helper()
		if _, err := c.Vacancy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	ask()
	// As kubelet does it: another file under the same name, of the same size.
	next := inFile(t, "two\n")
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
	ask()
	if err := os.WriteFile(path, []byte("  three  "), 0o600); err != nil {
		t.Fatal(err)
	}
	ask()
	if want := []string{"Bearer one", "Bearer one", "Bearer two", "Bearer three"}; !slices.Equal(l.shown, want) {
		t.Errorf("shown %q, want %q", l.shown, want)
	}
}

func TestWithoutAUsableTokenNothingIsSent(t *testing.T) {
	l := newListener(t, true, nil)
	for name, path := range map[string]string{
		"none": filepath.Join(t.TempDir(), "none"), "directory": t.TempDir(), "empty": inFile(t, " \n"), "two lines": inFile(t, "one\ntwo"),
		"two words": inFile(t, "one two"), "binary": inFile(t, "a\x00b"), "not ASCII": inFile(t, "ü"), "too long": inFile(t, strings.Repeat("x", maxTokenFile+1)),
	} {
		c, err := NewClient(l.URL, WithBearerTokenFile(path), WithRootCAs(l.certificate(t)))
		if err != nil {
			t.Fatal(err)
		}
		var field *FieldError
		if _, err := c.Vacancy(t.Context()); !errors.As(err, &field) || field.Field != "token file" || field.Value != path {
			t.Errorf("%s: %v", name, err)
		}
		c.CloseIdleConnections()
	}
	if len(l.shown) > 0 {
		t.Errorf("sent %q", l.shown)
	}
}

func TestATokenNeverTravelsInTheClear(t *testing.T) {
	token := WithBearerTokenFile(inFile(t, "sesame"))
	for url, ok := range map[string]bool{
		"http://127.0.0.1:8087": true, "http://127.8.9.1": true, "http://[::1]:8087": true, "http://localhost:8087": true, "http://LOCALHOST": true,
		"https://throttle.example": true, "https://192.0.2.1": true,
		"http://throttle.example": false, "http://192.0.2.1:8087": false, "http://0.0.0.0:8087": false, "http://[::]:8087": false,
		"http://localhost.example": false, "http://127.0.0.1.example": false,
	} {
		c, err := NewClient(url, token)
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "must begin with https://") {
			t.Errorf("%s: %v", url, err)
		}
		if (c == nil) == ok {
			t.Errorf("%s: client %v", url, c)
		}
	}
	if _, err := NewClient("http://192.0.2.1:8087", WithBearerTokenFile("")); err != nil {
		t.Errorf("without a token: %v", err)
	}
}

// Whatever the caller's own client does with redirects.
func TestATokenFollowsNoRedirect(t *testing.T) {
	l := newListener(t, false, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	own := l.Client()
	c, err := NewClient(l.URL, WithHTTPClient(own), WithBearerTokenFile(inFile(t, "sesame")))
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	var answer *Error
	if _, err := c.Vacancy(t.Context()); !errors.As(err, &answer) || answer.Code != http.StatusTemporaryRedirect {
		t.Errorf("%v", err)
	}
	if got := strings.Join(l.paths, ","); got != "/v1/isready" || own.CheckRedirect != nil {
		t.Errorf("asked %s; the caller's client was changed: %t", got, own.CheckRedirect != nil)
	}
}

func TestRootCAs(t *testing.T) {
	l := newListener(t, true, nil)
	for _, row := range []struct {
		name, file string
		want       error // of a call
	}{{"its own", l.certificate(t), nil}, {"the system's", "", ErrUnreachable}} {
		c, err := NewClient(l.URL, WithRootCAs(row.file))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Vacancy(t.Context()); !errors.Is(err, row.want) {
			t.Errorf("%s: %v", row.name, err)
		}
		c.CloseIdleConnections()
	}
	for name, file := range map[string]string{
		"none": "/nowhere", "no PEM": inFile(t, "text"), "a key": inFile(t, "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"),
		"too long": inFile(t, strings.Repeat("x", maxCAFile+1)), "a FIFO": fifo(t),
	} {
		if _, err := NewClient(l.URL, WithRootCAs(file)); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("root CAs: %q ", file)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewClient(l.URL, WithRootCAs(l.certificate(t)), WithHTTPClient(l.Client())); err == nil {
		t.Error("CAs beside a client of one's own are no error")
	}
}

// fifo is what blocks whoever opens it until somebody writes.
func fifo(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
