package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// wired is a stage whose gateway has net/http on both sides, over networks in
// memory: clients can be slow, break off and vanish, and no time is lost with it.
type wired struct {
	*stage
	front, back *network // to the gateway, and from it to Ironic
	serving     context.Context
	stop        context.CancelFunc
	ended       chan error // of Serve

	holds atomic.Int32  // requests that Ironic keeps as their X-Hold wants
	held  chan struct{} // closed at their end
}

// behind is what stands behind the gateway, given the fake Ironic.
type behind func(fake http.Handler) http.Handler

// playWired runs script with a gateway that is served, in front of what change makes
// of the fake Ironic, nil: nothing else. In the end no connection to Ironic may be
// left.
func playWired(t *testing.T, o options, change behind, script func(*wired)) {
	t.Helper()
	w := &wired{}
	gate := o.gate
	o.gate = func(opts *gateway.Options) {
		w.front, w.back = newNetwork(), newNetwork()
		opts.Transport = &http.Transport{DialContext: w.back.dial}
		if gate != nil {
			gate(opts)
		}
	}
	play(t, o, func(s *stage) {
		w.stage = s
		defer w.begin(change)()
		script(w)
	})
}

// letIn is stage's, and leaves no connection to Ironic.
func (w *wired) letIn() {
	w.Helper()
	w.stage.letIn()
	<-time.After(upstreamIdle + time.Second)
}

// begin starts both servers; over ends them.
func (w *wired) begin(change behind) (over func()) {
	handler := http.Handler(w.ironic)
	if change != nil {
		handler = change(handler)
	}
	w.held = make(chan struct{})
	server := http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/v1/nodes/nobody"): // of letIn
			rw.WriteHeader(http.StatusNotFound)
			return
		case r.Header.Get("X-Hold") != "":
			w.holds.Add(1)
			<-w.held
			return
		}
		handler.ServeHTTP(rw, r)
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(w.back) }()
	ctx, stop := context.WithCancel(w.Context())
	w.serving, w.stop, w.ended = ctx, stop, make(chan error, 1)
	go func() {
		w.ended <- w.gate.Serve(ctx, w.front, nil)
		close(w.ended)
	}()
	return func() {
		stop()
		for range w.ended {
		}
		<-time.After(upstreamIdle + time.Second)
		if n := w.back.open.Load(); n != 0 {
			w.Errorf("%d connections to Ironic are left open", n)
		}
		_ = server.Close()
		<-ended
	}
}

// caller is a client's connection. Nothing on it takes longer than callerPatience.
type caller struct {
	net.Conn
	t    testing.TB
	from *bufio.Reader
}

const callerPatience = 10 * time.Minute

// call opens a connection and writes text.
func (w *wired) call(text string) *caller {
	w.Helper()
	conn, err := w.front.dial(w.Context(), "", "")
	if err != nil {
		w.Fatal(err)
	}
	c := &caller{conn, w, bufio.NewReader(conn)}
	w.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(callerPatience))
	c.write(text)
	return c
}

func (c *caller) write(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatalf("%.100q: %v", text, err)
	}
}

// closeWrite says that nothing more comes.
func (c *caller) closeWrite() { _ = c.Conn.(*plug).CloseWrite() }

// answer reads an answer to method.
func (c *caller) answer(method string) (*http.Response, string, error) {
	resp, err := http.ReadResponse(c.from, &http.Request{Method: method})
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

// want reads an answer and wants its status, after so long a time.
func (c *caller) want(status int, within time.Duration) *http.Response {
	c.t.Helper()
	begin := time.Now()
	resp, body, err := c.answer(http.MethodPut)
	took := time.Since(begin)
	switch {
	case err != nil:
		c.t.Errorf("after %v: %v, want status %d", took, err, status)
		return &http.Response{Header: http.Header{}}
	case resp.StatusCode != status:
		c.t.Errorf("after %v: %s, want %d: %s", took, resp.Status, status, body)
	case took > within:
		c.t.Errorf("answered after %v, want within %v", took, within)
	}
	return resp
}

// ask is a whole exchange on a connection of its own.
func (w *wired) ask(text string, status int, within time.Duration) *http.Response {
	w.Helper()
	c := w.call(text)
	defer func() { _ = c.Close() }()
	return c.want(status, within)
}

// requestText is a request with a body, or only its begin where length says so.
func requestText(method, path string, length int, body string, fields ...string) string {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: h\r\n%s: 1.81\r\n", method, path, version)
	for _, f := range fields {
		if f != "" {
			head += f + "\r\n"
		}
	}
	if length >= 0 {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", length)
	}
	return head + "\r\n" + body
}

// putText is what BMO sends.
func (w *wired) putText(n int, target ironic.Target, fields ...string) string {
	body := `{"target": "` + string(target) + `"}`
	return requestText(http.MethodPut, w.provision(n), len(body), body, fields...)
}

func (w *wired) provision(n int) string { return "/v1/nodes/" + w.uuids[n] + "/states/provision" }

func getText(path string, fields ...string) string {
	return requestText(http.MethodGet, path, -1, "", fields...)
}

// cutWith reads a request whole, writes text for an answer and closes the connection.
func cutWith(w http.ResponseWriter, r *http.Request, text string) {
	_, _ = io.Copy(io.Discard, r.Body)
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(conn, text)
	_ = conn.Close()
}
