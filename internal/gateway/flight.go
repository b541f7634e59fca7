package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
)

// flight is a PUT that has its yes, on its way to Ironic. It tells the decision what
// became of it, exactly once, whatever happens (GW-5, GW-6, GW-9).
type flight struct {
	pass    *admission.Pass // nil: of a node that Ironic does not have
	wait    context.Context // ends when the client is gone or the PUT too old to be sent
	now     func() time.Time
	settled atomic.Bool
	status  int // of Ironic's answer, 0 = none
}

type flightKey struct{}

func flightOf(ctx context.Context) *flight {
	f, _ := ctx.Value(flightKey{}).(*flight)
	return f
}

// settle tells how it ended, the first time only.
func (f *flight) settle(how func(pass *admission.Pass, now time.Time)) {
	if !f.settled.Swap(true) && f.pass != nil {
		how(f.pass, f.now())
	}
}

// unsent ends a flight of which no byte went out.
func (f *flight) unsent() { f.settle((*admission.Pass).Unsent) }

// upstream is the way to Ironic. No more than upstreamConns requests are on it, for
// each holds one of the few threads of Ironic's server; the others wait here, where
// their going away can still be noticed. It tells flights what becomes of them.
type upstream struct {
	next   http.RoundTripper
	traced bool // next tells when it has a connection
	room   *semaphore.Weighted
}

func newUpstream(t http.RoundTripper) *upstream {
	t = newTransport(t)
	_, traced := t.(*http.Transport)
	return &upstream{next: t, traced: traced, room: semaphore.NewWeighted(upstreamConns)}
}

// RoundTrip implements http.RoundTripper.
func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	f := flightOf(r.Context())
	wait := r.Context()
	if f != nil {
		wait = f.wait
	}
	if err := u.enter(wait); err != nil {
		if f != nil {
			f.unsent()
			err = errTooLate
		}
		return nil, err
	}
	var resp *http.Response
	var err error
	if f == nil {
		resp, err = u.next.RoundTrip(r)
	} else {
		resp, err = f.fly(u, r)
	}
	if err != nil {
		u.room.Release(1)
		return nil, err
	}
	resp.Body = &leaving{ReadCloser: resp.Body, leave: func() { u.room.Release(1) }}
	return resp, nil
}

// enter waits for room until ctx ends.
func (u *upstream) enter(ctx context.Context) error {
	if err := u.room.Acquire(ctx, 1); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		u.room.Release(1)
		return err
	}
	return nil
}

// fly sends the request of f.
func (f *flight) fly(u *upstream, r *http.Request) (*http.Response, error) {
	var sent atomic.Bool
	depart := func(httptrace.GotConnInfo) {
		sent.Store(true) // from now on bytes may go out
		if f.pass != nil {
			f.pass.Sent(f.now())
		}
	}
	if !u.traced {
		depart(httptrace.GotConnInfo{})
	}
	trace := &httptrace.ClientTrace{GotConn: depart}
	resp, err := u.next.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	switch {
	case err == nil:
		f.status = resp.StatusCode
		f.settle(func(p *admission.Pass, now time.Time) { p.Answered(now, resp.StatusCode) })
	case !sent.Load(), errors.Is(err, syscall.ECONNREFUSED): // also where a dead connection was tried before
		f.unsent()
	default:
		f.settle((*admission.Pass).Broken)
	}
	return resp, err
}

// leaving tells when an answer has been read, or is not wanted any more.
type leaving struct {
	io.ReadCloser
	leave func()
	once  sync.Once
}

// Close implements io.Closer.
func (l *leaving) Close() error {
	defer l.once.Do(l.leave)
	return l.ReadCloser.Close()
}
