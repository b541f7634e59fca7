package ironic_test

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

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestNodeKeysAreEscaped(t *testing.T) {
	f := newFake(t, 0)
	c := client(t, f)
	for key, path := range map[string]string{
		"metal3~host-0001": "/v1/nodes/metal3~host-0001",
		"a/b":              "/v1/nodes/a%2Fb",
		"a?limit=1#x":      "/v1/nodes/a%3Flimit=1%23x",
		"../v1/drivers":    "/v1/nodes/..%2Fv1%2Fdrivers",
		"ä b%":             "/v1/nodes/%C3%A4%20b%25",
	} {
		if _, ok, _ := c.Node(t.Context(), key); ok {
			t.Errorf("%s is found", key)
		}
		if got := f.log[len(f.log)-1].URL.EscapedPath(); got != path {
			t.Errorf("%s is asked for as %s, want %s", key, got, path)
		}
	}
	asked := len(f.log)
	for _, key := range []string{"", ".", "..", strings.Repeat("x", ironic.MaxKeyLen+1)} {
		if _, ok, err := c.Node(t.Context(), key); ok || err != nil || len(f.log) != asked {
			t.Errorf("%q: %v, %v; want no node, no error and no request", key, ok, err)
		}
	}
}

const someUUID = "82158cd1-dcf7-47c2-9684-4bd0331046ca"

// A real Ironic answers a name that no node can bear with 400, and one that is a word of its own URLs with 400 or 405.
// Neither may fail a poll for ever.
func TestANameThatNoNodeCanBearIsNotFound(t *testing.T) {
	for key, status := range map[string]int{"no such": 400, "detail": 400, "maintenance": 405} {
		c := client(t, says(func() *http.Response { return refusal(status, "no") }))
		if _, ok, err := c.Node(t.Context(), key); ok || err != nil {
			t.Errorf("%q: got %v, %v; want not found", key, ok, err)
		}
		if _, _, err := c.Node(t.Context(), someUUID); err == nil {
			t.Errorf("%d to a UUID is no error", status)
		}
	}
	if _, ok, err := client(t, newFake(t, 0, node(someUUID, ironic.Active))).Node(t.Context(), "ns~"+someUUID+".json"); ok || err != nil {
		t.Errorf("another node, whose name is shorter: got %v, %v; want not found", ok, err)
	}
	if _, _, err := client(t, text(`{"uuid": "9`+someUUID[1:]+`", "provision_state": "active"}`)).Node(t.Context(), someUUID); err == nil {
		t.Error("another node for a UUID is no error")
	}
	c := client(t, says(func() *http.Response { return refusal(http.StatusNotFound, "no") }))
	if _, ok, err := c.Node(t.Context(), someUUID); ok || err != nil || c.Stats().Node.Errors > 0 {
		t.Errorf("a node that is gone: %v, %v, %d errors", ok, err, c.Stats().Node.Errors)
	}
}

