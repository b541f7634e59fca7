package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
)

// flight is a PUT that has its yes, on its way to Ironic. It tells the decision what became of it, exactly once,
// whatever happens.
type flight struct {
	pass    *admission.Pass // nil: of a node that was not seen, where nothing is refused
	uuid    string          // of the node that the decision was about: it goes to this one; "": not seen
	wait    context.Context // ends when the client is gone or the PUT too old to be sent
	now     func() time.Time
	settled atomic.Bool
	status  int  // of Ironic's answer, 0 = none
	lost    bool // it was sent and nobody knows what became of it
}

type flightKey struct{}

// settle tells how it ended, the first time only.
func (f *flight) settle(how func(pass *admission.Pass, now time.Time)) {
	if !f.settled.Swap(true) && f.pass != nil {
		how(f.pass, f.now())
	}
}

// unsent ends a flight of which no byte went out.
func (f *flight) unsent() { f.settle((*admission.Pass).Unsent) }

// send sends a PUT on. With a flight, what Ironic answers is waited for even when the client is gone: better to know how
// it ended.
func (g *Gateway) send(w http.ResponseWriter, r *http.Request, b body, f *flight) {
	ctx := r.Context()
	if f != nil {
		ctx = context.WithValue(context.WithoutCancel(ctx), flightKey{}, f)
	}
	ctx, cancel := g.bound(ctx, g.o.Timeout)
	defer cancel()
	out, wait := withBody(r.WithContext(ctx), b), ctx
	if f != nil {
		wait = f.wait
		if open := out.GetBody; open != nil {
			out.GetBody = func() (io.ReadCloser, error) {
				body, err := open()
				return &fenced{body, g.o.Leading}, err
			}
			out.Body, _ = out.GetBody()
		}
	}
	vacate, err := enter(wait, g.whole)
	if err != nil {
		g.failed(wait, w, r, err)
		return
	}
	defer vacate()
	if g.ended.Err() != nil { // the place is of one that was cut at our end
		g.failed(wait, w, r, g.ended.Err())
		return
	}
	g.forward(w, out, func(w http.ResponseWriter, r *http.Request, err error) {
		switch {
		case errors.Is(err, errStandby):
			g.standby(w, r)
		case errors.Is(err, errTooLate):
			g.tooLate(w, r)
		default:
			g.fail(w, r, err)
		}
	})
}

var (
	// errTooLate is of a PUT that was too late already on the way to Ironic.
	errTooLate = errors.New("too late")
	// errStandby is of a PUT that could have been sent when this process did not lead any more.
	errStandby = errors.New("this replica does not lead any more")
)

// upstream is the way to Ironic. It tells flights what becomes of them.
type upstream struct {
	next    http.RoundTripper
	leading func() bool
}

// RoundTrip implements http.RoundTripper.
func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	f, _ := r.Context().Value(flightKey{}).(*flight)
	if f == nil {
		return unchanged(u.next.RoundTrip(r))
	}
	if !u.leading() {
		f.unsent()
		return nil, errStandby
	}
	// Until there is a connection, the end of wait ends it all.
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
	if _, traced := u.next.(*http.Transport); !traced { // it does not tell when it has a connection
		depart(httptrace.GotConnInfo{})
	}
	trace := &httptrace.ClientTrace{GetConn: arrive, GotConn: depart}
	resp, err := unchanged(u.next.RoundTrip(r.WithContext(httptrace.WithClientTrace(ctx, trace))))
	if err == nil {
		f.status = resp.StatusCode
		f.settle(func(p *admission.Pass, now time.Time) { p.Answered(now, resp.StatusCode) })
		resp.Body = &ending{resp.Body, stop}
		return resp, nil
	}
	stop()
	if sent.Load() && !errors.Is(err, syscall.ECONNREFUSED) { // that one is of a dead connection that was tried before
		f.lost = true
		f.settle((*admission.Pass).Broken)
		return nil, err
	}
	f.unsent()
	if f.wait.Err() != nil {
		err = errTooLate
	}
	return nil, err
}

// fenced is a body that cannot be sent by a process that does not lead: it may have been paused since it decided, up to
// this very moment. A request whose body does not come, or not all of it, is one that Ironic does not carry out.
type fenced struct {
	io.ReadCloser
	leading func() bool
}

// Read implements io.Reader.
func (b *fenced) Read(p []byte) (int, error) {
	if !b.leading() {
		return 0, errStandby
	}
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
