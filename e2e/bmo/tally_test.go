//go:build e2e

package bmo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// request is what is alike in many requests.
type request struct {
	ours                      bool // from the product itself, else from the operator
	method, path, query, body string
	status                    int // 0: no answer
}

// tally counts the requests that pass. It is safe for concurrent use.
type tally struct {
	mu    sync.Mutex
	seen  map[request]int
	works []ask // for a node, each request for work
}

// asks are the requests for work since then.
func (t *tally) asks(since time.Time) []ask {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, _ := slices.BinarySearchFunc(t.works, since, func(a ask, at time.Time) int { return a.at.Compare(at) })
	return slices.Clone(t.works[i:])
}

// work notes a request for work. Answers come much later, and in another order.
func (t *tally) work(r *http.Request, target string) {
	uuid, isPut := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v1/nodes/"), "/states/provision")
	if r.Method != http.MethodPut || !isPut || target == "manage" || target == "abort" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.works = append(t.works, ask{time.Now(), uuid})
}

func (t *tally) snapshot() map[request]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.seen)
}

// since is what came after an earlier snapshot.
func (t *tally) since(before map[request]int) map[request]int {
	now := t.snapshot()
	for r, n := range before {
		if now[r] -= n; now[r] == 0 {
			delete(now, r)
		}
	}
	return now
}

// count lets requests through to next and counts them.
func (t *tally) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := request{
			ours: strings.HasPrefix(r.UserAgent(), "ironic-throttle"), method: r.Method,
			path: pattern(r.URL.Path), query: strings.Join(slices.Sorted(maps.Keys(r.URL.Query())), "&"),
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // it never came in
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			req.body = bodyPattern(body)
			var state struct{ Target string }
			_ = json.Unmarshal(body, &state)
			t.work(r, state.Target)
		}
		answer := &statusOf{ResponseWriter: w}
		defer func() {
			req.status = answer.status
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.seen == nil {
				t.seen = map[request]int{}
			}
			t.seen[req]++
		}()
		next.ServeHTTP(answer, r)
	})
}

// statusOf remembers the status of an answer.
type statusOf struct {
	http.ResponseWriter
	status int
}

func (s *statusOf) WriteHeader(code int) {
	s.status = code
	s.ResponseWriter.WriteHeader(code)
}

func (s *statusOf) Write(p []byte) (int, error) {
	s.status = cmp.Or(s.status, http.StatusOK)
	return s.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (s *statusOf) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// toIronic passes requests on as they are. Where Ironic is away, the connection breaks.
func toIronic(t *testing.T, target string) http.Handler {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	network := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(network.CloseIdleConnections)
	return &httputil.ReverseProxy{
		Transport: network,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // Ironic makes links of it
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
}

// listen serves until the end of the test.
func listen(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

var (
	nodePath  = regexp.MustCompile(`^(/v1/(?:nodes|ports|drivers))/(detail$|[^/]+)`)
	number    = regexp.MustCompile(`/\d+(/|$)`)
	longValue = regexp.MustCompile(`^[a-z -]{1,24}$`)
)

// pattern is a path without the name of its node, port or driver.
func pattern(path string) string {
	return nodePath.ReplaceAllStringFunc(path, func(s string) string {
		kind, name := s[:strings.LastIndex(s, "/")], s[strings.LastIndex(s, "/")+1:]
		if name == "detail" {
			return s
		}
		return kind + "/{" + strings.TrimSuffix(strings.TrimPrefix(kind, "/v1/"), "s") + "}"
	})
}

// bodyPattern tells the fields of a body: of a JSON patch its operations and paths, of an
// object its names, with the target of a state.
func bodyPattern(body []byte) string {
	var steps []struct{ Op, Path string }
	var fields map[string]any
	var names []string
	switch {
	case len(body) == 0:
		return ""
	case json.Unmarshal(body, &steps) == nil:
		for _, s := range steps {
			names = append(names, s.Op+" "+number.ReplaceAllString(s.Path, "/{n}$1"))
		}
	case json.Unmarshal(body, &fields) == nil:
		for name, value := range fields {
			if text, ok := value.(string); ok && name == "target" && longValue.MatchString(text) {
				name += "=" + text
			}
			names = append(names, name)
		}
	default:
		return "not JSON"
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// fullList reports whether the answer lists all nodes there are.
func (r request) fullList() bool {
	if r.method != http.MethodGet || r.path != "/v1/nodes" && r.path != "/v1/nodes/detail" {
		return false
	}
	keys := strings.Split(r.query, "&")
	return !slices.ContainsFunc(keys, func(k string) bool {
		return slices.Contains([]string{"provision_state", "sort_key", "instance_uuid", "limit"}, k)
	})
}
