package ironic

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestNodeKeysAreEscaped(t *testing.T) {
	for key, path := range map[string]string{
		"metal3~host-0001": "/v1/nodes/metal3~host-0001",
		"a/b":              "/v1/nodes/a%2Fb",
		"a?limit=1#x":      "/v1/nodes/a%3Flimit=1%23x",
		"../v1/drivers":    "/v1/nodes/..%2Fv1%2Fdrivers",
		"ä b%":             "/v1/nodes/%C3%A4%20b%25",
	} {
		w := newWire()
		if _, ok, err := client(t, w).Node(t.Context(), key); ok || err != nil {
			t.Errorf("%s: %v, %v", key, ok, err)
		}
		if got := w.log[1].URL.EscapedPath(); got != path {
			t.Errorf("%s is asked for as %s, want %s", key, got, path)
		}
	}
	w := newWire()
	for _, key := range []string{"", ".", "..", strings.Repeat("x", maxKeyLen+1)} {
		if _, ok, err := client(t, w).Node(t.Context(), key); ok || err != nil {
			t.Errorf("%q: %v, %v; want no node and no error", key, ok, err)
		}
	}
	if len(w.requests()) != 0 {
		t.Errorf("names that no node has were asked for: %v", w.requests())
	}
}

const someUUID = "82158cd1-dcf7-47c2-9684-4bd0331046ca"

// A real Ironic answers a name that no node can bear with 400, and one that is a
// word of its own URLs with 400 or 405. Neither may fail a poll for ever.
func TestANameThatNoNodeCanBearIsNotFound(t *testing.T) {
	for key, status := range map[string]int{"no such": 400, "detail": 400, "maintenance": 405} {
		c := client(t, always(func() *http.Response {
			return refusal(status, "no")
		}))
		if _, ok, err := c.Node(t.Context(), key); ok || err != nil {
			t.Errorf("%q: got %v, %v; want not found", key, ok, err)
		}
		if _, _, err := c.Node(t.Context(), someUUID); err == nil {
			t.Errorf("%d to a UUID is no error", status)
		}
	}
}

func TestRequestErrorsOfCaptures(t *testing.T) {
	for _, tt := range []struct {
		capture string
		cause   Cause
		status  int
		fault   string
	}{
		{"09-bad-version-406", CauseVersion, 406, "Version 1.200 was requested but the minor version is not supported by this service. The supported version range is: [1.1, 1.82]."},
		{"11-version-garbage", CauseVersion, 406, "Invalid value for X-OpenStack-Ironic-API-Version header"},
		{"73-v29-bad-version", CauseVersion, 406, "Version 1."},
		{"29-fields-unknown", CauseRefused, 400, "Field updated_at is not a valid field."},
		{"30-filter-unknown-state", CauseRefused, 400, `Provision state "flying" is not valid`},
		{"60-basic-no-credentials", CauseUnauthorized, 401, "Authorization required"},
		{"59-db-broken-list", CauseServer, 500, "(sqlite3.OperationalError) no such table: nodes [SQL: SELECT"},
		{"57-conductor-stale-put", CauseServer, 500, "Unable to establish connection to http://localhost:8089"},
		{"88-conductor-stopped-at-once", CauseServer, 503, "Resource temporarily unavailable, please retry."},
	} {
		t.Run(tt.capture, func(t *testing.T) {
			c := client(t, always(func() *http.Response { return capture(t, tt.capture) }))
			_, ok, err := c.Node(t.Context(), someUUID)
			var re *RequestError
			if ok || !errors.As(err, &re) {
				t.Fatalf("got %v, %v; want a RequestError", ok, err)
			}
			if re.Cause != tt.cause || re.Status != tt.status || !strings.HasPrefix(re.Fault, tt.fault) || len(re.Fault) > maxFaultLen {
				t.Errorf("got %+v, want %+v", re, tt)
			}
			if text := err.Error(); !strings.HasPrefix(text, "ironic: GET /v1/nodes/"+someUUID+": "+string(tt.cause)) || strings.Contains(text, "\n") {
				t.Errorf("text %q", text)
			}
		})
	}
}

