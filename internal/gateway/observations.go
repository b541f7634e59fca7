package gateway

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// minorWhole is the API version from which on a node's document has all that the throttle
// reads: conductor_group came last.
const minorWhole = 46

// observations passes to the decision what Ironic's answers to clients show of nodes that
// hold a slot: the operator reads a host that it works on every ten seconds, so the throttle
// need not fetch it once more.
type observations struct {
	next    http.RoundTripper
	gateway *Gateway
}

// RoundTrip implements http.RoundTripper.
func (s observations) RoundTrip(r *http.Request) (*http.Response, error) {
	g := s.gateway
	uuid := documentOf(r, g.base.EscapedPath())
	if uuid == "" || !g.decider.HasSlot(g.now(), uuid) {
		return s.next.RoundTrip(r)
	}
	mark := g.decider.Begin(g.now())
	resp, err := s.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusOK && resp.Header.Get("Content-Encoding") == "" {
		resp.Body = &kept{ReadCloser: resp.Body, want: resp.ContentLength, whole: func(text []byte) {
			node, err := g.ironic.Shown(bytes.NewReader(text))
			if err == nil && strings.EqualFold(node.UUID, uuid) && node.State != "" {
				g.decider.ObserveNode(g.now(), ironic.NodeObservation{Key: node.UUID, Mark: mark, Found: true, Node: node})
			}
		}}
	}
	return resp, err
}

// documentOf is the UUID of the node whose whole document answers r, "" for any other
// request.
func documentOf(r *http.Request, prefix string) string {
	minor, ok := versionOf(r.Header)
	if !ok || minor < minorWhole || r.URL.RawQuery != "" || mayOverrideMethod(r) {
		return ""
	}
	uuid := touched(r, prefix).node
	if r.Method != http.MethodGet && r.Method != http.MethodPatch || uuid == "" ||
		strings.TrimPrefix(r.URL.EscapedPath(), prefix) != "/v1/nodes/"+uuid {
		return ""
	}
	return uuid
}
