package fakeironic

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing/iotest"
	"time"
)

// The headers, in the spelling of net/http.
const (
	headerVersion    = "X-Openstack-Ironic-Api-Version"
	headerMinVersion = "X-Openstack-Ironic-Api-Minimum-Version"
	headerMaxVersion = "X-Openstack-Ironic-Api-Maximum-Version"
	headerRequestID  = "Openstack-Request-Id"
)

// Server is the HTTP API of a World. It is safe for concurrent use. Make one with NewServer; it starts no goroutine.
type Server struct {
	clock func() time.Time

	mu     sync.Mutex // guards the fields below
	world  *World
	faults []*activeFault
	lastID int // of faults
}

// NewServer returns a Server of w. clock is mostly time.Now.
func NewServer(w *World, clock func() time.Time) *Server {
	return &Server{world: w, clock: clock}
}

// With calls f with the world, under the server's lock. f must not keep the world, and must not call the server.
func (s *Server) With(f func(now time.Time, w *World)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.clock(), s.world)
}

// Truth returns the truth now.
func (s *Server) Truth() (t Truth) {
	s.With(func(now time.Time, w *World) { t = w.Truth(now) })
	return t
}

// answer is a response before faults change it.
type answer struct {
	status int
	header http.Header
	body   []byte
	half   bool // the connection breaks in the middle of the body
}

// handle answers a request. It holds the lock only for calls of the world, not while a fault makes the client wait.
func (s *Server) handle(r *http.Request) (answer, error) {
	c := newCall(r)
	s.mu.Lock()
	now := s.clock()
	s.world.Advance(now)
	hits := s.pick(now, c)
	s.world.count(c.kind)
	s.mu.Unlock()

	if instead, err := hits.before(r.Context()); err != nil {
		return answer{}, err
	} else if instead != nil {
		return *instead, nil
	}
	// Without the lock: a client may send its body slowly.
	c.readBody()

	s.mu.Lock()
	s.world.Advance(s.clock())
	c.w = s.world
	a := c.answer()
	s.mu.Unlock()
	return a, hits.after(r.Context(), &a)
}

// answer does what the layers of Ironic do: credentials, versions, routes.
func (c *call) answer() answer {
	c.header = http.Header{}
	if why := c.unauthorized(); why != "" {
		c.header.Set("Www-Authenticate", `Basic realm="Baremetal API"`)
		return c.says(401, appendJSON(nil, object{{"error", object{{"message", why}, {"code", 401}}}}))
	}
	minor, ranged, f := c.negotiate()
	root := len(c.path) == 0 // the root has no versions
	if root {
		minor, f = 1, nil
	}
	if ranged && !root {
		c.header.Set(headerMinVersion, "1.1")
		c.header.Set(headerMaxVersion, fmt.Sprint("1.", c.w.opt.API.MaxMinor))
	}
	if f != nil {
		if len(c.path) == 1 && c.path[0] == "" && ranged { // the version document has the other form of errors
			f.code = "Client"
			c.header.Set(headerRequestID, "req-"+c.w.draw.UUID())
		}
		return c.says(f.status, f.body())
	}
	c.header.Set(headerRequestID, "req-"+c.w.draw.UUID())
	if c.minor = minor; !root {
		c.header.Set(headerVersion, fmt.Sprint("1.", minor))
	}
	switch got := c.route(); {
	case got.fault != nil:
		return c.says(got.fault.status, got.fault.body())
	case got.body == nil:
		return c.says(got.status, nil)
	default:
		return c.says(got.status, appendJSON(nil, got.body))
	}
}

func (c *call) says(status int, body []byte) answer {
	if len(body) > 0 {
		c.header.Set("Content-Type", "application/json")
	}
	return answer{status: status, header: c.header, body: body}
}

// unauthorized returns why http_basic refuses the request; "": it does not. Version documents and what agents ask need
// no credentials.
func (c *call) unauthorized() string {
	api := &c.w.opt.API
	if api.Username == "" || len(c.path) == 0 || c.path[0] == "" || c.path[0] == "lookup" {
		return ""
	}
	user, password, ok := c.r.BasicAuth()
	switch {
	case !ok:
		return "Authorization required"
	case user != api.Username || password != api.Password:
		return "Incorrect username or password"
	}
	return ""
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	a, err := s.handle(r)
	if err != nil {
		panic(http.ErrAbortHandler) // net/http's way to close without an answer
	}
	if a.write(out); a.half {
		_ = http.NewResponseController(out).Flush()
		panic(http.ErrAbortHandler)
	}
}

// write writes the answer, or half of its body.
func (a *answer) write(out http.ResponseWriter) {
	maps.Copy(out.Header(), a.header)
	if a.status != http.StatusNoContent {
		out.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	out.WriteHeader(a.status)
	body := a.body
	if a.half {
		body = body[:len(body)/2]
	}
	_, _ = out.Write(body) // it fails only if the client is gone
}

// Transport returns a RoundTripper that answers in memory, without sockets or goroutines.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

type transport struct{ s *Server }

// RoundTrip implements http.RoundTripper. A fault that breaks the connection is an error.
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
		in.ContentLength = -1 // not known: a real connection would carry chunks
	}
	a, err := t.s.handle(in)
	if err != nil {
		return nil, fmt.Errorf("fake ironic: %w", err)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	out := httptest.NewRecorder()
	a.write(out)
	response := out.Result()
	switch response.Request = r; {
	case r.Method == http.MethodHead:
		response.Body = http.NoBody
	case a.half:
		response.Body = io.NopCloser(io.MultiReader(response.Body, iotest.ErrReader(io.ErrUnexpectedEOF)))
	}
	return response, nil
}

// Serve serves the API at / and Admin at /fake/ on l, until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	admin := s.Admin()
	server := &http.Server{
		Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/fake/") {
				admin.ServeHTTP(out, r)
				return
			}
			s.ServeHTTP(out, r)
		}),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 2 * time.Minute, WriteTimeout: 5 * time.Minute,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // requests may break off
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("fake ironic: serve: %w", err)
	}
	return nil
}
