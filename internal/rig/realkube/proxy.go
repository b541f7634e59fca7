package realkube

import (
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// Proxy passes connections on to an API server until it is told not to: a network that
// can be cut. It does not look into them, so TLS stays between the two ends. Its methods
// may be called from several goroutines.
type Proxy struct {
	URL string // https, to be used instead of the API server's

	target   string
	listener net.Listener
	stopped  chan struct{}
	running  sync.WaitGroup

	mu      sync.Mutex
	refuse  bool
	flowing chan struct{} // closed while bytes pass
	conns   map[net.Conn]bool
}

// Proxy opens one in front of this API server. The caller must call its Stop.
func (k *Kube) Proxy() (*Proxy, error) { return newProxy(strings.TrimPrefix(k.URL, "https://")) }

func newProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(child.Loopback, "0"))
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{
		URL: "https://" + l.Addr().String(), target: target, listener: l,
		stopped: make(chan struct{}), flowing: make(chan struct{}), conns: map[net.Conn]bool{},
	}
	close(p.flowing)
	p.running.Go(p.accept)
	return p, nil
}

// Swallow lets nothing pass any more: connections stay, new ones open, and nobody is ever
// answered. Mend lets what was sent meanwhile arrive.
func (p *Proxy) Swallow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.flowsLocked() {
		p.flowing = make(chan struct{})
	}
}

// Refuse breaks all connections, and new ones at once.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = true
	p.breakLocked()
}

// Break breaks all connections; new ones are welcome.
func (p *Proxy) Break() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.breakLocked()
}

// Mend undoes Swallow and Refuse.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = false
	if !p.flowsLocked() {
		close(p.flowing)
	}
}

// Stop breaks all connections, ends the proxy and waits for its end.
func (p *Proxy) Stop() {
	_ = p.listener.Close()
	close(p.stopped)
	p.Refuse()
	p.running.Wait()
}

func (p *Proxy) flowsLocked() bool {
	select {
	case <-p.flowing:
		return true
	default:
		return false
	}
}

func (p *Proxy) breakLocked() {
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.running.Go(func() { p.serve(near) })
	}
}

func (p *Proxy) serve(near net.Conn) {
	if !p.enter(near) {
		return
	}
	defer p.leave(near)
	far, err := net.Dial("tcp", p.target)
	if err != nil {
		return // the API server is away: so is the connection
	}
	if !p.enter(far) {
		return
	}
	defer p.leave(far)
	back := make(chan struct{})
	go func() {
		defer close(back)
		p.pass(near, far)
	}()
	p.pass(far, near)
	<-back
}

// enter notes a connection, or closes it where none is wanted.
func (p *Proxy) enter(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		_ = c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) leave(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close()
}

// pass copies one way, when bytes flow. The end of one way ends both.
func (p *Proxy) pass(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			p.mu.Lock()
			flowing := p.flowing
			p.mu.Unlock()
			select {
			case <-flowing:
			case <-p.stopped:
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
