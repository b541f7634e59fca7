package request

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Touch is what a write may change of what is read of nodes: that of one node, by its UUID,
// of all, or of none that there is.
type Touch struct {
	Node string
	All  bool
}

// uuidForm is the one spelling of a UUID that names a node for sure.
var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

// Touched tells what a write may change: all, unless it is known to be less. Names do not
// tell, for they move from node to node. prefix is the path of the endpoint, escaped.
// testdata/bmo-requests.txt has what BMO writes.
func Touched(r *http.Request, prefix string) Touch {
	all := Touch{All: true}
	if r.Method == http.MethodPost && r.URL.RawQuery == "" && r.URL.Opaque == "" {
		switch strings.TrimPrefix(r.URL.EscapedPath(), prefix) {
		case "/v1/ports":
			if node, ok := bodyField(r, "node_uuid"); ok && IsUUID(node) {
				return Touch{Node: node}
			}
			return all
		case "/v1/nodes": // the new node's; without a UUID it gets one that nobody has asked for
			node, ok := bodyField(r, "uuid")
			if !ok || node != "" && !IsUUID(node) {
				return all
			}
			return Touch{Node: node}
		}
	}
	if node := writtenNode(r, prefix); node != "" {
		return Touch{Node: node}
	}
	return all
}

// IsUUID reports whether a text is a UUID in that spelling.
func IsUUID(text string) bool { return uuidForm.MatchString(text) }

// writtenNode is the UUID of the node that a path names, "" where it names none for sure.
func writtenNode(r *http.Request, prefix string) string {
	path := strings.TrimPrefix(r.URL.EscapedPath(), prefix)
	if r.URL.Opaque != "" || strings.Contains(path, "%") {
		return ""
	}
	parts := strings.Split(path, "/")
	if len(parts) < 4 || parts[0] != "" || parts[1] != "v1" || parts[2] != "nodes" && parts[2] != "heartbeat" || !IsUUID(parts[3]) {
		return ""
	}
	for _, part := range parts[4:] {
		if part == "." || part == ".." {
			return ""
		}
	}
	return parts[3]
}

// bodyField returns a text at the top of the JSON object in a small body, "" where it has
// none of that name; false where the body cannot be read, or others could read it otherwise.
func bodyField(r *http.Request, name string) (text string, ok bool) {
	if r.GetBody == nil || r.ContentLength <= 0 || r.ContentLength > maxFields || mediaType(r.Header) != jsonType {
		return "", false
	}
	body, err := r.GetBody()
	if err != nil {
		return "", false
	}
	defer func() { _ = body.Close() }()
	var c candidates
	if err := scanObject(body, name, &c); err != nil || c.unsure || len(c.targets) > 1 {
		return "", false
	}
	return strings.Join(c.targets, ""), true
}

// Writes reports whether a request on its way to Ironic may change something, by its
// head. A lookup does, though it is a GET.
func Writes(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	default:
		return true
	}
	if mayOverrideMethod(r) {
		return true
	}
	segments, _ := segmentsOf(r.URL)
	return slices.ContainsFunc(segments, func(s string) bool { return is(s, "lookup") })
}

// Over reports whether a write has changed by its answer what it changes, as far as no poll
// sees it. With 202 Ironic goes on by itself: power, for one, moves no provision state. The
// states that polls see move before the 202 of a PUT states/provision.
func Over(r *http.Request, status int) bool {
	if status == http.StatusAccepted {
		segments, _ := segmentsOf(r.URL)
		return reach(segments) == 2
	}
	return status < http.StatusInternalServerError
}

// NodeItself is the UUID of the node that a request is about and about nothing else: the
// path is /v1/nodes/<uuid>. "" for any other request, and one that may have another method.
func NodeItself(r *http.Request, prefix string) string {
	if uuid := writtenNode(r, prefix); uuid != "" && !mayOverrideMethod(r) && strings.TrimPrefix(r.URL.EscapedPath(), prefix) == "/v1/nodes/"+uuid {
		return uuid
	}
	return ""
}
