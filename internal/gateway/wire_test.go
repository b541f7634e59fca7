package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// wire is the network to a fake Ironic in memory. It tells traces of a connection,
// as a real one does.
type wire struct {
	next http.RoundTripper
	away atomic.Bool   // refuses connections
	held chan struct{} // closed when what jams may go on

	mu   sync.Mutex
	puts []sentPut
	gets int
	asks map[string]int // by method and URI; nil: nobody counts
}

type sentPut struct {
	path   string
	uri    string
	length int64
	header http.Header
	body   string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.away.Load() {
		return nil, syscall.ECONNREFUSED
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	if r.URL.Path == "/v1/jam" {
		select {
		case <-w.held:
		case <-r.Context().Done():
		}
		return nil, syscall.ECONNREFUSED
	}
	if r.Method != http.MethodPut {
		w.mu.Lock()
		w.gets++
		if w.asks != nil {
			w.asks[r.Method+" "+r.URL.RequestURI()]++
		}
		w.mu.Unlock()
		return w.next.RoundTrip(r)
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	w.puts = append(w.puts, sentPut{r.URL.EscapedPath(), r.URL.RequestURI(), r.ContentLength, r.Header.Clone(), string(body)})
	w.mu.Unlock()
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return w.next.RoundTrip(r)
}

// sent counts what reached Ironic.
func (w *wire) sent() (puts, gets int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.puts), w.gets
}

// count begins to count what is asked from now on; counts tells how often what holds text
// was.
func (w *wire) count() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asks = map[string]int{}
}

func (w *wire) counts(text string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ask, times := range w.asks {
		if strings.Contains(ask, text) {
			n += times
		}
	}
	return n
}
