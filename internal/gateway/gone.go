package gateway

import (
	"net/http"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
)

// noteGone tells the decision of a node that Ironic has deleted for a client: its host
// waits for nothing any more. BMO names nodes by UUID; whoever uses a name is noticed by
// the polls and by the silence of the host.
func (g *Gateway) noteGone(resp *http.Response) {
	r := resp.Request
	if r == nil || r.Method != http.MethodDelete || resp.StatusCode/100 != 2 || mayOverrideMethod(r) {
		return
	}
	prefix := g.base.EscapedPath()
	uuid := touched(r, prefix).node
	if uuid != "" && strings.TrimPrefix(r.URL.EscapedPath(), prefix) == "/v1/nodes/"+uuid {
		g.decider.HostGone(g.now(), admission.Host{NodeUUID: uuid})
	}
}
