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

// MaxConns bounds the connections that a listener has at once, unless its Server says otherwise. BMO has some for each
// of its workers, 32 at most; an open page has one, and so has a watched status.
const MaxConns = 1024

// How long the server waits for a client before its connection may make room: its bytes may have come, but nobody has
// read them yet. TLS takes a client one or two round trips more. At 100 ms, even the 36 connections that 256
// descriptors leave take 360 new ones a second. That is three times what 600 silent clients need that come again after
// 5 s. With 250 ms it was 144, and a probe waited too long.
const (
	roomAfter    = 100 * time.Millisecond
	roomAfterTLS = 250 * time.Millisecond
)

// connLimiter bounds the connections of a server. If there are too many, a new one takes the place of the one that has
// kept the server waiting longest: first of those that have not yet sent one whole request, then of those between two
// requests. So each request gets its answer, however many clients hold connections open. While the server answers on
// all of them, new ones wait.
type connLimiter struct {
	net.Listener
	most  int
	after time.Duration // how long the server waits for a client before its connection may make room

	mu     sync.Mutex // guards the rest
	change *sync.Cond // a place may have changed, or the listener is closed
	closed bool
	all    map[net.Conn]place
}

// place is what connLimiter knows about a connection.
type place struct {
	fresh  bool // the header of its first request has not come whole
	awaits bool // the server waits for the client
	served bool // it has sent a whole request before
	since  time.Time
}

// limit makes s have at most that many connections at once.
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
		longest, wait := c.longest(time.Now())
		if longest == nil {
			again := time.AfterFunc(wait, c.change.Broadcast)
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

// longest returns the connection that has to make room, or nil and the time to wait for one. The caller holds c.mu.
func (c *connLimiter) longest(now time.Time) (conn net.Conn, wait time.Duration) {
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

// cut closes a connection, without the last message of TLS, which may take a while. The caller holds c.mu.
func (c *connLimiter) cut(conn net.Conn) {
	delete(c.all, conn)
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	_ = conn.Close()
}

// Close implements net.Listener. It also cuts fresh connections: Shutdown waits up to 5 s for them as if they were in
// use, so a silent one would delay the end and make it unclean. This loses nothing: a server that ends does not answer
// what it still reads.
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

// track is the ConnState hook of the server.
func (c *connLimiter) track(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, here := c.all[conn]
	switch {
	case state == http.StateNew && c.closed: // Close did not see it yet
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

// tracked calls next, and notes that the server waits for the client until next has read the whole body of a request:
// its answer waits for that too.
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
			r = r.WithContext(r.Context()) // a copy: the server itself uses the Body of the first
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
