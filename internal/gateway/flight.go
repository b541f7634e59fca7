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

// flight is a PUT with a yes, on its way to Ironic.
type flight struct {
	target  ironic.Target
	observe bool               // nothing is refused, whoever leads
	pass    *admission.Pass    // nil: in mode observe, for a node that the throttle did not see
	uuid    string             // of the node that the decision was about, to which the PUT goes; "": not seen
	wait    context.Context    // ends when the client is gone or the PUT too old to be sent
	stop    context.CancelFunc // ends the sending
	sent    bool               // bytes may have gone out
	lost    bool               // bytes went out, and nobody knows what became of them
	status  int                // of Ironic's answer, 0 = none
}

type flightKey struct{} // of the flight in the context of its request

var (
	// errTooLate: the time of a PUT was over before the gateway sent it.
	errTooLate = errors.New("too late")
	// errStandby: this process stopped leading before it sent a PUT.
	errStandby = errors.New("this replica does not lead any more")
)

// send sends a PUT on. It waits for Ironic's answer even when the client is gone: the slot depends on the answer.
func (g *Gateway) send(w http.ResponseWriter, r *http.Request, b body, f *flight) {
	ctx := context.WithValue(context.WithoutCancel(r.Context()), flightKey{}, f)
	ctx, f.stop = context.WithTimeout(ctx, g.o.Timeout)
	defer f.stop()
	defer context.AfterFunc(g.ended, f.stop)()
	if !f.observe {
		b.leading = g.o.Leading
	}
	defer func() { // even when forward panics because the client did not take the answer
		switch {
		case f.pass == nil:
		case f.lost || f.status >= http.StatusInternalServerError:
			g.o.Log.Warn(
				"gateway: the outcome of a provisioning request is unknown; its host keeps its slot until Ironic shows the node",
				"node", f.uuid, "target", f.target, "status", f.status)
		case f.status == 0:
			f.pass.Unsent(g.o.Now())
		}
	}()
	g.forward(f.wait, g.whole, w, withBody(r.WithContext(ctx), b))
}

// upstream sends requests to Ironic, and tells the decision what becomes of flights.
type upstream struct{ g *Gateway }

// RoundTrip implements http.RoundTripper.
func (u upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	f, _ := r.Context().Value(flightKey{}).(*flight)
	if f != nil {
		if !f.observe && !u.g.o.Leading() || u.g.ended.Err() != nil { // a request that Close cut may have left its place
			return nil, errStandby
		}
		r = u.traced(r, f)
	}
	resp, err := u.g.network.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		_ = resp.Body.Close()
		err = errors.New("Ironic wants to change the protocol, for which no client has asked")
	}
	switch {
	case err == nil && f != nil:
		if f.status = resp.StatusCode; f.pass != nil {
			f.pass.Answered(u.g.o.Now(), f.status)
		}
	case err == nil:
		u.g.deleted(r, resp.StatusCode)
	case f != nil && f.sent && !errors.Is(err, syscall.ECONNREFUSED): // refused: no byte went out on that one
		if f.lost = true; f.pass != nil {
			f.pass.Broken(u.g.o.Now())
		}
	}
	return resp, err
}

// traced returns the request of f. Until it has a connection, it ends with f.wait. From then on bytes may go out, so
// the decision counts the PUT as sent.
func (u upstream) traced(r *http.Request, f *flight) *http.Request {
	waiting := func() bool { return true }
	arrive := func(string) { // once for each connection that is tried: no byte went out on an earlier one
		waiting, f.sent = context.AfterFunc(f.wait, f.stop), false
	}
	depart := func(httptrace.GotConnInfo) {
		if waiting(); f.pass != nil {
			f.pass.Sent(u.g.o.Now())
		}
		f.sent = true
	}
	if _, traces := u.g.network.(*http.Transport); !traces { // it never says when it has a connection
		depart(httptrace.GotConnInfo{})
	}
	trace := &httptrace.ClientTrace{GetConn: arrive, GotConn: depart}
	return r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
}

// deleted takes a host out of the queue when a client has deleted its node. BMO names nodes by UUID; after a DELETE by
// name, the polls and the silence of the host show that the node is gone.
func (g *Gateway) deleted(r *http.Request, status int) {
	uuid, ok := strings.CutPrefix(strings.TrimPrefix(r.URL.Path, g.o.Base.Path), "/v1/nodes/")
	if ok && r.Method == http.MethodDelete && r.URL.RawQuery == "" && status/100 == 2 && uuidForm.MatchString(uuid) {
		g.o.Decider.HostGone(g.o.Now(), admission.Host{NodeUUID: uuid})
	}
}
