package httpserve

import (
	"container/list"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// MaxConns is how many connections a listener has at the same time unless its Server says
// otherwise. BMO has some for each of its workers, 32 at most, and a page that is open or a
// status that is watched has one.
const MaxConns = 1024

// How long a connection must have been waited for before it makes room: what it sends may have
// come and not been read yet. TLS takes a client one more round trip or two. Without it, so few
// connections as 256 descriptors leave (36) still take 360 new ones a second, or three times what
// 600 silent clients that come again after 5 s ask for: with 144 a second a probe waited too long.
const (
	roomAfter    = 100 * time.Millisecond
	roomAfterTLS = 250 * time.Millisecond
)

// connLimiter bounds the connections of a listener. Where there are too many, a new one takes the
// place of the one for which we have waited longest: of those that have not brought one whole
// request yet, and only where there are none of the others, which wait between two. So
// whoever asks is served, however many others hold connections open. While all of them are
// being answered new ones wait.
type connLimiter struct {
	net.Listener
	most  int
	after time.Duration // a connection makes room

	mu      sync.Mutex
	left    *sync.Cond // of mu: somebody has left, or the listener is closed
	here    int
	closed  bool
	waiting [2]list.List // of *limitedConn, the longest first: those that were never served, the others
}

func newConnLimiter(l net.Listener, most int, after time.Duration) *connLimiter {
	c := &connLimiter{Listener: l, most: most, after: after}
	c.left = sync.NewCond(&c.mu)
	return c
}

// limitedConn is a connection of a connLimiter.
type limitedConn struct {
	net.Conn
	connLimiter *connLimiter

	// Guarded by connLimiter.mu.
	stage  stage
	served bool
	in     *list.List // of those that are waited for; nil: it is being answered
	place  *list.Element
	since  time.Time
}

// stage is how far a connection is.
type stage int

const (
	fresh    stage = iota // the whole header of its first request has not come
	answered              // is its request
	body                  // of a request is on its way
	idle                  // between two requests
	gone
)

// Accept implements net.Listener.
func (c *connLimiter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	for c.here >= c.most && !c.closed {
		longest, in := c.longest(time.Now())
		if longest == nil {
			again := time.AfterFunc(in, c.left.Broadcast)
			c.left.Wait()
			again.Stop()
			continue
		}
		c.mu.Unlock()
		_ = longest.Close()
		c.mu.Lock()
	}
	defer c.mu.Unlock()
	if c.closed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c.here++
	g := &limitedConn{Conn: conn, connLimiter: c, in: &c.waiting[0], since: time.Now()}
	g.place = g.in.PushBack(g)
	return g, nil
}

// longest returns the connection that is to make room, or nil and when one may be found;
// c.mu is held.
func (c *connLimiter) longest(now time.Time) (g *limitedConn, in time.Duration) {
	for i := range c.waiting {
		e := c.waiting[i].Front()
		if e == nil {
			continue
		}
		g = e.Value.(*limitedConn) //nolint:forcetypeassert // nothing else is in it
		if left := c.after - now.Sub(g.since); left > 0 {
			return nil, left
		}
		return g, 0
	}
	return nil, time.Minute
}

// Close implements net.Listener. It cuts fresh connections too: Shutdown waits for them up to 5 s as if they were at
// work, so one that says nothing would hold up the end and make it unclean. Nothing is lost by it: what a server reads
// after its end began it does not answer anyway.
func (c *connLimiter) Close() error {
	err := c.Listener.Close()
	var cut []*limitedConn
	c.mu.Lock()
	c.closed = true
	c.left.Broadcast()
	for e := c.waiting[0].Front(); e != nil; e = e.Next() {
		if g := e.Value.(*limitedConn); g.stage == fresh { //nolint:forcetypeassert // nothing else is in it
			cut = append(cut, g)
		}
	}
	c.mu.Unlock()
	for _, g := range cut {
		_ = g.Close()
	}
	return err
}

// Close implements net.Conn.
func (g *limitedConn) Close() error {
	err := g.Conn.Close()
	g.enter(gone)
	return err
}

// enter notes the stage of g, and so whether we wait for it from now on.
func (g *limitedConn) enter(s stage) {
	c := g.connLimiter
	c.mu.Lock()
	defer c.mu.Unlock()
	if g.stage == gone {
		return
	}
	if g.in != nil {
		g.in.Remove(g.place)
		g.in = nil
	}
	g.stage, g.served = s, g.served || s == idle
	switch s {
	case answered:
		return
	case gone:
		c.here--
	default:
		g.in = &c.waiting[0]
		if g.served {
			g.in = &c.waiting[1]
		}
		g.place, g.since = g.in.PushBack(g), time.Now()
	}
	c.left.Signal() // there is room, or g may make room
}

// limitedConnOf returns the limitedConn below a connection of a server.
func limitedConnOf(conn net.Conn) *limitedConn {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	return conn.(*limitedConn) //nolint:forcetypeassert // the listener has no others
}

// track is a ConnState hook.
func track(conn net.Conn, state http.ConnState) {
	switch g := limitedConnOf(conn); state {
	case http.StateActive:
		g.enter(answered)
	case http.StateIdle:
		g.enter(idle)
	}
}

type limitedConnKey struct{}

// remember is a ConnContext hook: it tells tracked whose request it has.
func remember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, limitedConnKey{}, limitedConnOf(conn))
}

// tracked has next answer, and notes how long the body of the request is on its way.
func tracked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g, _ := r.Context().Value(limitedConnKey{}).(*limitedConn); g != nil && r.ContentLength != 0 {
			g.enter(body)
			arrived := sync.OnceFunc(func() { g.enter(answered) })
			defer arrived()
			r = r.WithContext(r.Context()) // the server goes by the body that it knows
			r.Body = &arriving{r.Body, arrived}
		}
		next.ServeHTTP(w, r)
	})
}

// arriving is a body that tells when it has come, or is not wanted any more.
type arriving struct {
	io.ReadCloser
	arrived func()
}

// Read implements io.Reader.
func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil {
		a.arrived()
	}
	return n, err
}

// Close implements io.Closer.
func (a *arriving) Close() error {
	a.arrived()
	return a.ReadCloser.Close()
}
