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
	gone   bool
	served bool
	in     *list.List // of those that are waited for; nil: it is being answered
	place  *list.Element
	since  time.Time
}

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
	return &limitedConn{Conn: conn, connLimiter: c}, nil
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

// Close implements net.Listener.
func (c *connLimiter) Close() error {
	c.mu.Lock()
	c.closed = true
	c.left.Broadcast()
	c.mu.Unlock()
	return c.Listener.Close()
}

// Close implements net.Conn.
func (g *limitedConn) Close() error {
	err := g.Conn.Close()
	g.leave()
	return err
}

func (g *limitedConn) leave() {
	g.connLimiter.mu.Lock()
	defer g.connLimiter.mu.Unlock()
	if g.gone {
		return
	}
	g.awaitedLocked(false)
	g.gone = true
	g.connLimiter.here--
	g.connLimiter.left.Signal()
}

// awaited notes whether we wait for g from now on.
func (g *limitedConn) awaited(so bool) {
	g.connLimiter.mu.Lock()
	defer g.connLimiter.mu.Unlock()
	g.awaitedLocked(so)
}

func (g *limitedConn) awaitedLocked(so bool) {
	if g.in != nil {
		g.in.Remove(g.place)
		g.in = nil
	}
	if so && !g.gone {
		g.in = &g.connLimiter.waiting[0]
		if g.served {
			g.in = &g.connLimiter.waiting[1]
		}
		g.place, g.since = g.in.PushBack(g), time.Now()
		g.connLimiter.left.Signal() // it may make room
	}
}

// limitedConnOf returns the limitedConn below a connection of a server.
func limitedConnOf(conn net.Conn) *limitedConn {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	g, _ := conn.(*limitedConn)
	return g
}

// track is a ConnState hook.
func (c *connLimiter) track(conn net.Conn, state http.ConnState) {
	g := limitedConnOf(conn)
	if g == nil {
		return
	}
	switch state {
	case http.StateNew:
		g.awaited(true)
	case http.StateIdle:
		c.mu.Lock()
		g.served = true
		g.awaitedLocked(true)
		c.mu.Unlock()
	case http.StateActive:
		g.awaited(false)
	}
}

type limitedConnKey struct{}

// remember is a ConnContext hook: it tells serve whose request it has.
func remember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, limitedConnKey{}, limitedConnOf(conn))
}

// serve has next answer, and notes how long the body of the request is on its way.
func (c *connLimiter) serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g, _ := r.Context().Value(limitedConnKey{}).(*limitedConn); g != nil && r.ContentLength != 0 {
			g.awaited(true)
			arrived := sync.OnceFunc(func() { g.awaited(false) })
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
