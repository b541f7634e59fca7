package hosts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cluster is an API server in memory that is about BareMetalHosts: lists in pages of one version, watches from a version on, and
// versions that have become too old.
type cluster struct {
	mu      sync.Mutex // guards what follows
	version int
	hosts   map[string]string // by namespace/name, as JSON
	events  []event
	forgot  int // events up to this version
	pages   map[string][]string
	moved   chan struct{} // closed at the next event
	cut     chan struct{} // closed to end all watches
	fault   fault
}

// answer is what a request gets.
type answer func(r *http.Request) (*http.Response, error)

// fault answers in the place of the cluster, unless it returns nil.
type fault func(r *http.Request) answer

type event struct {
	version         int
	namespace, text string
}

func newCluster() *cluster {
	return &cluster{
		version: 100, hosts: map[string]string{}, pages: map[string][]string{},
		moved: make(chan struct{}), cut: make(chan struct{}),
	}
}

// put makes or changes a host. extra goes into its status.
func (c *cluster) put(key, uid, node, extra string) {
	namespace, name, _ := strings.Cut(key, "/")
	c.raw(key, fmt.Sprintf(`{"apiVersion":"metal3.io/v1alpha1","kind":"BareMetalHost","metadata":{"name":%q,"namespace":%q,"uid":%q,`+
		`"resourceVersion":"VERSION"},"spec":{},"status":{"provisioning":{"ID":%q,"state":"available"}%s}}`, name, namespace, uid, node, extra))
}

func (c *cluster) raw(key, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := "ADDED"
	if _, ok := c.hosts[key]; ok {
		kind = "MODIFIED"
	}
	c.version++
	c.hosts[key] = strings.Replace(text, "VERSION", strconv.Itoa(c.version), 1)
	c.tellLocked(kind, key)
}

func (c *cluster) remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.hosts[key]; ok {
		c.version++
		c.tellLocked("DELETED", key)
		delete(c.hosts, key)
	}
}

func (c *cluster) tellLocked(kind, key string) {
	namespace, _, _ := strings.Cut(key, "/")
	c.events = append(c.events, event{c.version, namespace, fmt.Sprintf(`{"type":%q,"object":%s}`, kind, c.hosts[key])})
	close(c.moved)
	c.moved = make(chan struct{})
}

// forget makes every version so far too old, and every page. hangUp ends all watches.
func (c *cluster) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.forgot = c.version
	clear(c.pages)
}

func (c *cluster) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.cut)
	c.cut = make(chan struct{})
}

func (c *cluster) breaks(f fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = f
}

func isWatch(r *http.Request) bool { return r.URL.Query().Has("watch") }

// RoundTrip implements http.RoundTripper without a socket, so that it may be used in a bubble.
func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	f := c.fault
	c.mu.Unlock()
	if f != nil {
		if a := f(r); a != nil {
			return a(r)
		}
	}
	_, namespace, _ := strings.Cut(r.URL.Path, "/namespaces/")
	namespace = strings.TrimSuffix(namespace, "/baremetalhosts")
	if !isWatch(r) {
		return c.list(r, namespace)
	}
	in, out := io.Pipe()
	stop := context.AfterFunc(r.Context(), func() { in.CloseWithError(r.Context().Err()) })
	go func() {
		defer stop()
		c.watch(out, r, namespace)
		out.Close()
	}()
	return answered(r, http.StatusOK, "application/json", in), nil
}

func (c *cluster) sortedLocked(namespace string) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(c.hosts)) {
		if namespace == "" || strings.HasPrefix(key, namespace+"/") {
			all = append(all, c.hosts[key])
		}
	}
	return all
}

func (c *cluster) list(r *http.Request, namespace string) (*http.Response, error) {
	q := r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit"))
	c.mu.Lock()
	defer c.mu.Unlock()
	id, from := fmt.Sprint(c.version), 0
	if token := q.Get("continue"); token != "" {
		var offset string
		id, offset, _ = strings.Cut(token, ":")
		from, _ = strconv.Atoi(offset)
	} else if c.pages[id+"/"+namespace] = c.sortedLocked(namespace); limit == 0 || q.Has("resourceVersion") {
		limit = 1 << 20 // of a version all come at once
	}
	all, known := c.pages[id+"/"+namespace]
	if !known {
		return refuse(http.StatusGone, metav1.StatusReasonExpired)(r)
	}
	to, next := min(from+limit, len(all)), ""
	if to < len(all) {
		next = fmt.Sprint(id, ":", to)
	}
	const text = `{"apiVersion":"metal3.io/v1alpha1","items":[%s],"kind":"BareMetalHostList","metadata":{"continue":%q,"resourceVersion":%q}}`
	return say(http.StatusOK, "application/json", fmt.Sprintf(text, strings.Join(all[from:to], ","), next, id))(r)
}

const bookmark = `{"type":"BOOKMARK","object":{"apiVersion":"metal3.io/v1alpha1","kind":"BareMetalHost","metadata":{"resourceVersion":"%d"}}}`

func (c *cluster) watch(w io.Writer, r *http.Request, namespace string) {
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	c.mu.Lock()
	cut := c.cut
	var due []string
	if from < c.forgot {
		due = append(due, fmt.Sprintf(`{"type":"ERROR","object":%s}`, status(http.StatusGone, metav1.StatusReasonExpired)))
	}
	c.mu.Unlock()
	for marks := time.Tick(time.Minute); ; {
		c.mu.Lock()
		for _, e := range c.events {
			if e.version > from && (namespace == "" || e.namespace == namespace) {
				due = append(due, e.text)
			}
		}
		from = max(from, c.version)
		moved := c.moved
		c.mu.Unlock()
		for _, text := range due {
			fmt.Fprintln(w, text)
		}
		due = nil
		select {
		case <-moved:
		case <-marks:
			due = append(due, fmt.Sprintf(bookmark, from))
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func status(code int, reason metav1.StatusReason) []byte {
	text, _ := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Message: "because of a test: " + string(reason), Reason: reason, Code: int32(code),
	})
	return text
}

func answered(r *http.Request, code int, contentType string, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: code, Status: fmt.Sprint(code, " ", http.StatusText(code)), Header: http.Header{"Content-Type": {contentType}},
		Body: body, Request: r,
	}
}

func say(code int, contentType, text string) answer {
	return func(r *http.Request) (*http.Response, error) {
		return answered(r, code, contentType, io.NopCloser(strings.NewReader(text))), nil
	}
}

func refuse(code int, reason metav1.StatusReason) answer {
	return say(code, "application/json", string(status(code, reason)))
}

func drop(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

// endless answers with a text that does not end.
func endless(r *http.Request) (*http.Response, error) {
	text := io.MultiReader(strings.NewReader(`"`), forever{r.Context()})
	return answered(r, http.StatusOK, "application/json", io.NopCloser(text)), nil
}

type forever struct{ context.Context }

func (f forever) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), f.Err()
}

func always(a answer) fault { return func(*http.Request) answer { return a } }
