// Package classify tells what a request means to a real Ironic, in whatever spelling: whether it may start work, on
// which node, and by which target. It sends nothing and keeps nothing.
//
// The gate must never let anything round it that a real Ironic would carry out. So a request is suspect as soon as
// its path could lead to states/provision by any reading, and free only when every reading of its target is a free
// one. What spellings there are was found by trying them on a real Ironic (e2e holds them).
package classify

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Every bound of what is looked at.
const (
	maxText    = 512      // bytes of a JSON key, or target
	maxForm    = 1 << 20  // bytes of a form
	maxTargets = 16       // that are kept of a request
	maxScan    = 64 << 10 // bytes of a JSON object, without what is long in it
	scanBuffer = 32 << 10
)

// Class says what is to be done with a request, as far as its head tells.
type Class int

// The classes.
const (
	Passes  Class = iota // starts nothing, whatever its body says
	Suspect              // a PUT states/provision: its target decides
	Obscure              // may be one, in a shape that tells no node for sure
)

// Route is what the path of a suspect request names.
type Route struct {
	Ident  string // UUID or name of the node, as Ironic would decode it
	Target string // a target in the path, "" without one
	part   int    // of the path that is the node
}

// Request reads the head of a request: none that a real Ironic would take for PUT states/provision passes.
func Request(r *http.Request) (Class, Route) {
	if r.URL.Opaque != "" || r.URL.Path == "" || r.URL.Path[0] != '/' {
		return Obscure, Route{} // "PUT http:v1/nodes/…" is no path, and Ironic takes it
	}
	segments, sure := segmentsOf(r.URL)
	reached, method := reach(segments), strings.ToUpper(r.Method)
	switch {
	case reached == 0:
		return Passes, Route{}
	case reached == 2 && method == http.MethodPut:
		if to, ok := canonical(segments); ok && sure {
			return Suspect, to
		}
	case knownMethods[method] && !mayOverrideMethod(r):
		return Passes, Route{} // at states/provision itself Ironic has its own no for it
	}
	return Obscure, Route{} // the verb may come as the method: PROVISION …/states, or _method=provision
}

// knownMethods have no other meaning to Ironic's framework.
var knownMethods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodOptions: true,
	http.MethodPut: true, http.MethodPost: true, http.MethodPatch: true, http.MethodDelete: true,
}

var escapes = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// segmentsOf returns the parts of the path between slashes, decoded as often as it goes: whatever stands between us and
// Ironic may decode once more than Ironic. Not sure: more than one decoding changed something, so which is meant is open.
func segmentsOf(u *url.URL) (segments []string, sure bool) {
	const most = 8
	path := u.Path // decoded once, as Ironic does
	sure = true
	for range most {
		again := escapes.ReplaceAllStringFunc(path, func(e string) string { // as Python: what is no escape stays
			b, _ := hex.DecodeString(e[1:])
			return string(b)
		})
		if again == path {
			break
		}
		path, sure = again, false
	}
	for part := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '/' || c == '\\' }) {
		segments = append(segments, part)
	}
	return segments, sure
}

// reach is 2 where a part "states" comes before a part "provision", 1 where there is the first alone. Whatever cleans the
// path on the way can only drop parts, and cut suffixes off them; a case that is folded does no harm here.
func reach(segments []string) int {
	found := 0
	for _, s := range segments {
		switch {
		case found == 1 && provisionWord.MatchString(s):
			return 2
		case statesWord.MatchString(s):
			found = 1
		}
	}
	return found
}

// The words in all their forms: provision.json, provision;x and provision%00 all are provision.
var (
	statesWord    = regexp.MustCompile(`^(?i:states)([^A-Za-z]|$)`)
	provisionWord = regexp.MustCompile(`^(?i:provision)([^A-Za-z]|$)`)
)

// nameForm is what Ironic takes for the name of a node; UUIDs are in it. What begins with an underscore is not: its
// framework may take that for an attribute of an object.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9.~-][A-Za-z0-9._~-]{0,254}$`)

// canonical reads [v1/]nodes/<ident>/states/provision[/target[/configdrive]], the
// shape of which is known for sure to whom every part belongs. It changes segments.
func canonical(segments []string) (Route, bool) {
	to := Route{part: 1}
	if len(segments) > 0 && segments[0] == "v1" {
		segments, to.part = segments[1:], 2
	}
	if n := len(segments); n > 0 {
		segments[n-1] = strings.TrimSuffix(segments[n-1], ".json")
	}
	if len(segments) < 4 || len(segments) > 6 ||
		segments[0] != "nodes" || segments[2] != "states" || segments[3] != "provision" {
		return Route{}, false
	}
	for _, s := range segments {
		if s == "." || s == ".." {
			return Route{}, false
		}
	}
	if !nameForm.MatchString(segments[1]) {
		return Route{}, false // another reader might make another name of it
	}
	to.Ident = segments[1]
	if len(segments) > 4 {
		to.Target = segments[4]
	}
	return to, true
}

// mayOverrideMethod reports whether Ironic's framework might take a request for one of another method: it looks for
// _method in the query and in form bodies, and some versions take a body of no type for a form.
func mayOverrideMethod(r *http.Request) bool {
	query, err := url.QueryUnescape(r.URL.RawQuery)
	if err != nil || strings.Contains(query, "_method") || strings.Contains(r.URL.RawQuery, "_method") {
		return true
	}
	return r.ContentLength != 0 && mediaType(r.Header) != jsonType
}

// separators part an escaped path as segmentsOf parts the path.
var separators = regexp.MustCompile(`(?:[/\\]|%2[Ff]|%5[Cc])+`)

// ToNode returns r, which Request calls Suspect, with the node in its path named by its UUID, everything else to the
// byte as it came: what is sent can start that node alone, whoever bears the name by then.
func ToNode(r *http.Request, to Route, uuid string) *http.Request {
	path := r.URL.EscapedPath()
	found := separators.FindAllStringIndex(path, -1) // the first is at its begin
	r = r.Clone(r.Context())
	r.URL.RawPath = path[:found[to.part][1]] + url.PathEscape(uuid) + path[found[to.part+1][0]:]
	r.URL.Path, _ = url.PathUnescape(r.URL.RawPath) // of an EscapedPath it cannot fail
	return r
}
