package gate

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/proxy"
	"github.com/ironic-throttle/ironic-throttle/internal/gateway/request"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// minorWhole is the API version from which on a node's document has all that the throttle
// reads: conductor_group came last.
const minorWhole = 46

// Observer passes to the decision what Ironic's answers to clients show: of nodes that hold a
// slot, for the operator reads a host that it works on every ten seconds, so the throttle need
// not fetch it once more; and of nodes that a client has deleted, for their hosts wait for
// nothing any more. BMO names nodes by UUID; a name that is deleted is noticed by the polls and
// by the silence of the host.
type Observer struct {
	Next    http.RoundTripper
	Prefix  string // path of Ironic's endpoint, escaped
	Ironic  Ironic
	Decider Decider
	Now     func() time.Time
}

// RoundTrip implements http.RoundTripper.
func (o *Observer) RoundTrip(r *http.Request) (*http.Response, error) {
	uuid := request.NodeItself(r, o.Prefix)
	switch {
	case uuid == "":
	case r.Method == http.MethodDelete:
		resp, err := o.Next.RoundTrip(r)
		if err == nil && resp.StatusCode/100 == 2 {
			o.Decider.HostGone(o.Now(), admission.Host{NodeUUID: uuid})
		}
		return resp, err
	case showsAll(r) && o.Decider.HasSlot(o.Now(), uuid):
		mark := o.Decider.Begin(o.Now())
		resp, err := o.Next.RoundTrip(r)
		if err == nil && resp.StatusCode == http.StatusOK && resp.Header.Get("Content-Encoding") == "" {
			proxy.WhenWhole(resp, func(text []byte) {
				node, err := o.Ironic.Shown(bytes.NewReader(text))
				if err == nil && strings.EqualFold(node.UUID, uuid) && node.State != "" {
					o.Decider.ObserveNode(o.Now(), ironic.NodeObservation{Key: node.UUID, Mark: mark, Found: true, Node: node})
				}
			})
		}
		return resp, err
	}
	return o.Next.RoundTrip(r)
}

// showsAll reports whether the answer to a request about a node is its whole document.
func showsAll(r *http.Request) bool {
	minor, ok := request.Minor(r.Header)
	return ok && minor >= minorWhole && r.URL.RawQuery == "" && (r.Method == http.MethodGet || r.Method == http.MethodPatch)
}
