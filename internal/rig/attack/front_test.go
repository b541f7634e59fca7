//go:build linux

package attack

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
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
	bombs [2][]byte
}

// What the front is.
const (
	honest   = iota
	endless  // page after page of nodes with long texts
	onePage  // a page without an end
	bomb     // one long text, packed
	bombRows // 400,000 rows, packed
	kinds
)

func newFront(t *testing.T, ironic string) *front {
	t.Helper()
	to, err := url.Parse(ironic)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{bombs: [2][]byte{packed(bombText), packed(bombOfRows)}}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
		w.WriteHeader(http.StatusBadGateway)
	}}
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
	switch kind {
	case endless:
		_, _ = io.WriteString(w, `{"nodes": [`)
		f.rows(w, r, 1000)
		_, _ = io.WriteString(w, `], "next": "more"}`)
	case onePage:
		_, _ = io.WriteString(w, `{"nodes": [`)
		for n := 0; r.Context().Err() == nil && n < 1<<20; n += 1000 {
			f.rows(w, r, 1000)
			_, _ = io.WriteString(w, ",")
		}
	case bomb, bombRows:
		h.Set("Content-Encoding", "gzip")
		_, _ = w.Write(f.bombs[kind-bomb])
	}
}

// rows writes nodes that nobody has.
func (f *front) rows(w io.Writer, r *http.Request, n int) {
	state := r.URL.Query().Get("provision_state")
	if state == "" {
		state = "available"
	}
	var b bytes.Buffer
	long := strings.Repeat("e", 4000)
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		id := f.names.Add(1)
		fmt.Fprintf(&b, `{"uuid": "%08x-0000-4000-8000-%012x", "name": "%d-%s", "provision_state": %q, "provision_updated_at": "2026-11-22T00:00:00+00:00", "last_error": "%d %s"}`,
			uint32(id), id, id, long[:200], state, id, long)
	}
	_, _ = w.Write(b.Bytes())
}

const bombBytes = 256 << 20 // of one text

func bombText(w io.Writer) {
	_, _ = io.WriteString(w, `{"nodes": [{"uuid": "`)
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range bombBytes / len(block) {
		_, _ = w.Write(block)
	}
}

func bombOfRows(w io.Writer) {
	_, _ = io.WriteString(w, `{"nodes": [`)
	long := strings.Repeat("e", 300)
	for i := range 400_000 {
		_, _ = io.WriteString(w, `{"uuid": "`+strconv.Itoa(i)+`", "name": "`+strconv.Itoa(i)+`", "provision_state": "deploying", "last_error": "`+long+`"},`)
	}
}

func packed(write func(io.Writer)) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		panic(err)
	}
	write(z)
	_ = z.Close()
	return b.Bytes()
}
