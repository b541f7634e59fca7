// Package page looks at the page of the product with Debian's Chromium:
//
//	make build && go -C e2e/page test
//
// make system installs what it needs. Pictures of the page are left in bin/page.
package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// bin is where make builds both programs, and keeps what tests leave behind.
var bin = filepath.Join("..", "..", "bin")

var binary, labBinary = filepath.Join(bin, "ironic-throttle"), filepath.Join(bin, "ironic-throttle-lab")

// ironicAt is where a fake Ironic listens.
type ironicAt struct{ API string }

// throttle is a throttle on loopback in front of a fake Ironic, both processes of their own.
type throttle struct {
	*testing.T
	ironic ironicAt
	at     struct{ API string }
}

// serve starts both; change are more of the throttle's settings.
func serve(t *testing.T, ironic []string, change ...string) *throttle {
	t.Helper()
	s := &throttle{T: t}
	child.Serve(t, child.Command{Name: labBinary, Args: append([]string{"fake-ironic", "--listen", "127.0.0.1:0"}, ironic...)}, &s.ironic)
	env := child.ProductEnvironment("IRONIC_ENDPOINT="+s.ironic.API, "IRONIC_THROTTLE_POLL_INTERVAL=1s",
		"IRONIC_THROTTLE_LINGER=1s")
	child.Serve(t, child.Command{Name: binary, Args: []string{"serve"}, Env: append(env, change...)}, &s.at)
	s.await("throttle that gives slots", func() bool { return strings.Contains(s.get("/v1/status"), `"settled":true`) })
	return s
}

// storm plays a storm as a user would, and returns where the page is.
func storm(t *testing.T, args ...string) (url string) {
	t.Helper()
	_, log := child.Run(t, child.Command{Name: labBinary, Args: append([]string{"demo", "--keep", "--via", "check"}, args...)})
	child.Await(t, 50*time.Millisecond, time.Minute, "page of the demo", func() bool {
		line, ok := log.Line("throttle: ", " (page)")
		if ok {
			url = strings.TrimSuffix(strings.Fields(line)[1], "/")
		}
		return ok
	}, log.String)
	return url
}

// await waits until the throttle has come so far.
func (s *throttle) await(what string, done func() bool) {
	s.Helper()
	child.Await(s, 100*time.Millisecond, time.Minute, what, done, func() string { return s.get("/v1/status") })
}

func (s *throttle) get(path string) string { return s.send(http.MethodGet, s.at.API+path, "") }

// asks lets a host ask.
func (s *throttle) asks(namespace, name, op string) {
	s.Helper()
	s.send(http.MethodPost, s.at.API+"/v1/isready", fmt.Sprintf(`{"namespace":%q,"name":%q,"op":%q}`, namespace, name, op))
}

// send sends a request, which must go well.
func (s *throttle) send(method, url, body string) string {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusBadRequest {
		s.Fatalf("%s %s: %d %s %v", method, url, resp.StatusCode, text, err)
	}
	return string(text)
}

// leave keeps what a test has made for people to look at.
func leave(t *testing.T, name string, content []byte) {
	t.Helper()
	dir := filepath.Join(bin, "page")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// indented is JSON as people read it.
func indented(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}
