package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"strings"
	"syscall"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// flight is a PUT that has its yes, on its way to Ironic.
type flight struct {
	target  ironic.Target
	observe bool               // nothing is refused, whoever leads
	pass    *admission.Pass    // nil: of a node that was not seen, where nothing is refused
	uuid    string             // of the node that the decision was about: it goes to this one; "": not seen
	wait    context.Context    // ends when the client is gone or the PUT too old to be sent
	stop    context.CancelFunc // ends the sending
	sent    bool               // bytes may have gone out
	lost    bool               // and nobody knows what became of them
	status  int                // of Ironic's answer, 0 = none
}

type flightKey struct{} // of a request that starts work

var (
	// errTooLate is of a PUT whose time was over before it was sent.
	errTooLate = errors.New("too late")
	// errStandby is of a PUT that could have been sent when this process did not lead any more.
	errStandby = errors.New("this replica does not lead any more")
)

// send sends a PUT on. What Ironic answers is waited for even when the client is gone: better to know how it ended.
func (g *Gateway) send(w http.ResponseWriter, r *http.Request, b body, f *flight) {
	ctx := context.WithValue(context.WithoutCancel(r.Context()), flightKey{}, f)
	ctx, f.stop = context.WithTimeout(ctx, g.o.Timeout)
	defer f.stop()
	defer context.AfterFunc(g.ended, f.stop)()
	if !f.observe {
		b.leading = g.o.Leading
	}
	defer func() { // also where the answer could not be passed on
		switch {
		case f.pass == nil:
		case f.lost || f.status >= http.StatusInternalServerError:
			g.o.Log.Warn(
				"gateway: it is not known what became of a provisioning request, its host keeps its slot until it is",
				"node", f.uuid, "target", f.target, "status", f.status)
		case f.status == 0:
			f.pass.Unsent(g.o.Now())
		}
	}()
	g.forward(f.wait, g.whole, w, withBody(r.WithContext(ctx), b))
}

// upstream is the way to Ironic. It tells the decision what becomes of flights.
type upstream struct{ g *Gateway }

// RoundTrip implements http.RoundTripper.
func (u upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	f, _ := r.Context().Value(flightKey{}).(*flight)
	if f != nil {
		if !f.observe && !u.g.o.Leading() || u.g.ended.Err() != nil { // its place may be of one that was cut at our end
			return nil, errStandby
		}
		r = u.traced(r, f)
	}
	resp, err := u.g.network.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		_ = resp.Body.Close()
		err = errors.New("the other side wants to change the protocol, for which no client has asked")
	}
	switch {
	case err == nil && f != nil:
		if f.status = resp.StatusCode; f.pass != nil {
			f.pass.Answered(u.g.o.Now(), f.status)
		}
	case err == nil:
		u.g.deleted(r, resp.StatusCode)
	case f != nil && f.sent && !errors.Is(err, syscall.ECONNREFUSED): // refused: nothing went out on that one
		if f.lost = true; f.pass != nil {
			f.pass.Broken(u.g.o.Now())
		}
	}
	return resp, err
}

// traced is a flight's request, which until there is a connection ends with its wait. From then on bytes may go out:
// that counts as a yes.
func (u upstream) traced(r *http.Request, f *flight) *http.Request {
	waiting := func() bool { return true }
	arrive := func(string) { // once for each connection that is tried; before, nothing went out
		waiting, f.sent = context.AfterFunc(f.wait, f.stop), false
	}
	depart := func(httptrace.GotConnInfo) {
		if waiting(); f.pass != nil {
			f.pass.Sent(u.g.o.Now())
		}
		f.sent = true
	}
	if _, tells := u.g.network.(*http.Transport); !tells { // when it has a connection
		depart(httptrace.GotConnInfo{})
	}
	trace := &httptrace.ClientTrace{GetConn: arrive, GotConn: depart}
	return r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
}

// deleted takes a host out of the queue whose node a client has deleted: it waits for nothing any more. BMO names nodes
// by UUID; a name that is deleted is noticed by the polls and by the silence of the host.
func (g *Gateway) deleted(r *http.Request, status int) {
	uuid, ok := strings.CutPrefix(strings.TrimPrefix(r.URL.Path, g.o.Base.Path), "/v1/nodes/")
	if ok && r.Method == http.MethodDelete && r.URL.RawQuery == "" && status/100 == 2 && uuidForm.MatchString(uuid) {
		g.o.Decider.HostGone(g.o.Now(), admission.Host{NodeUUID: uuid})
	}
}
