package realkube

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// Proxy passes connections on to an API server until it is told not to: a network that
// can be cut. It does not look into them, so TLS stays between the two ends. It ends with the test. Its methods
// may be called from one goroutine at a time.
type Proxy struct {
	URL string // https, to be used instead of the API server's

	target  string
	flow    sync.RWMutex // taken by Swallow: nothing passes
	swallow bool

	mu     sync.Mutex
	refuse bool
	conns  map[net.Conn]bool
}

// Proxy opens one in front of this API server.
func (k *Kube) Proxy(tb testing.TB) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(child.Loopback, "0"))
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{URL: "https://" + l.Addr().String(), target: strings.TrimPrefix(k.URL, "https://"), conns: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return // closed
			}
			running.Go(func() { p.serve(near) })
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		p.Refuse()
		p.flows()
		running.Wait()
	})
	return p
}

// Swallow lets nothing pass any more: connections stay, new ones open, and nobody is ever
// answered. Mend lets what was sent meanwhile arrive.
func (p *Proxy) Swallow() {
	p.flow.Lock()
	p.swallow = true
}

// Refuse breaks all connections, and new ones at once.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	p.refuse = true
	p.mu.Unlock()
	p.Break()
}

// Break breaks all connections; new ones are welcome.
func (p *Proxy) Break() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Mend undoes Swallow and Refuse.
func (p *Proxy) Mend() {
	p.mu.Lock()
	p.refuse = false
	p.mu.Unlock()
	p.flows()
}

func (p *Proxy) flows() {
	if p.swallow {
		p.swallow = false
		p.flow.Unlock()
	}
}

// serve passes bytes both ways; the end of one way ends both.
func (p *Proxy) serve(near net.Conn) {
	far, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = near.Close() // the API server is away: so is the connection
		return
	}
	p.mu.Lock()
	p.conns[near], p.conns[far] = true, true
	refuse := p.refuse
	p.mu.Unlock()
	if refuse {
		p.Break()
	}
	var ways sync.WaitGroup
	for to, from := range map[net.Conn]net.Conn{near: far, far: near} {
		ways.Go(func() {
			_, _ = io.Copy(gated{to, p}, from)
			_, _ = to.Close(), from.Close()
		})
	}
	ways.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, near)
	delete(p.conns, far)
}

// gated writes when bytes flow.
type gated struct {
	net.Conn
	p *Proxy
}

func (g gated) Write(b []byte) (int, error) {
	g.p.flow.RLock()
	defer g.p.flow.RUnlock()
	return g.Conn.Write(b)
}