// The text of an error is a line with what Ironic said, in whatever form it did.
func TestWhatAnErrorTells(t *testing.T) {
	broken := func(body string) *http.Response { return reply(http.StatusInternalServerError, body) }
	long := strings.Repeat("é", ironic.MaxFaultLen)
	for _, row := range []struct {
		answer *http.Response
		cause  ironic.Cause
		fault  string
	}{
		{capture(t, "11-version-garbage"), ironic.CauseVersion, "Invalid value for X-OpenStack-Ironic-API-Version header"},
		{capture(t, "29-fields-unknown"), ironic.CauseRefused, "Field updated_at is not a valid field."},
		{capture(t, "60-basic-no-credentials"), ironic.CauseUnauthorized, "Authorization required"},
		{capture(t, "88-conductor-stopped-at-once"), ironic.CauseServer, "Resource temporarily unavailable, please retry."},
		{reply(http.StatusForbidden, ""), ironic.CauseUnauthorized, ""},
		{reply(http.StatusNoContent, ""), ironic.CauseRefused, ""},
		{broken(`{"error_message": "{\"faultstring\": \"a\\n  b\"}"}`), ironic.CauseServer, "a b"},
		{broken(`{"error_message": {"faultstring": "not in a string"}}`), ironic.CauseServer, "not in a string"},
		{broken(`{"error_message": "plain words"}`), ironic.CauseServer, "plain words"},
		{broken(`{"error_message": "{\"code\": 404, \"title\": \"Not Found\"}"}`), ironic.CauseServer, "Not Found"},
		{broken(`{"error_message": "{\"faultstring\": 7, \"description\": \"the rest\"}"}`), ironic.CauseServer, "the rest"},
		{broken(`{"error": {"message": "who are you", "code": 401}}`), ironic.CauseServer, "who are you"},
		{broken(`{"error_message": "{"}`), ironic.CauseServer, ""},
		{broken(`{"error_message": null}`), ironic.CauseServer, ""},
		{broken(`[]`), ironic.CauseServer, ""},
		{broken(`<html>502</html>`), ironic.CauseServer, ""},
		{broken(`{"error": "` + long + `"}`), ironic.CauseServer, long[:ironic.MaxFaultLen-4] + "…"},
	} {
		_, ok, err := client(t, says(func() *http.Response { return row.answer })).Node(t.Context(), someUUID)
		var re *ironic.RequestError
		if ok || !errors.As(err, &re) || re.Cause != row.cause || re.Status != row.answer.StatusCode || re.Fault != row.fault {
			t.Errorf("got %v, %+v; want %s, %d and %q", ok, err, row.cause, row.answer.StatusCode, row.fault)
		}
		if text := err.Error(); !strings.HasPrefix(text, "ironic: GET /v1/nodes/"+someUUID+": "+string(row.cause)) || strings.Contains(text, "\n") {
			t.Errorf("text %q", text)
		}
	}
}

// Whatever the body of an error holds, what we quote of it is one short line.
func FuzzFault(f *testing.F) {
	for _, text := range bodies(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _, err := client(t, says(func() *http.Response { return reply(http.StatusConflict, text) })).Node(t.Context(), someUUID)
		var re *ironic.RequestError
		if !errors.As(err, &re) || len(re.Fault) > ironic.MaxFaultLen || strings.ContainsAny(re.Fault, "\r\n\t\x00") {
			t.Errorf("%v", err)
		}
	})
}

func TestClientTimeoutBoundsHeadersAndBody(t *testing.T) {
	for _, part := range []string{"headers", "body"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, 0)
			f.before = func(n int, r *http.Request) (*http.Response, error) {
				switch {
				case n == 0: // the version
					return nil, nil
				case part == "headers":
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				resp := reply(http.StatusOK, "")
				resp.Body = silent{r.Context()}
				return resp, nil
			}
			c := client(t, f, func(s *ironic.Settings) { s.ClientTimeout = 7 * time.Second })
			start := time.Now()
			_, _, err := c.Node(t.Context(), "a")
			if took := time.Since(start); took != 7*time.Second || ironic.CauseOf(err) != ironic.CauseUnreachable {
				t.Errorf("%s: %v after %v", part, err, took)
			}
		})
	}
}

// silent is a body of which nothing comes until the request is over.
type silent struct{ ctx context.Context }

func (b silent) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, b.ctx.Err() }
func (b silent) Close() error             { return nil }

