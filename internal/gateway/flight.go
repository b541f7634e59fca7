package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
)

// flight is a PUT that has its yes, on its way to Ironic. It tells the decision what
// became of it, exactly once, whatever happens (GW-5, GW-6, GW-9).
type flight struct {
	pass    *admission.Pass // nil: of a node that Ironic does not have
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

// watched tells flights what becomes of them. Other requests go straight on.
type watched struct {
	http.RoundTripper
	traced bool // it tells when it has a connection
}

// RoundTrip implements http.RoundTripper.
func (t watched) RoundTrip(r *http.Request) (*http.Response, error) {
	f := flightOf(r.Context())
	if f == nil {
		return t.RoundTripper.RoundTrip(r)
	}
	var sent atomic.Bool
	depart := func(httptrace.GotConnInfo) {
		sent.Store(true) // from now on bytes may go out
		if f.pass != nil {
			f.pass.Sent(f.now())
		}
	}
	if !t.traced {
		depart(httptrace.GotConnInfo{})
	}
	trace := &httptrace.ClientTrace{GotConn: depart}
	resp, err := t.RoundTripper.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
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
