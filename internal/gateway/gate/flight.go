package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/proxy"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
)

// flight is a PUT that has its yes, on its way to Ironic. It tells the decision what
// became of it, exactly once, whatever happens (GW-5, GW-6, GW-9).
type flight struct {
	pass    *admission.Pass // nil: of a node that Ironic does not have
	wait    context.Context // ends when the client is gone or the PUT too old to be sent
	now     func() time.Time
	settled atomic.Bool
	status  int  // of Ironic's answer, 0 = none
	lost    bool // it was sent and nobody knows what became of it
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

// Flights is the way to Ironic that tells flights what becomes of them.
func Flights(next http.RoundTripper, leading func() bool) http.RoundTripper {
	_, traced := next.(*http.Transport)
	return &upstream{next: next, traced: traced, leading: leading}
}

type upstream struct {
	next    http.RoundTripper
	traced  bool // next tells when it has a connection
	leading func() bool
}

// RoundTrip implements http.RoundTripper.
func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	f := flightOf(r.Context())
	if f == nil {
		return unchanged(u.next.RoundTrip(r))
	}
	if !u.leading() {
		f.unsent()
		return nil, errKept
	}
	// Until there is a connection, the end of wait ends it all (GW-3).
	ctx, stop := context.WithCancel(r.Context())
	waiting := func() bool { return true }
	var sent atomic.Bool
	arrive := func(string) { // once for each connection that is tried; before, nothing went out
		waiting = context.AfterFunc(f.wait, stop)
		sent.Store(false)
	}
	depart := func(httptrace.GotConnInfo) {
		waiting()
		sent.Store(true) // from now on bytes may go out
		if f.pass != nil {
			f.pass.Sent(f.now())
		}
	}
	if !u.traced {
		depart(httptrace.GotConnInfo{})
	}
	trace := &httptrace.ClientTrace{GetConn: arrive, GotConn: depart}
	resp, err := unchanged(u.next.RoundTrip(r.WithContext(httptrace.WithClientTrace(ctx, trace))))
	switch {
	case err == nil:
		f.status = resp.StatusCode
		f.settle(func(p *admission.Pass, now time.Time) { p.Answered(now, resp.StatusCode) })
		resp.Body = &ending{resp.Body, stop}
		return resp, nil
	case !sent.Load(), errors.Is(err, syscall.ECONNREFUSED): // also where a dead connection was tried before
		f.unsent()
		if f.wait.Err() != nil {
			err = errTooLate
		}
	case errors.Is(err, errKept): // nothing of its body went out
		f.unsent()
	default:
		f.lost = true
		f.settle((*admission.Pass).Broken)
	}
	stop()
	return nil, err
}

var (
	// errTooLate is of a PUT that was too late already on the way to Ironic.
	errTooLate = fmt.Errorf("%w: too late", proxy.ErrKept)
	// errStandby is of a PUT that could have been sent when this process did not lead any more.
	errStandby = errors.New("this replica does not lead any more")
	errKept    = fmt.Errorf("%w: %w", proxy.ErrKept, errStandby) // nothing of it was sent
	errTorn    = fmt.Errorf("cut off: %w", errStandby)           // it was cut off in its body
)

// fence opens bodies that cannot be sent by a process that does not lead: it may have been
// paused since it decided, up to this very moment (GW-3). A request whose body does not
// come, or not all of it, is one that Ironic does not carry out.
func fence(leading func() bool, open func() (io.ReadCloser, error)) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		body, err := open()
		if err != nil {
			return nil, err
		}
		return &fenced{ReadCloser: body, leading: leading}, nil
	}
}

type fenced struct {
	io.ReadCloser
	leading func() bool
	begun   bool
}

// Read implements io.Reader.
func (b *fenced) Read(p []byte) (int, error) {
	if !b.leading() {
		if b.begun {
			return 0, errTorn
		}
		return 0, errKept
	}
	b.begun = true
	return b.ReadCloser.Read(p)
}

// unchanged refuses a change of the protocol, for which nobody has asked.
func unchanged(resp *http.Response, err error) (*http.Response, error) {
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		_ = resp.Body.Close()
		return nil, errors.New("the other side wants to change the protocol")
	}
	return resp, err
}

// ending lets go of a request's context when its answer is closed.
type ending struct {
	io.ReadCloser
	stop context.CancelFunc
}

// Close implements io.Closer.
func (e *ending) Close() error {
	defer e.stop()
	return e.ReadCloser.Close()
}
