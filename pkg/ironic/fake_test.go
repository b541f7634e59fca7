package ironic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// wire is an Ironic in memory which is as awkward as a real one: it cuts the limit to its own, its next link forgets
// the filter, it refuses versions that it does not know. It records every request.
type wire struct {
	mu       sync.Mutex
	nodes    []map[string]any // in order of id
	max      int              // highest API minor
	maxLimit int
	noNext   bool // as behind some proxies
	log      []*http.Request
	// before answers in place of the fake when it returns a response or an error.
	before func(n int, r *http.Request) (*http.Response, error)
}

func newWire(nodes ...map[string]any) *wire {
	return &wire{nodes: nodes, max: 82, maxLimit: 1000}
}

func row(uuid string, state State) map[string]any {
	return map[string]any{"uuid": uuid, "name": "ns~" + uuid, "provision_state": string(state)}
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.log = append(w.log, r)
	n, before := len(w.log)-1, w.before
	w.mu.Unlock()
	if before != nil {
		if resp, err := before(n, r); resp != nil || err != nil {
			return resp, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answer(r), nil
}

// ServeHTTP implements http.Handler.
func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	resp := w.answer(r)
	maps.Copy(rw.Header(), resp.Header)
	rw.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(rw, resp.Body)
}

func (w *wire) answer(r *http.Request) *http.Response {
	if r.Method != http.MethodGet {
		return refusal(405, "only GET here")
	}
	if r.URL.Path == "/v1" {
		resp := reply(200, `{"id":"v1"}`)
		resp.Header.Set(headerMinimum, "1.1")
		resp.Header.Set(headerMaximum, "1."+strconv.Itoa(w.max))
		return resp
	}
	v, ok := minorOf(r.Header.Get("X-OpenStack-Ironic-API-Version"))
	if !ok || v > w.max {
		return reply(406, `{"error_message": "{\"code\": 406, \"title\": \"Not Acceptable\", \"description\": \"no such version\"}"}`)
	}
	q := r.URL.Query()
	if key, ok := strings.CutPrefix(r.URL.Path, "/v1/nodes/"); ok {
		for _, n := range w.nodes {
			if n["uuid"] == key || n["name"] == key {
				resp := reply(200, toJSON(n))
				resp.Header.Set(headerMaximum, "1."+strconv.Itoa(w.max))
				return resp
			}
		}
		return refusal(404, "Node "+key+" could not be found.")
	}
	return w.list(q)
}

func (w *wire) list(q url.Values) *http.Response {
	states, filtered := q["provision_state"]
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit > w.maxLimit {
		limit = w.maxLimit
	}
	start := 0
	if marker := q.Get("marker"); marker != "" {
		if start = w.index(marker) + 1; start == 0 {
			return refusal(404, "Node "+marker+" could not be found.")
		}
	}
	rows := []map[string]any{}
	for _, n := range w.nodes[start:] {
		if len(rows) < limit && (!filtered || n["provision_state"] == states[0]) {
			rows = append(rows, n)
		}
	}
	body := map[string]any{"nodes": rows}
	if len(rows) == limit && !w.noNext {
		body["next"] = fmt.Sprintf("http://ironic.test/v1/nodes?sort_key=id&sort_dir=asc&limit=%d&marker=%v", limit, rows[len(rows)-1]["uuid"])
	}
	return reply(200, toJSON(body))
}

func (w *wire) index(uuid string) int {
	for i, n := range w.nodes {
		if n["uuid"] == uuid {
			return i
		}
	}
	return -1
}

// requests returns path and query of each request so far, without the fields.
func (w *wire) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, r := range w.log {
		q := r.URL.Query()
		q.Del("fields")
		u := url.URL{Path: r.URL.Path, RawQuery: q.Encode()}
		all = append(all, u.String())
	}
	return all
}

func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func reply(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1,
	}
}

func refusal(status int, text string) *http.Response {
	return reply(status, toJSON(map[string]any{"error_message": toJSON(map[string]any{"faultcode": "Client", "faultstring": text})}))
}

// client makes a Client for an Ironic in memory.
func client(t *testing.T, rt http.RoundTripper, change ...func(*Settings)) *Client {
	t.Helper()
	s := Settings{Endpoint: "http://ironic.test:6385", Transport: rt}
	for _, f := range change {
		f(&s)
	}
	c, err := NewClient(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// capture returns a recorded answer of a real Ironic.
func capture(t testing.TB, name string) *http.Response {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "ironic", name+".http"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := bytes.Cut(text, []byte("# response\n"))
	if !ok {
		t.Fatalf("%s holds no response", name)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return resp
}

// body returns the body of a capture.
func body(t testing.TB, name string) []byte {
	t.Helper()
	b, err := io.ReadAll(capture(t, name).Body)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b
}

// captures names all recordings.
func captures(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "ironic", "*.http"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".http")
	}
	return files
}

// always answers each request alike, and GET /v1 as a new Ironic does.
func always(answer func() *http.Response) http.RoundTripper {
	w := newWire()
	w.before = func(_ int, r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/v1" {
			return nil, nil
		}
		return answer(), nil
	}
	return w
}
