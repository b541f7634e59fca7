package hosts_test

import (
	"context"
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
)

// cluster is an API server of BareMetalHosts in memory: lists in pages of one version, watches from a version on, and
// versions that have become too old. It needs no socket, so that it may be used in a bubble.
type cluster struct {
	mu     sync.Mutex
	events []event // all that ever happened: their number is the version
	forgot int     // events that no watch can begin before
	cuts   int     // how often all watches were ended
	fault  fault
}

type event struct{ kind, key, text string }

// fault answers in the place of the cluster, unless it returns nil and nil.
type fault func(r *http.Request) (*http.Response, error)

// tell makes or changes a host, or takes it away: kind is ADDED, MODIFIED or DELETED.
func (c *cluster) tell(kind, key, uid, node, extra string) {
	namespace, name, _ := strings.Cut(key, "/")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, event{kind, key, fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"uid":%q,"resourceVersion":"%d"},
		"status":{"provisioning":{"ID":%q}%s}}`, name, namespace, uid, len(c.events)+1, node, extra)})
}

// breaks lets f answer from now on, nil = the cluster. hangUp ends all watches; where forget is set, all versions so
// far are too old then.
func (c *cluster) breaks(f fault, hangUp, forget bool) {
	if forget {
		c.tell("BOOKMARK", "", "", "", "")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault = f; hangUp {
		c.cuts++
	}
	if forget {
		c.forgot = len(c.events)
	}
}

// RoundTrip implements http.RoundTripper.
func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	f, cuts := c.fault, c.cuts
	c.mu.Unlock()
	if f != nil {
		if a, err := f(r); a != nil || err != nil {
			return a, err
		}
	}
	_, prefix, _ := strings.Cut(r.URL.Path, "/namespaces/")
	prefix = strings.TrimSuffix(prefix, "baremetalhosts")
	if !isWatch(r) {
		return c.list(r, prefix)
	}
	in, out := io.Pipe()
	stop := context.AfterFunc(r.Context(), func() { in.CloseWithError(r.Context().Err()) })
	go func() {
		defer stop()
		defer out.Close()
		from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
		for r.Context().Err() == nil && c.send(out, &from, prefix) == cuts {
			<-time.After(time.Second / 4)
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: in, Request: r}, nil
}

// send writes what has happened after a version, and tells how often all watches were ended.
func (c *cluster) send(w io.Writer, from *int, prefix string) (cuts int) {
	c.mu.Lock()
	due, old, cuts := c.events[*from:], *from < c.forgot, c.cuts
	*from = len(c.events)
	c.mu.Unlock()
	if old {
		fmt.Fprintf(w, `{"type":"ERROR","object":%s}`, status(http.StatusGone, "Expired"))
	}
	for _, e := range due {
		if strings.HasPrefix(e.key, prefix) {
			fmt.Fprintf(w, `{"type":%q,"object":%s}`, e.kind, e.text)
		}
	}
	return cuts
}

func (c *cluster) list(r *http.Request, prefix string) (*http.Response, error) {
	q := r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit"))
	c.mu.Lock()
	defer c.mu.Unlock()
	version, from := len(c.events), 0
	if token := q.Get("continue"); token != "" {
		_, _ = fmt.Sscanf(token, "%d:%d", &version, &from)
	}
	switch {
	case limit == 0, q.Has("resourceVersion"):
		panic("a list that the server sends in one answer: " + r.URL.String())
	case version < c.forgot:
		return refuse(http.StatusGone, "Expired")(r)
	}
	hosts := map[string]string{}
	for _, e := range c.events[:version] {
		if hosts[e.key] = e.text; e.kind == "DELETED" || e.kind == "BOOKMARK" || !strings.HasPrefix(e.key, prefix) {
			delete(hosts, e.key)
		}
	}
	var items []string
	for _, key := range slices.Sorted(maps.Keys(hosts)) {
		items = append(items, hosts[key])
	}
	to, next := min(from+limit, len(items)), ""
	if to < len(items) {
		next = fmt.Sprint(version, ":", to)
	}
	const text = `{"items":[%s],"kind":"BareMetalHostList","metadata":{"continue":%q,"resourceVersion":"%d"}}`
	return say(http.StatusOK, fmt.Sprintf(text, strings.Join(items[from:to], ","), next, version))(r)
}

func isWatch(r *http.Request) bool { return r.URL.Query().Has("watch") }

func status(code int, reason string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Status","status":"Failure","message":"no: %s","reason":%[1]q,"code":%d}`, reason, code)
}

func say(code int, text string) fault {
	return func(r *http.Request) (*http.Response, error) {
		head := http.Header{"Content-Type": {"application/json"}}
		return &http.Response{StatusCode: code, Header: head, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
}

func refuse(code int, reason string) fault { return say(code, status(code, reason)) }

func drop(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

// endless answers with a text that does not end.
func endless(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(spaces{r.Context()}), Request: r}, nil
}

type spaces struct{ context.Context }

func (s spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), s.Err()
}
