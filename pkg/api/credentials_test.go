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

// listen serves answer by TLS, and returns a file with its certificate. shown gets the tokens of the requests.
func listen(t *testing.T, shown *[]string, answer http.HandlerFunc) (url, certificate string) {
	t.Helper()
	l := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*shown = append(*shown, strings.Join(r.Header.Values("Authorization"), "+"))
		answer(w, r)
	}))
	t.Cleanup(l.Close)
	return l.URL, inFile(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.Certificate().Raw})))
}

func full(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"ready":false,"reason":"full"}`) }

// Kubelet puts another file under the same name.
func TestTheTokenIsReadForEachCall(t *testing.T) {
	var shown []string
	url, certificate := listen(t, &shown, full)
	path := inFile(t, "one\n")
	c, err := NewClient(url, Options{TokenFile: path, RootCAs: certificate})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	for _, token := range []string{"one\n", "two\n", "  three  "} {
		if err := os.Rename(inFile(t, token), path); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Vacancy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"Bearer one", "Bearer two", "Bearer three"}; !slices.Equal(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
}

func TestWithoutAUsableTokenNothingIsSent(t *testing.T) {
	for name, path := range map[string]string{
		"none": filepath.Join(t.TempDir(), "none"), "directory": t.TempDir(), "empty": inFile(t, " \n"), "two lines": inFile(t, "one\ntwo"),
		"two words": inFile(t, "one two"), "binary": inFile(t, "a\x00b"), "not ASCII": inFile(t, "ü"),
	} {
		c := client(t, trip(func(*http.Request) (*http.Response, error) {
			t.Errorf("%s: sent", name)
			return nil, http.ErrServerClosed
		}))
		c.set.TokenFile = path
		var field *FieldError
		if _, err := c.Vacancy(t.Context()); !errors.As(err, &field) || field.Field != "token file" || field.Value != path {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestATokenNeverTravelsInTheClear(t *testing.T) {
	token := Options{TokenFile: inFile(t, "sesame")}
	for url, ok := range map[string]bool{
		"http://127.0.0.1:8087": true, "http://127.8.9.1": true, "http://[::1]:8087": true, "http://LOCALHOST": true,
		"https://throttle.example": true, "https://192.0.2.1": true,
		"http://throttle.example": false, "http://192.0.2.1:8087": false, "http://0.0.0.0:8087": false, "http://[::]:8087": false,
		"http://localhost.example": false, "http://127.0.0.1.example": false,
	} {
		c, err := NewClient(url, token)
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "must begin with https://") || (c == nil) == ok {
			t.Errorf("%s: client %v, %v", url, c, err)
		}
	}
	if _, err := NewClient("http://192.0.2.1:8087", Options{TokenFile: ""}); err != nil {
		t.Errorf("without a token: %v", err)
	}
}

func TestATokenFollowsNoRedirect(t *testing.T) {
	var shown []string
	url, certificate := listen(t, &shown, http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect).ServeHTTP)
	c, err := NewClient(url, Options{TokenFile: inFile(t, "sesame"), RootCAs: certificate})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	var answer *Error
	if _, err := c.Vacancy(t.Context()); !errors.As(err, &answer) || answer.Code != http.StatusTemporaryRedirect || len(shown) != 1 {
		t.Errorf("%v, after %d requests", err, len(shown))
	}
}

func TestRootCAs(t *testing.T) {
	var shown []string
	url, _ := listen(t, &shown, full)
	c, err := NewClient(url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	if _, err := c.Vacancy(t.Context()); !errors.Is(err, ErrUnreachable) { // the system does not know it
		t.Error(err)
	}
	for _, file := range []string{"/nowhere", inFile(t, "text"), inFile(t, "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n")} {
		if _, err := NewClient(url, Options{RootCAs: file}); err == nil || !strings.HasPrefix(err.Error(), "root CAs: ") || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
