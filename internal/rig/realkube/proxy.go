package realkube

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// Proxy passes connections on to an API server, as a network that tests can cut. It does not read them, so TLS is
// between the two ends. It ends with the test. Its methods are for one goroutine.
type Proxy struct {
	URL string // use it instead of the API server's

	target  string
	flow    sync.RWMutex // Swallow holds it, so nothing passes
	swallow bool

	mu     sync.Mutex
	refuse bool
	conns  map[net.Conn]bool
}

// Proxy opens a Proxy in front of this API server.
func (k *Kube) Proxy(tb testing.TB) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(child.Loopback, "0"))
	if err != nil {
		tb.Fatal(err)
	}
	target := strings.TrimPrefix(k.URL, "https://")
	p := &Proxy{URL: "https://" + l.Addr().String(), target: target, conns: map[net.Conn]bool{}}
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

// Swallow lets no byte pass: connections stay, new ones open, and no answer comes. After Mend, what was sent meanwhile
// arrives.
func (p *Proxy) Swallow() {
	p.flow.Lock()
	p.swallow = true
}

// Refuse breaks all connections, and each new one at once.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	p.refuse = true
	p.mu.Unlock()
	p.Break()
}

// Break breaks all connections. New ones work.
func (p *Proxy) Break() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Mend ends Swallow and Refuse.
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

// gated writes only while no Swallow lasts.
type gated struct {
	net.Conn
	p *Proxy
}

func (g gated) Write(b []byte) (int, error) {
	g.p.flow.RLock()
	defer g.p.flow.RUnlock()
	return g.Conn.Write(b)
}
