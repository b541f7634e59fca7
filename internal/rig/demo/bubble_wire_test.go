package demo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// What the network says.
var (
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
)

// away says whose connections Ironic refuses.
type away int

const (
	forNobody away = iota
	forPuts
	forAll
)

// wire is the way to Ironic, with the latencies of a real one: up to 40 ms for a
// request, and up to 4 s for a PUT, in whose middle the host begins to work. It is
// safe for concurrent use.
type wire struct {
	ironic http.RoundTripper

	mu      sync.Mutex // guards all below
	draw    *rand.Rand
	away    away
	puts    int           // on their way, with nothing begun yet
	waiting chan struct{} // closed when the next PUT is on its way; nil: nobody waits
}

func newWire(ironic http.RoundTripper, seed uint64) *wire {
	return &wire{ironic: ironic, draw: rand.New(rand.NewPCG(seed, 4))}
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	const most, mostOfPut = 40 * time.Millisecond, 4 * time.Second
	put := r.Method == http.MethodPut
	w.mu.Lock()
	refused := w.away == forAll || w.away == forPuts && put
	there, back := w.span(most), time.Duration(0)
	if put && !refused {
		there, back = w.span(mostOfPut), w.span(mostOfPut/8)
		if w.puts++; w.waiting != nil {
			close(w.waiting)
			w.waiting = nil
		}
	}
	w.mu.Unlock()
	if refused {
		return nil, errRefused
	}
	<-time.After(there)
	resp, err := w.ironic.RoundTrip(r)
	if put {
		w.mu.Lock()
		w.puts--
		w.mu.Unlock()
		<-time.After(back)
	}
	return resp, err
}

func (w *wire) span(most time.Duration) time.Duration {
	return time.Duration(w.draw.Int64N(int64(most)))
}

// shut shuts Ironic's port, or opens it again.
func (w *wire) shut(a away) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = a
}

// inFlight is how many PUTs have begun nothing yet.
func (w *wire) inFlight() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.puts
}

// nextPut is closed when the next PUT is on its way.
func (w *wire) nextPut() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.waiting = make(chan struct{})
	}
	return w.waiting
}

// upstream is the way to Ironic of one life of the throttle: what went out before
// its end is carried out all the same, and nothing goes out after it.
type upstream struct {
	life context.Context
	wire *wire
}

// RoundTrip implements http.RoundTripper.
func (u upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	if u.life.Err() != nil {
		return nil, u.life.Err()
	}
	if r.Method != http.MethodPut {
		return u.wire.RoundTrip(r)
	}
	out, err := sent(r)
	if err != nil {
		return nil, err
	}
	type result struct {
		resp *http.Response
		err  error
	}
	done := make(chan result, 1)
	go func() {
		resp, err := u.wire.RoundTrip(out)
		done <- result{resp, err}
	}()
	select {
	case got := <-done:
		return got.resp, got.err
	case <-u.life.Done():
		return nil, errReset
	}
}

// sent is r as Ironic has it, with nothing of the sender's.
func sent(r *http.Request) (*http.Request, error) {
	out := r.Clone(context.WithoutCancel(r.Context()))
	if r.Body == nil {
		return out, nil
	}
	body, err := io.ReadAll(r.Body)
	out.Body = io.NopCloser(bytes.NewReader(body))
	return out, errors.Join(err, r.Body.Close())
}