// gophercloud reads the body of an error to its end, and this has none.
func TestTheBodyOfAnErrorIsBounded(t *testing.T) {
	c := client(t, says(func() *http.Response {
		resp := reply(http.StatusInternalServerError, "")
		resp.Body = io.NopCloser(zeros{})
		return resp
	}))
	if _, _, err := c.Node(t.Context(), "a"); ironic.CauseOf(err) != ironic.CauseServer {
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
	f := newFake(t, 0, node("a", ironic.Deploying))
	accept := "old"
	f.before = func(_ int, r *http.Request) (*http.Response, error) {
		if _, password, _ := r.BasicAuth(); password != accept {
			return capture(t, "60-basic-no-credentials"), nil
		}
		return nil, nil
	}
	c := client(t, f, func(s *ironic.Settings) { s.AuthRootDir = dir })
	mustFind(t, c, "a")
	if got := len(f.log); got != 2 {
		t.Fatalf("%d requests, want 2", got)
	}

	accept = "new"
	_, _, err := c.Node(t.Context(), "a")
	if ironic.CauseOf(err) != ironic.CauseUnauthorized || len(f.log) != 3 {
		t.Errorf("the same credentials are not tried twice: %v, %d requests", err, len(f.log))
	}
	write("bmo", "new")
	mustFind(t, c, "a")
	mustFind(t, c, "a")
	if len(f.log) != 6 { // refused, tried again, and from then on at once
		t.Errorf("%d requests, want 6", len(f.log))
	}

	accept = "newest"
	if err := os.Remove(filepath.Join(dir, "ironic", "password")); err != nil {
		t.Fatal(err)
	}
	_, _, err = c.Node(t.Context(), "a")
	if ironic.CauseOf(err) != ironic.CauseUnauthorized || !strings.Contains(err.Error(), "password") || strings.Contains(err.Error(), "newest") {
		t.Errorf("the error must name the file that cannot be read: %v", err)
	}
	accept = "new"
	mustFind(t, c, "a") // the last good credentials stay
}

// Something on the way may answer with what we sent; our log is no place for it.
func TestCredentialsAreNotRepeated(t *testing.T) {
	f := newFake(t, 0)
	f.before = func(_ int, r *http.Request) (*http.Response, error) {
		return refusal(http.StatusInternalServerError, "you sent "+r.Header.Get("Authorization")+" with Tr0ub4dor"), nil
	}
	c := client(t, f, func(s *ironic.Settings) { s.Endpoint = "http://admin:Tr0ub4dor@ironic.test:6385" })
	_, _, err := c.Node(t.Context(), "a")
	if err == nil || strings.Contains(err.Error(), "Tr0ub4dor") || strings.Contains(err.Error(), "YWRtaW46VHIwdWI0ZG9y") ||
		!strings.Contains(err.Error(), "you sent Basic xxxxx with xxxxx") {
		t.Errorf("got %v", err)
	}
}

func TestRedirectsStayWithinTheSameIronic(t *testing.T) {
	for to, ok := range map[string]bool{
		"http://ironic.test:6385/v1/nodes/other?fields=uuid,name": true,
		"http://elsewhere.test:6385/v1/nodes/ns~other":            false,
		"http://ironic.test:7000/v1/nodes/other?fields=uuid,name": false,
		"https://ironic.test/v1/nodes/other?fields=uuid,name":     true,
		"https://elsewhere.test/v1/nodes/other?fields=uuid,name":  false,
		"/v1/nodes/ns~other": false, // for ever
	} {
		f := newFake(t, 0, node("other", ironic.Deploying))
		f.before = func(_ int, r *http.Request) (*http.Response, error) {
			if r.URL.Path != "/v1/nodes/ns~other" {
				return nil, nil
			}
			resp := refusal(http.StatusFound, "over there")
			resp.Header.Set("Location", to)
			return resp, nil
		}
		if _, found, err := client(t, f).Node(t.Context(), "ns~other"); found != ok || (err == nil) != ok {
			t.Errorf("to %s: found %v, %v", to, found, err)
		}
		if len(f.log) > 5 {
			t.Errorf("to %s: %d requests", to, len(f.log))
		}
	}
}

// net/http repeats what it cannot read, up to all header lines that it takes.
func TestAMalformedAnswerIsOneShortLineOfAnError(t *testing.T) {
	long := strings.Repeat("x\x1b[31m\n", 50_000)
	f := newFake(t, 0)
	for _, answer := range []func() (*http.Response, error){
		func() (*http.Response, error) { return versions("1.1", long), nil },
		func() (*http.Response, error) { return nil, errors.New("malformed MIME header line: " + long) },
	} {
		f.before = func(int, *http.Request) (*http.Response, error) { return answer() }
		_, _, err := client(t, f).Node(t.Context(), "a")
		if err == nil || len(err.Error()) > 500 || strings.ContainsAny(err.Error(), "\x1b\n") || !strings.HasSuffix(err.Error(), "…") {
			t.Errorf("got %.1000v", err)
		}
	}
}
