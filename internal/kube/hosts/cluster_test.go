package hosts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cluster plays the part of an API server that is about BareMetalHosts: lists in pages
// that are all of one version, watches from a version on, and what has become too old.
type cluster struct {
	t testing.TB

	mu       sync.Mutex // guards what follows
	version  int
	objects  map[key]string // as JSON, with VERSION in the place of the version
	versions map[key]int
	events   []event
	forgot   int // events up to this version
	pages    map[string][]string
	moved    chan struct{} // closed at the next event
	cut      chan struct{} // closed to end all watches
	fault    func(r *http.Request) http.HandlerFunc
	asked    []string // queries
	watches  int      // open ones
	pageCap  int      // the most hosts in a page, 0: what is asked for
}

type event struct {
	version int
	key     key
	text    string
}

func newCluster(t testing.TB) *cluster {
	return &cluster{
		t: t, objects: map[key]string{}, versions: map[key]int{}, pages: map[string][]string{},
		version: 100, moved: make(chan struct{}), cut: make(chan struct{}),
	}
}

// hostJSON is a host as a cluster has it. extra goes into its status.
func hostJSON(k key, uid, node, extra string) string {
	return fmt.Sprintf(`{"apiVersion":"metal3.io/v1alpha1","kind":"BareMetalHost","metadata":{"name":%q,"namespace":%q,`+
		`"uid":%q,"resourceVersion":"VERSION"},"spec":{"online":true},"status":{"provisioning":{"ID":%q,"state":"available"}%s}}`,
		k.name, k.namespace, uid, node, extra)
}

func (c *cluster) put(k key, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := "MODIFIED"
	if _, ok := c.objects[k]; !ok {
		kind = "ADDED"
	}
	c.version++
	c.objects[k], c.versions[k] = text, c.version
	c.tellLocked(k, kind, text)
}

func (c *cluster) remove(k key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, ok := c.objects[k]
	if !ok {
		return
	}
	c.version++
	delete(c.objects, k)
	c.tellLocked(k, "DELETED", text)
}

func (c *cluster) tellLocked(k key, kind, text string) {
	text = strings.Replace(text, "VERSION", strconv.Itoa(c.version), 1)
	c.events = append(c.events, event{c.version, k, fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", kind, text)})
	close(c.moved)
	c.moved = make(chan struct{})
}

// send puts any text into the watches, or a bookmark.
func (c *cluster) send(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.events = append(c.events, event{version: c.version, text: strings.ReplaceAll(text, "VERSION", strconv.Itoa(c.version))})
	close(c.moved)
	c.moved = make(chan struct{})
}

// forget makes every version so far too old, and every page.
func (c *cluster) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.forgot = c.version
	clear(c.pages)
}

// hangUp ends all watches.
func (c *cluster) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.cut)
	c.cut = make(chan struct{})
}

// breaks lets f answer instead of the cluster, where it returns something; nil: no more.
func (c *cluster) breaks(f func(r *http.Request) http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = f
}

func (c *cluster) queries() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked)
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") == "true" }

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	fault := c.fault
	c.asked = append(c.asked, r.URL.Path+"?"+r.URL.RawQuery)
	c.mu.Unlock()
	if fault != nil {
		if answer := fault(r); answer != nil {
			answer(w, r)
			return
		}
	}
	namespace, ok := strings.CutPrefix(r.URL.Path, "/apis/metal3.io/v1alpha1/namespaces/")
	if ok {
		namespace, ok = strings.CutSuffix(namespace, "/baremetalhosts")
	} else {
		namespace, ok = "", r.URL.Path == "/apis/metal3.io/v1alpha1/baremetalhosts"
	}
	switch {
	case !ok || r.Method != http.MethodGet:
		c.t.Errorf("%s %s", r.Method, r.URL)
		refuse(http.StatusNotFound, metav1.StatusReasonNotFound)(w, r)
	case isWatch(r):
		c.serveWatch(w, r, namespace)
	default:
		c.serveList(w, r, namespace)
	}
}

func (c *cluster) serveList(w http.ResponseWriter, r *http.Request, namespace string) {
	q := r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit"))
	if limit <= 0 || limit > 500 || q.Has("resourceVersion") {
		c.t.Errorf("a list of everything in one answer: %s", r.URL)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pageCap > 0 {
		limit = min(limit, c.pageCap)
	}
	id, from := strconv.Itoa(c.version)+"/"+namespace, 0
	if token := q.Get("continue"); token != "" {
		var offset string
		id, offset, _ = strings.Cut(token, ":")
		from, _ = strconv.Atoi(offset)
		if c.pages[id] == nil {
			refuse(http.StatusGone, metav1.StatusReasonExpired)(w, r)
			return
		}
	} else {
		c.pages[id] = c.sortedLocked(namespace)
	}
	all := c.pages[id]
	to, next := min(from+limit, len(all)), ""
	if to < len(all) {
		next = id + ":" + strconv.Itoa(to)
	}
	version, _, _ := strings.Cut(id, "/")
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"apiVersion":"metal3.io/v1alpha1","items":[%s],"kind":"BareMetalHostList","metadata":{"continue":%q,"resourceVersion":%q}}`,
		strings.Join(all[from:to], ","), next, version)
}

func (c *cluster) sortedLocked(namespace string) []string {
	keys := slices.SortedFunc(maps.Keys(c.objects), func(a, b key) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	})
	list := []string{}
	for _, k := range keys {
		if namespace == "" || namespace == k.namespace {
			list = append(list, strings.Replace(c.objects[k], "VERSION", strconv.Itoa(c.versions[k]), 1))
		}
	}
	return list
}

func (c *cluster) serveWatch(w http.ResponseWriter, r *http.Request, namespace string) {
	from, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	seconds, err2 := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	if err != nil || err2 != nil || r.URL.Query().Get("allowWatchBookmarks") != "true" {
		c.t.Errorf("a watch from no version, without an end or without bookmarks: %s", r.URL)
	}
	c.mu.Lock()
	tooOld, cut := from < c.forgot, c.cut
	c.watches++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.watches--
		c.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	if tooOld {
		fmt.Fprintf(w, `{"type":"ERROR","object":%s}`, statusJSON(http.StatusGone, metav1.StatusReasonExpired))
		return
	}
	end := time.After(time.Duration(seconds) * time.Second)
	for {
		c.mu.Lock()
		var due []event
		for _, e := range c.events {
			if e.version > from && (namespace == "" || e.key.namespace == "" || e.key.namespace == namespace) {
				due = append(due, e)
			}
		}
		from = c.version
		moved := c.moved
		c.mu.Unlock()
		for _, e := range due {
			fmt.Fprint(w, e.text)
		}
		w.(http.Flusher).Flush()
		select {
		case <-moved:
		case <-cut:
			return
		case <-end:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func statusJSON(code int, reason metav1.StatusReason) []byte {
	text, _ := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Message: "because of a test: " + string(reason), Reason: reason, Code: int32(code),
	})
	return text
}

// refuse answers with an error.
func refuse(code int, reason metav1.StatusReason) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		w.Write(statusJSON(code, reason))
	}
}

// always answers every request with h.
func always(h http.HandlerFunc) func(*http.Request) http.HandlerFunc {
	return func(*http.Request) http.HandlerFunc { return h }
}
