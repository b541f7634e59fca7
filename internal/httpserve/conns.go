package httpserve

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// MaxConns is how many connections a listener has at the same time unless its Server says otherwise. BMO has some for
// each of its workers, 32 at most, and a page that is open or a status that is watched has one.
const MaxConns = 1024

// How long a connection must have been waited for before it makes room: what it sends may have come and not been read
// yet. TLS takes a client one more round trip or two. Without it, so few connections as 256 descriptors leave (36)
// still take 360 new ones a second, or three times what 600 silent clients that come again after 5 s ask for: with 144
// a second a probe waited too long.
const (
	roomAfter    = 100 * time.Millisecond
	roomAfterTLS = 250 * time.Millisecond
)

// connLimiter bounds the connections of a server. Where there are too many, a new one takes the place of the one for
// which we have waited longest: of those that have not brought one whole request yet, and only where there are none of
// the others, which wait between two. So whoever asks is served, however many others hold connections open. While all
// of them are being answered new ones wait.
type connLimiter struct {
	net.Listener
	most  int
	after time.Duration // a connection makes room

	mu     sync.Mutex // guards the rest
	change *sync.Cond // of a stage, or the listener is closed
	closed bool
	all    map[net.Conn]place
}

// place is what is known of a connection.
type place struct {
	fresh  bool // the whole header of its first request has not come
	awaits bool // the client is to send something
	served bool // it has brought a whole request before
	since  time.Time
}

// limit bounds the connections of a server.
func limit(s *Server, most int) {
	c := &connLimiter{Listener: s.Listen, most: most, after: roomAfter, all: map[net.Conn]place{}}
	if s.HTTP.TLSConfig != nil {
		c.after = roomAfterTLS
	}
	c.change = sync.NewCond(&c.mu)
	s.Listen, s.HTTP.ConnState, s.HTTP.Handler = c, c.track, c.tracked(s.HTTP.Handler)
	s.HTTP.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, c, conn)
	}
}

// Accept implements net.Listener. The server tracks a connection before it accepts the next.
func (c *connLimiter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.all) >= c.most && !c.closed {
		longest, in := c.longest(time.Now())
		if longest == nil {
			again := time.AfterFunc(in, c.change.Broadcast)
			c.change.Wait()
			again.Stop()
			continue
		}
		c.cut(longest)
	}
	if c.closed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	return conn, nil
}

// longest returns the connection that is to make room, or nil and when one may be found; c.mu is held.
func (c *connLimiter) longest(now time.Time) (conn net.Conn, in time.Duration) {
	var found place
	for other, p := range c.all {
		first := conn == nil || found.served && !p.served || found.served == p.served && p.since.Before(found.since)
		if p.awaits && first {
			conn, found = other, p
		}
	}
	if conn == nil {
		return nil, time.Minute
	}
	if left := c.after - now.Sub(found.since); left > 0 {
		return nil, left
	}
	return conn, 0
}

// cut ends a connection, without a word where it speaks TLS, for that may take a while; c.mu is held.
func (c *connLimiter) cut(conn net.Conn) {
	delete(c.all, conn)
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	_ = conn.Close()
}

// Close implements net.Listener. It cuts fresh connections too: Shutdown waits for them up to 5 s as if they were at
// work, so one that says nothing would hold up the end and make it unclean. Nothing is lost by it: what a server reads
// after its end began it does not answer anyway.
func (c *connLimiter) Close() error {
	err := c.Listener.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.change.Broadcast()
	for conn, p := range c.all {
		if p.fresh {
			c.cut(conn)
		}
	}
	return err
}

// track is a ConnState hook.
func (c *connLimiter) track(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, here := c.all[conn]
	switch {
	case state == http.StateNew && c.closed: // Close has missed it
		c.cut(conn)
	case state == http.StateNew:
		c.all[conn] = place{fresh: true, awaits: true, since: time.Now()}
	case !here: // it was cut
	case state == http.StateActive: // a whole header has come
		c.all[conn] = place{served: p.served, since: time.Now()}
	case state == http.StateIdle:
		c.all[conn] = place{awaits: true, served: true, since: time.Now()}
	default:
		delete(c.all, conn)
	}
	c.change.Signal() // there may be room
}

// tracked has next answer, and notes that the body of a request is waited for until its end was read: an answer waits for
// it too.
func (c *connLimiter) tracked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(c).(net.Conn); ok && r.ContentLength != 0 {
			await := func(awaits bool) {
				c.mu.Lock()
				defer c.mu.Unlock()
				if p, here := c.all[conn]; here {
					p.awaits = awaits
					c.all[conn] = p
					c.change.Signal()
				}
			}
			await(true)
			r = r.WithContext(r.Context()) // the server goes by the body that it knows
			r.Body = &arriving{r.Body, func() { await(false) }}
		}
		next.ServeHTTP(w, r)
	})
}

// arriving is a body that may still be on its way.
type arriving struct {
	io.ReadCloser
	arrived func()
}

// Read implements io.Reader.
func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err == io.EOF {
		a.arrived()
	}
	return n, err
}
