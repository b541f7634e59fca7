package ironic_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is an Ironic in memory that notes every request.
type fake struct {
	*fakeironic.Server
	mu  sync.Mutex // guards log
	log []*http.Request
	// before answers the nth request in place of the fake where it returns a response or an error.
	before func(n int, r *http.Request) (*http.Response, error)
}

// newFake has these nodes, and pages of at most so many; 0 is Ironic's own limit.
func newFake(t testing.TB, limit int, nodes ...fakeironic.NodeSpec) *fake {
	t.Helper()
	o := fakeironic.DefaultOptions()
	if limit > 0 {
		o.API.MaxLimit = limit
	}
	world, err := fakeironic.NewWorld(o, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if _, err := world.CreateNode(time.Now(), n); err != nil {
			t.Fatal(err)
		}
	}
	return &fake{Server: fakeironic.NewServer(world, time.Now)}
}

// node is one that is left in its state.
func node(uuid string, state ironic.State) fakeironic.NodeSpec {
	return fakeironic.NodeSpec{UUID: uuid, Name: "ns~" + uuid, State: state}
}

// RoundTrip implements http.RoundTripper.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	n := len(f.log)
	f.log = append(f.log, r)
	f.mu.Unlock()
	if f.before != nil {
		if resp, err := f.before(n, r); resp != nil || err != nil {
			return resp, err
		}
	}
	return f.Transport().RoundTrip(r)
}

// newest makes 1.minor the newest version of its API.
func (f *fake) newest(minor int) {
	f.With(func(_ time.Time, w *fakeironic.World) { w.SetNewest(minor) })
}

// says is an Ironic that answers each request alike, but for those that ask for its version.
type says func() *http.Response

func (answer says) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/v1" {
		return versions("1.1", "1.82"), nil
	}
	return answer(), nil
}

// text is one that says 200 and a body.
func text(body string) says { return func() *http.Response { return reply(http.StatusOK, body) } }

func versions(minimum, maximum string) *http.Response {
	resp := reply(http.StatusOK, `{"id":"v1"}`)
	resp.Header.Set("X-OpenStack-Ironic-API-Minimum-Version", minimum)
	resp.Header.Set("X-OpenStack-Ironic-API-Maximum-Version", maximum)
	return resp
}

func reply(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1,
	}
}

func refusal(status int, text string) *http.Response {
	inner, _ := json.Marshal(map[string]string{"faultcode": "Client", "faultstring": text})
	outer, _ := json.Marshal(map[string]string{"error_message": string(inner)})
	return reply(status, string(outer))
}

// client makes a Client of an Ironic in memory.
func client(t testing.TB, rt http.RoundTripper, change ...func(*ironic.Settings)) *ironic.Client {
	t.Helper()
	s := ironic.Settings{Endpoint: "http://ironic.test:6385", Transport: rt}
	for _, f := range change {
		f(&s)
	}
	c, err := ironic.NewClient(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustFind(t *testing.T, c *ironic.Client, key string) {
	t.Helper()
	if _, ok, err := c.Node(t.Context(), key); !ok || err != nil {
		t.Fatalf("node %s: found %v, %v", key, ok, err)
	}
}

// capture returns a recorded answer of a real Ironic.
func capture(t testing.TB, name string) *http.Response {
	t.Helper()
	_, text, ok := strings.Cut(readFile(t, filepath.Join("..", "..", "testdata", "ironic", name+".http")), "# response\n")
	if !ok {
		t.Fatalf("%s holds no response", name)
	}
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return resp
}

// body returns the body of a capture.
func body(t testing.TB, name string) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := b.ReadFrom(capture(t, name).Body); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b.String()
}

// bodies are those of all captures.
func bodies(t testing.TB) (all []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "ironic", "*.http"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for _, f := range files {
		all = append(all, body(t, strings.TrimSuffix(filepath.Base(f), ".http")))
	}
	return all
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

func readFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
