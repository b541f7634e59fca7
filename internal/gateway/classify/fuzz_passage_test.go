package classify_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
	"github.com/ironic-throttle/ironic-throttle/internal/gateway/classify"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// passage is the gateway between two real ends of HTTP: net/http's server reads what a
// client wrote, and net/http writes what Ironic will read. Whoever asks to start
// work gets a yes: all names are one node's, which holds a slot.
type passage struct {
	gate       http.Handler
	controller *admission.Controller
	server     *http.Server
	accept     chan net.Conn
	prefix     string
}

// passed is one request that came through.
type passed struct {
	class    classify.Class
	to       classify.Route
	read     classify.Reading // of a suspect one
	uri      string           // as it came
	upstream []byte           // what was written to Ironic; nil: refused
}

// granted is the node that every name means here.
const granted = "5fbd2f8c-8d0c-4a55-9a34-0f1b0f6e7a90"

func newPassage(tb testing.TB) *passage {
	tb.Helper()
	return newPassageTo(tb, "")
}

// newPassageTo leads to an Ironic that is not at the root of its web server.
func newPassageTo(tb testing.TB, prefix string) *passage {
	tb.Helper()
	w := &passage{accept: make(chan net.Conn), prefix: prefix}
	var err error
	if w.controller, err = admission.New(admission.DefaultConfig(), time.Now()); err != nil {
		tb.Fatal(err)
	}
	gate, err := gateway.New(gateway.Options{
		Base:      &url.URL{Scheme: "http", Host: "ironic.example:6385", Path: prefix},
		Transport: toIronic{}, Ironic: oneNode{}, Decider: w.controller,
		Timeout: time.Minute, MaxBody: 1 << 20, SpoolLimit: 1 << 20, ListMaxAge: time.Minute,
		Observe: func() bool { return false }, Leading: func() bool { return true }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	w.gate = gate
	// An unhold is never refused, so the node has a slot from now on.
	w.controller.Forward(time.Now(), api.Ask{NodeUUID: granted}, ironic.TargetUnhold)
	w.server = &http.Server{Handler: w, MaxHeaderBytes: 32 << 10, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.server.Serve(w)
	}()
	tb.Cleanup(func() {
		_ = w.server.Close()
		<-done
		gate.Close()
	})
	return w
}

// send gives the server all of a connection's bytes and returns what it made of them.
func (w *passage) send(raw []byte) []passed {
	c := &clientEnd{in: bytes.NewReader(raw), gone: make(chan struct{})}
	w.accept <- c
	<-c.gone
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// ServeHTTP gives the gateway a request, and reads it as well.
func (w *passage) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var p passed
	p.class, p.to = classify.Request(r)
	p.uri = r.URL.RequestURI()
	out := &way{}
	ctx, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(r.Context()), wayKey{}, out))
	defer cancel() // a context without an end makes ReverseProxy look whether the client is gone
	c := r.Context().Value(http.LocalAddrContextKey).(*clientEnd)
	r = r.WithContext(ctx)
	var text bytes.Buffer
	if p.class == classify.Suspect {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &text), r.Body}
	}
	w.gate.ServeHTTP(rw, r)
	if p.class == classify.Suspect {
		p.read, _ = classify.Target(r, p.to, body(text.String()))
	}
	p.upstream = out.text
	c.mu.Lock()
	c.seen = append(c.seen, p)
	c.mu.Unlock()
}

// Accept, Close and Addr make passage a net.Listener.
func (w *passage) Accept() (net.Conn, error) {
	c, ok := <-w.accept
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (w *passage) Close() error {
	defer func() { _ = recover() }() // closed twice by http.Server
	close(w.accept)
	return nil
}

func (w *passage) Addr() net.Addr { return &net.TCPAddr{} }

// clientEnd is a connection of which the client's side is over. It is its own
// LocalAddr, by which a handler finds it.
type clientEnd struct {
	net.Conn
	in   *bytes.Reader
	gone chan struct{}
	once sync.Once

	mu   sync.Mutex // guards seen
	seen []passed
}

func (c *clientEnd) Read(p []byte) (int, error)       { return c.in.Read(p) }
func (c *clientEnd) Write(p []byte) (int, error)      { return len(p), nil }
func (c *clientEnd) Close() error                     { c.once.Do(func() { close(c.gone) }); return nil }
func (c *clientEnd) LocalAddr() net.Addr              { return c }
func (c *clientEnd) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *clientEnd) Network() string                  { return "memory" }
func (c *clientEnd) String() string                   { return "client" }
func (c *clientEnd) SetDeadline(time.Time) error      { return nil }
func (c *clientEnd) SetReadDeadline(time.Time) error  { return nil }
func (c *clientEnd) SetWriteDeadline(time.Time) error { return nil }

type wayKey struct{}

// way keeps what is written to Ironic for one request, without what the gateway asks on its own: that has no Via.
type way struct {
	text []byte
}

// toIronic writes a request as http.Transport does, and answers when it is out.
type toIronic struct{}

func (toIronic) RoundTrip(r *http.Request) (*http.Response, error) {
	var text bytes.Buffer
	err := r.Write(&text)
	if out, ok := r.Context().Value(wayKey{}).(*way); ok && r.Header.Get("Via") != "" {
		out.text = append(out.text, text.Bytes()...)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, err
}

// oneNode is an Ironic where every name is the same node's.
type oneNode struct{}

func (oneNode) Node(_ context.Context, key string) (ironic.Node, bool, error) {
	return ironic.Node{UUID: granted, Name: key, State: ironic.Active}, true, nil
}