func TestFaultForms(t *testing.T) {
	for body, want := range map[string]string{
		`{"error_message": "{\"faultstring\": \"a\\n  b\"}"}`:                      "a b",
		`{"error_message": {"faultstring": "not in a string"}}`:                    "not in a string",
		`{"error_message": "plain words"}`:                                         "plain words",
		`{"error_message": "{\"code\": 404, \"title\": \"Not Found\"}"}`:           "Not Found",
		`{"error_message": "{\"faultstring\": 7, \"description\": \"the rest\"}"}`: "the rest",
		`{"error": {"message": "who are you", "code": 401}}`:                       "who are you",
		`{"error": "words"}`:      "words",
		`{"error_message": "{"}`:  "",
		`{"error_message": "{}"}`: "",
		`{"error_message": null}`: "",
		`{"error_message": 7}`:    "",
		`{}`:                      "",
		`[]`:                      "",
		`<html>502</html>`:        "",
		``:                        "",
		`{"error": "` + strings.Repeat("é", maxFaultLen) + `"}`: strings.Repeat("é", maxFaultLen/2-2) + "…",
	} {
		if got := fault([]byte(body)); got != want {
			t.Errorf("%.60s: %q, want %q", body, got, want)
		}
	}
}

// slowBody blocks until the request is over.
type slowBody struct{ ctx context.Context }

func (b slowBody) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, b.ctx.Err() }
func (b slowBody) Close() error             { return nil }

func TestClientTimeoutBoundsHeadersAndBody(t *testing.T) {
	for _, part := range []string{"headers", "body"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWire()
			w.before = func(_ int, r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/v1" {
					return nil, nil
				}
				if part == "headers" {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				resp := reply(200, "")
				resp.Body = slowBody{r.Context()}
				return resp, nil
			}
			c := client(t, w, func(s *Settings) { s.ClientTimeout = 7 * time.Second })
			start := time.Now()
			_, _, err := c.Node(t.Context(), "a")
			if took := time.Since(start); took != 7*time.Second {
				t.Errorf("%s: took %v", part, took)
			}
			if CauseOf(err) != CauseUnreachable {
				t.Errorf("%s: %v", part, err)
			}
		})
	}
}

// gophercloud reads the body of an error to its end, and this has none.
func TestTheBodyOfAnErrorIsBounded(t *testing.T) {
	c := client(t, always(func() *http.Response {
		resp := reply(500, "")
		resp.Body = io.NopCloser(zeros{})
		return resp
	}))
	if _, _, err := c.Node(t.Context(), "a"); CauseOf(err) != CauseServer {
		t.Errorf("got %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// A rotated secret needs no restart: Ironic says 401, the files are read again.
func TestCredentialsAreReadAgainWhenRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(user, password string) {
		writeFile(t, filepath.Join(dir, "ironic", "username"), user)
		writeFile(t, filepath.Join(dir, "ironic", "password"), password)
	}
	write("bmo", "old")
	w := newWire(row("a", Deploying))
	accept := "old"
	w.before = func(_ int, r *http.Request) (*http.Response, error) {
		if _, password, _ := r.BasicAuth(); password != accept {
			return capture(t, "60-basic-no-credentials"), nil
		}
		return nil, nil
	}
	c := client(t, w, func(s *Settings) { s.AuthRootDir = dir })
	mustFind(t, c, "a")
	if got := len(w.log); got != 2 {
		t.Fatalf("%d requests, want 2", got)
	}

	accept = "new"
	_, _, err := c.Node(t.Context(), "a")
	if CauseOf(err) != CauseUnauthorized || len(w.log) != 3 {
		t.Errorf("the same credentials are not tried twice: %v, %d requests", err, len(w.log))
	}
	write("bmo", "new")
	mustFind(t, c, "a")
	mustFind(t, c, "a")
	if len(w.log) != 6 { // refused, tried again, and from then on at once
		t.Errorf("%d requests, want 6", len(w.log))
	}

	accept = "newest"
	if err := os.Remove(filepath.Join(dir, "ironic", "password")); err != nil {
		t.Fatal(err)
	}
	_, _, err = c.Node(t.Context(), "a")
	if CauseOf(err) != CauseUnauthorized || !strings.Contains(err.Error(), "password") || strings.Contains(err.Error(), "newest") {
		t.Errorf("the error must name the file that cannot be read: %v", err)
	}
	if now, _ := c.auth.get(t.Context(), false); now.password != "new" {
		t.Error("the last good credentials are gone")
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
