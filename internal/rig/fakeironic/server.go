package fakeironic

import (
	"net/http"
	"sync"
	"time"
)

// Server is Ironic's HTTP round a World. It is safe for concurrent use. Make it
// with NewServer; it starts no goroutine.
type Server struct {
	clock func() time.Time

	mu    sync.Mutex // guards all below
	world *World
	chaos chaos
}

// NewServer serves w by the given clock; time.Now is the usual one.
func NewServer(w *World, clock func() time.Time) *Server {
	return &Server{world: w, clock: clock}
}

// With runs f on the world under the server's lock. f must not keep the world
// and must not call the server.
func (s *Server) With(f func(now time.Time, w *World)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.clock(), s.world)
}

// Truth returns what really goes on now.
func (s *Server) Truth() (t Truth) {
	s.With(func(now time.Time, w *World) { t = w.Truth(now) })
	return t
}

// answer is a response before it meets a wire or the faults on demand.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// handle plays one request. The lock is held only for the world, never while a
// fault makes somebody wait.
func (s *Server) handle(r *http.Request) (answer, error) {
	c := newCall(r)
	s.mu.Lock()
	now := s.clock()
	s.world.Advance(now)
	hits := s.chaos.pick(now, c)
	s.world.count(c.kind)
	s.mu.Unlock()

	if err := hits.before(r.Context()); err != nil {
		return answer{}, err
	}
	if hits.status != 0 {
		return hits.refusal(hits.status), nil
	}
	// The body is read without the lock: a client may be slow to send it.
	c.readBody()

	s.mu.Lock()
	s.world.Advance(s.clock())
	c.w = s.world
	a := c.answer()
	s.mu.Unlock()
	return a, hits.after(r.Context(), &a)
}

// answer runs the middle layers of Ironic: auth, versions, routing.
func (c *call) answer() answer {
	a := answer{header: http.Header{}}
	if f := c.authorize(); f != "" {
		a.status = http.StatusUnauthorized
		a.header.Set("Www-Authenticate", `Basic realm="Baremetal API"`)
		a.header.Set("Content-Type", "application/json")
		a.body = []byte(`{"error":{"message":"` + f + `","code":401}}`)
		return a
	}
	newer := c.w.newer()
	if len(c.path) == 0 && !newer { // the root of the older one knows no versions
		c.minor = 1
	} else {
		minor, ranged, f := c.w.opt.API.negotiate(c.r.Header, newer)
		if ranged {
			a.header.Set(headerMinVersion, "1.1")
			a.header.Set(headerMaxVersion, "1."+itoa(int64(c.w.opt.API.MaxMinor)))
		}
		if f != nil {
			if len(c.path) == 1 && c.path[0] == "" && ranged { // the version document answers in the other form
				f.code = "Client"
				a.header.Set(headerRequestID, "req-"+c.w.draw.UUID())
			}
			a.status, a.body = f.status, f.body()
			a.header.Set("Content-Type", "application/json")
			return a
		}
		c.minor = minor
		a.header.Set(headerVersion, "1."+itoa(int64(minor)))
	}
	a.header.Set(headerRequestID, "req-"+c.w.draw.UUID())
	c.header = a.header
	status, body, f := c.route()
	if f != nil {
		status, body = f.status, f.body()
	}
	a.status, a.body = status, body
	if len(body) > 0 {
		a.header.Set("Content-Type", "application/json")
	}
	return a
}

// authorize returns why a request is refused by http_basic, or nothing.
func (c *call) authorize() string {
	api := &c.w.opt.API
	if api.Username == "" || c.public() {
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

// public paths need no credentials.
func (c *call) public() bool {
	return len(c.path) == 0 || c.path[0] == "" || c.path[0] == "lookup"
}
