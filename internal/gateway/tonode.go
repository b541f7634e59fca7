package gateway

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// toNode returns r with the node in its path named by its UUID, everything else to the
// byte as it came: what is sent can start that node alone, whoever bears the name by then
// (GW-17). r is one that classify calls suspect, ident what it calls the node. Without a
// UUID it is r.
func toNode(r *http.Request, ident, uuid string) *http.Request {
	if uuid == "" || strings.EqualFold(ident, uuid) {
		return r
	}
	path := r.URL.EscapedPath()
	from, to := nodeIn(path)
	r = r.Clone(r.Context())
	r.URL.RawPath = path[:from] + url.PathEscape(uuid) + path[to:]
	r.URL.Path, _ = url.PathUnescape(r.URL.RawPath) // of an EscapedPath it cannot fail
	return r
}

// nodeIn finds the segment of an escaped path [/v1]/nodes/<node>/… that names the node. It
// parts the path as segmentsOf does.
func nodeIn(path string) (from, to int) {
	nth := 1 // of the segments, from 0
	for seen, at := 0, 0; at < len(path); seen++ {
		from = at
		for at < len(path) && width(path[at:]) == 0 {
			at++
		}
		if at == from { // an empty one does not count
			seen--
		} else if seen == nth {
			return from, at
		}
		if name, _ := url.PathUnescape(path[from:at]); seen == 0 && name == "v1" {
			nth = 2
		}
		if at < len(path) {
			at += width(path[at:])
		}
	}
	return len(path), len(path)
}

// width is how many bytes of an escaped text that begins with a separator of segments that
// one has; 0 where it begins with none.
func width(text string) int {
	switch {
	case text[0] == '/' || text[0] == '\\':
		return 1
	case len(text) >= 3 && (strings.EqualFold(text[:3], "%2F") || strings.EqualFold(text[:3], "%5C")):
		return 3
	}
	return 0
}

// mayName reports whether a client may call a node by that ident, as far as Ironic would
// not take it otherwise than the throttle: old versions of the API know no names. Else the
// client has Ironic's own answer already.
func (g *Gateway) mayName(ctx context.Context, out outgoing, ident string) bool {
	const names = 10 // 1.5 has names, 1.10 those of the operator
	if minor, ok := versionOf(out.r.Header); ok && minor >= names || uuidForm.MatchString(ident) {
		return true
	}
	return g.shows(ctx, out, ident)
}

// shows reports whether Ironic shows a node to this client. Else the client has Ironic's own
// answer already.
func (g *Gateway) shows(ctx context.Context, out outgoing, ident string) bool {
	answer, err := g.knock(ctx, out.r, ident, "")
	switch {
	case err != nil:
		g.gateFailed(ctx, out.w, out.r, err)
		return false
	case answer.status != http.StatusOK:
		g.relay(out.w, out.r, answer)
		return false
	}
	return true
}
