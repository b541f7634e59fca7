package httpserve

import (
	"net"
	"net/http"
	"sync"
)

// fresh holds the connections of one http.Server that have not sent a whole
// first request. Shutdown waits for them up to 5 s as if they were at work, so
// one connection that says nothing would hold up the end and make it unclean.
// Nothing is lost by cutting them: what a server reads after its end began it
// does not answer anyway. The zero value is empty and ready.
type fresh struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{} // guarded by mu, like ended
	ended bool
}

// track is a ConnState hook.
func (f *fresh) track(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(f.conns, c)
	case f.ended: // taken in the moment of the end
		_ = c.Close()
	case f.conns == nil:
		f.conns = map[net.Conn]struct{}{c: {}}
	default:
		f.conns[c] = struct{}{}
	}
}

// end cuts those that are fresh, now and from now on. Their goroutines see the
// error and end.
func (f *fresh) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	for c := range f.conns {
		_ = c.Close()
	}
}
