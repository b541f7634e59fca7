package gateway_test

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// network is TCP in memory, for bubbles: its connections have windows and deadlines.
// It is the listener of its only server.
type network struct {
	accept chan net.Conn
	once   sync.Once
	down   chan struct{}

	dialed, open atomic.Int64                    // connections; open is by the side that dialed
	dialing      func(ctx context.Context) error // before a connection; nil: nothing
	wrap         func(near net.Conn) net.Conn    // the side that dialed; nil: as it is
}

// window is how much one side may send before the other has read it.
const window = 64 << 10

func newNetwork() *network {
	return &network{accept: make(chan net.Conn), down: make(chan struct{})}
}

// dial is a DialContext.
func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if n.dialing != nil {
		if err := n.dialing(ctx); err != nil {
			return nil, err
		}
	}
	l := &link{change: make(chan struct{})}
	l.ends[0].onClose = func() { n.open.Add(-1) }
	select {
	case n.accept <- &plug{l, &l.ends[1], &l.ends[0]}:
	case <-n.down:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.dialed.Add(1)
	n.open.Add(1)
	var near net.Conn = &plug{l, &l.ends[0], &l.ends[1]}
	if n.wrap != nil {
		near = n.wrap(near)
	}
	return near, nil
}

// Accept, Close and Addr make network a net.Listener.
func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.accept:
		return c, nil
	case <-n.down:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	n.once.Do(func() { close(n.down) })
	return nil
}

func (n *network) Addr() net.Addr { return &net.TCPAddr{} }

// link is a connection.
type link struct {
	mu     sync.Mutex // guards the rest
	ends   [2]end
	change chan struct{} // closed at every change
}

type end struct {
	in          []byte // sent to it and not read
	over        bool   // closed
	quiet       bool   // closed for sending
	onClose     func()
	read, write time.Time // deadlines
}

// plug is what one side holds of a link.
type plug struct {
	link       *link
	own, other *end
}

// step is tried until it is done or fails, or the deadline is over.
func (p *plug) step(deadline *time.Time, try func() (done bool, err error)) error {
	p.link.mu.Lock()
	defer p.link.mu.Unlock()
	for {
		if p.own.over {
			return net.ErrClosed
		}
		late := *deadline
		if !late.IsZero() && !time.Now().Before(late) {
			return os.ErrDeadlineExceeded
		}
		if done, err := try(); done || err != nil {
			p.changed()
			return err
		}
		change := p.link.change
		p.link.mu.Unlock()
		await(change, late)
		p.link.mu.Lock()
	}
}

func (p *plug) changed() {
	close(p.link.change)
	p.link.change = make(chan struct{})
}

// await returns at a change or at a time that may be zero.
func await(change <-chan struct{}, late time.Time) {
	var over <-chan time.Time
	if !late.IsZero() {
		timer := time.NewTimer(time.Until(late))
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-change:
	case <-over:
	}
}

func (p *plug) Read(b []byte) (n int, err error) {
	err = p.step(&p.own.read, func() (bool, error) {
		n = copy(b, p.own.in)
		p.own.in = p.own.in[n:]
		if n == 0 && (p.other.over || p.other.quiet) {
			return false, io.EOF
		}
		return n > 0 || len(b) == 0, nil
	})
	return n, err
}

func (p *plug) Write(b []byte) (n int, err error) {
	for err == nil && n < len(b) {
		err = p.step(&p.own.write, func() (bool, error) {
			if p.other.over {
				return false, syscall.ECONNRESET
			}
			some := min(window-len(p.other.in), len(b)-n)
			p.other.in = append(p.other.in, b[n:n+some]...)
			n += some
			return some > 0, nil
		})
	}
	return n, err
}

func (p *plug) set(what func()) error {
	p.link.mu.Lock()
	defer p.link.mu.Unlock()
	what()
	p.changed()
	return nil
}

func (p *plug) Close() error {
	return p.set(func() {
		if !p.own.over && p.own.onClose != nil {
			p.own.onClose()
		}
		p.own.over = true
	})
}

// CloseWrite is net.TCPConn's.
func (p *plug) CloseWrite() error { return p.set(func() { p.own.quiet = true }) }

func (p *plug) SetDeadline(t time.Time) error {
	return p.set(func() { p.own.read, p.own.write = t, t })
}
func (p *plug) SetReadDeadline(t time.Time) error  { return p.set(func() { p.own.read = t }) }
func (p *plug) SetWriteDeadline(t time.Time) error { return p.set(func() { p.own.write = t }) }
func (p *plug) LocalAddr() net.Addr                { return &net.TCPAddr{} }
func (p *plug) RemoteAddr() net.Addr               { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
