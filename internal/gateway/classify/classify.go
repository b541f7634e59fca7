// Package classify says what a request means to a real Ironic, in any spelling: whether it may start work, on which
// node, and with which target. It sends nothing and keeps nothing.
//
// No request that a real Ironic would carry out may get past the gate. So a request is suspect if any reading of its
// path leads to states/provision, and free only if every reading of its target is free. The spellings come from trials
// with a real Ironic, which e2e repeats.
package classify

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// The bounds of what the package reads.
const (
	maxText    = 512      // bytes of a JSON key, or target
	maxForm    = 1 << 20  // bytes of a form
	maxTargets = 16       // of one request
	maxScan    = 64 << 10 // bytes of a JSON object, with its long strings cut
	scanBuffer = 32 << 10
)

// Class is what the head of a request says about it.
type Class int

// The classes.
const (
	Passes  Class = iota // starts nothing, whatever its body says
	Suspect              // a PUT states/provision: its target decides
	Obscure              // may be one, in a shape that does not name one node for sure
)

// Route is what the path of a suspect request names.
type Route struct {
	Ident  string // UUID or name of the node, as Ironic would decode it
	Target string // a target in the path, "" without one
	part   int    // which part of the path names the node, counted from 0
}

// Request reads the head of a request. It lets none pass that a real Ironic would take for a PUT states/provision.
func Request(r *http.Request) (Class, Route) {
	if r.URL.Path == "" || r.URL.Path[0] != '/' {
		return Obscure, Route{} // "PUT http:v1/nodes/…" has no path, but Ironic takes it
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
		return Passes, Route{} // Ironic itself refuses other methods at states/provision
	}
	return Obscure, Route{} // the verb may come as the method: PROVISION …/states, or _method=provision
}

// knownMethods mean nothing else to Ironic's framework.
var knownMethods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodOptions: true,
	http.MethodPut: true, http.MethodPost: true, http.MethodPatch: true, http.MethodDelete: true,
}

var escapes = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// segmentsOf returns the parts of the path between slashes, decoded until nothing changes: a proxy before Ironic may
// decode once more than Ironic. It is not sure if a second decoding changed something: then there are two readings.
func segmentsOf(u *url.URL) (segments []string, sure bool) {
	const most = 8
	path := u.Path // decoded once, as Ironic does
	sure = true
	for range most {
		again := escapes.ReplaceAllStringFunc(path, func(e string) string { // as Python does: what is no escape stays
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

// reach returns 2 if a part "states" comes before a part "provision", 1 if only "states" is there, else 0. A proxy that
// cleans the path can only drop parts, or cut suffixes off them. Upper case counts too, in case a proxy folds it.
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

// The words in all their forms: provision.json, provision;x and provision%00 all mean provision.
var (
	statesWord    = regexp.MustCompile(`^(?i:states)([^A-Za-z]|$)`)
	provisionWord = regexp.MustCompile(`^(?i:provision)([^A-Za-z]|$)`)
)

// nameForm matches what Ironic takes for the name or UUID of a node, except names with an underscore in front: its
// framework may take them for an attribute of an object.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9.~-][A-Za-z0-9._~-]{0,254}$`)

// canonical reads [v1/]nodes/<ident>/states/provision[/target[/configdrive]], the one shape in which each part has one
// meaning. It changes segments.
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
		return Route{}, false // another reader might read another name
	}
	to.Ident = segments[1]
	if len(segments) > 4 {
		to.Target = segments[4]
	}
	return to, true
}

// mayOverrideMethod reports whether Ironic's framework might read another method than r's: it looks for _method in the
// query and in form bodies, and some versions take a body without a type for a form.
func mayOverrideMethod(r *http.Request) bool {
	query, err := url.QueryUnescape(r.URL.RawQuery)
	if err != nil || strings.Contains(query, "_method") || strings.Contains(r.URL.RawQuery, "_method") {
		return true
	}
	return r.ContentLength != 0 && mediaType(r.Header) != jsonType
}

// separators split an escaped path as segmentsOf splits the decoded one.
var separators = regexp.MustCompile(`(?:[/\\]|%2[Ff]|%5[Cc])+`)

// ToNode returns r, which Request calls Suspect, with uuid as the node in its path; every other byte stays. The request
// can then start only that node, even if another node has the name by then.
func ToNode(r *http.Request, to Route, uuid string) *http.Request {
	path := r.URL.EscapedPath()
	found := separators.FindAllStringIndex(path, -1) // the first is where the path begins
	r = r.Clone(r.Context())
	r.URL.RawPath = path[:found[to.part][1]] + url.PathEscape(uuid) + path[found[to.part+1][0]:]
	r.URL.Path, _ = url.PathUnescape(r.URL.RawPath) // an EscapedPath cannot fail
	return r
}
