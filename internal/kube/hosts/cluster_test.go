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

// fault answers in the place of the cluster, unless it returns nil.
type fault func(r *http.Request) http.HandlerFunc

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

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	f := c.fault
	c.mu.Unlock()
	if f != nil {
		if answer := f(r); answer != nil {
			answer(w, r)
			return
		}
	}
	_, namespace, _ := strings.Cut(r.URL.Path, "/namespaces/")
	namespace = strings.TrimSuffix(namespace, "/baremetalhosts")
	w.Header().Set("Content-Type", "application/json")
	if isWatch(r) {
		c.watch(w, r, namespace)
	} else {
		c.list(w, r, namespace)
	}
}

func (c *cluster) sortedLocked(namespace string) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(c.hosts)) {
		if namespace == "" || strings.HasPrefix(key, namespace+"/") {
			all = append(all, c.hosts[key])
		}
	}
	return all
}

func (c *cluster) list(w http.ResponseWriter, r *http.Request, namespace string) {
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
		refuse(http.StatusGone, metav1.StatusReasonExpired)(w, r)
		return
	}
	to, next := min(from+limit, len(all)), ""
	if to < len(all) {
		next = fmt.Sprint(id, ":", to)
	}
	fmt.Fprintf(w, `{"apiVersion":"metal3.io/v1alpha1","items":[%s],"kind":"BareMetalHostList","metadata":{"continue":%q,"resourceVersion":%q}}`,
		strings.Join(all[from:to], ","), next, id)
}

const bookmark = `{"type":"BOOKMARK","object":{"apiVersion":"metal3.io/v1alpha1","kind":"BareMetalHost","metadata":{"resourceVersion":"%d"}}}`

func (c *cluster) watch(w http.ResponseWriter, r *http.Request, namespace string) {
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
		w.(http.Flusher).Flush()
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

// refuse answers with an error, drop by breaking the connection, and write with a text.
func refuse(code int, reason metav1.StatusReason) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write(status(code, reason))
	}
}

func drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func write(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, text)
	}
}

func always(h http.HandlerFunc) fault { return func(*http.Request) http.HandlerFunc { return h } }

// RoundTrip calls the cluster without a socket, so that it may be used in a bubble. Bodies arrive as they are written.
func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	in, out := io.Pipe()
	w := &pipeWriter{out: out, header: http.Header{}, began: make(chan int, 1)}
	ctx, failed := r.Context(), make(chan struct{})
	stop := context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		defer stop()
		defer func() {
			if recover() != nil {
				close(failed)
				out.CloseWithError(io.ErrUnexpectedEOF)
				return
			}
			w.WriteHeader(http.StatusOK)
			out.Close()
		}()
		c.ServeHTTP(w, r)
	}()
	select {
	case code := <-w.began:
		return &http.Response{StatusCode: code, Status: fmt.Sprint(code, " ", http.StatusText(code)), Header: w.header, Body: in, Request: r}, nil
	case <-failed:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type pipeWriter struct {
	out    *io.PipeWriter
	header http.Header
	once   sync.Once
	began  chan int
}

func (w *pipeWriter) Header() http.Header  { return w.header }
func (w *pipeWriter) Flush()               { w.WriteHeader(http.StatusOK) }
func (w *pipeWriter) WriteHeader(code int) { w.once.Do(func() { w.began <- code }) }
func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(p)
}
