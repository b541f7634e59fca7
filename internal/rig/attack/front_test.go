//go:build linux

package attack

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// front stands between the throttle and Ironic and is now and then an enemy: lists of all
// kinds have no end then, or are gzip bombs.
type front struct {
	*httptest.Server
	enemy atomic.Int32
	names atomic.Int64
	bomb  []byte
}

// What the front is.
const (
	honest  = iota
	endless // page after page of nodes with long texts
	onePage // a page without an end
	bomb    // 400,000 rows, packed
	kinds
)

func newFront(t *testing.T, ironic string) *front {
	t.Helper()
	to, err := url.Parse(ironic)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{bomb: packed()}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := f.enemy.Load()
		if kind == honest || r.Method != http.MethodGet || r.URL.Path != "/v1/nodes" {
			proxy.ServeHTTP(w, r)
			return
		}
		f.hostile(w, r, kind)
	}))
	t.Cleanup(f.Close)
	return f
}

// turn changes sides until ctx ends. The view is not stale before the next honest time.
func (f *front) turn(ctx context.Context) {
	for kind := int32(endless); ctx.Err() == nil; kind = kind%(kinds-1) + 1 {
		wait(ctx, 4*time.Second)
		f.enemy.Store(kind)
		wait(ctx, 2*time.Second)
		f.enemy.Store(honest)
	}
}

func (f *front) hostile(w http.ResponseWriter, r *http.Request, kind int32) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-OpenStack-Ironic-API-Minimum-Version", "1.1")
	h.Set("X-OpenStack-Ironic-API-Maximum-Version", "1.81")
	if kind == bomb {
		h.Set("Content-Encoding", "gzip")
		_, _ = w.Write(f.bomb)
		return
	}
	pages := 1
	if kind == onePage {
		pages = 1 << 10
	}
	_, _ = io.WriteString(w, `{"nodes": [`)
	for n := 0; n < pages && r.Context().Err() == nil; n++ {
		f.rows(w, r, 1000)
	}
	_, _ = io.WriteString(w, `{}], "next": "more"}`)
}

// rows writes nodes that nobody has, and a comma behind each.
func (f *front) rows(w io.Writer, r *http.Request, n int) {
	state := cmp.Or(r.URL.Query().Get("provision_state"), "available")
	var b bytes.Buffer
	long := strings.Repeat("e", 4000)
	for range n {
		id := f.names.Add(1)
		fmt.Fprintf(&b, `{"uuid": "%08x-0000-4000-8000-%012x", "name": "%d-%s", "provision_state": %q, "provision_updated_at": "2026-11-22T00:00:00+00:00", "last_error": "%d %s"},`,
			uint32(id), id, id, long[:200], state, id, long)
	}
	_, _ = w.Write(b.Bytes())
}

// packed is a list of 400,000 nodes that is small on its way.
func packed() []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, _ = io.WriteString(z, `{"nodes": [`)
	long := strings.Repeat("e", 300)
	for i := range 400_000 {
		_, _ = fmt.Fprintf(z, `{"uuid": "%d", "name": "%d", "provision_state": "deploying", "last_error": "%s"},`, i, i, long)
	}
	_ = z.Close()
	return b.Bytes()
}
