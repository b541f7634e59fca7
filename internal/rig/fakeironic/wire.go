package fakeironic

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// errDropped is a connection that ends without an answer.
var errDropped = errors.New("connection dropped by the fake")

// ServeHTTP answers on a real connection.
func (s *Server) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	a, err := s.handle(r)
	if err != nil {
		panic(http.ErrAbortHandler) // net/http's way to close without an answer
	}
	for name, values := range a.header {
		out.Header()[name] = values
	}
	length := len(a.body)
	if a.header.Get("Content-Length") == "" && a.status != http.StatusNoContent {
		out.Header().Set("Content-Length", strconv.Itoa(length))
	}
	out.WriteHeader(a.status)
	if _, err := out.Write(a.body); err != nil {
		return // the client is gone
	}
	if whole, err := strconv.Atoi(a.header.Get("Content-Length")); err == nil && whole > length {
		if flusher, ok := out.(http.Flusher); ok {
			flusher.Flush()
		}
		panic(http.ErrAbortHandler) // half a page
	}
}

// Transport returns a RoundTripper that answers in memory, without sockets or
// goroutines: it is safe inside testing/synctest bubbles.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

type transport struct{ s *Server }

// RoundTrip answers one request; faults that end a connection are errors.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	in := r.Clone(r.Context())
	in.Body = r.Body
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if r.URL.Scheme == "https" && in.TLS == nil {
		in.TLS = &tls.ConnectionState{}
	}
	if r.ContentLength == 0 && r.Body != nil && r.Body != http.NoBody {
		in.ContentLength = -1 // unknown: a real wire would carry it in chunks
	}
	a, err := t.s.handle(in)
	if err != nil {
		return nil, fmt.Errorf("fake ironic: %w", err)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Method == http.MethodHead {
		a.body = nil
	}
	var body io.Reader = bytes.NewReader(a.body)
	length := int64(len(a.body))
	if whole, err := strconv.ParseInt(a.header.Get("Content-Length"), 10, 64); err == nil && whole > length {
		body = io.MultiReader(body, cut{})
		length = whole
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: a.header,
		Body: io.NopCloser(body), ContentLength: length, Request: r,
	}, nil
}

type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// wait sleeps by the real clock, or a bubble's, unless ctx ends first.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Serve answers on l until ctx ends, with the API at / and the fake's own
// handler (Admin) at /fake/. It returns nil after an orderly end.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle("/fake/", s.Admin())
	root := http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if isAdmin(r.URL.Path) {
			mux.ServeHTTP(out, r)
			return
		}
		s.ServeHTTP(out, r) // not through the mux: it would redirect odd paths
	})
	server := &http.Server{
		Handler: root, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 2 * time.Minute,
		WriteTimeout: 5 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("fake ironic: serve: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	err := server.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // somebody waits in a slow answer
	}
	if ended := <-done; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	if err != nil {
		return fmt.Errorf("fake ironic: shut down: %w", err)
	}
	return nil
}
