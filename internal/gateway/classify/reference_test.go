package classify_test

import (
	"mime/multipart"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The reference: what an Ironic does with a request, told from Ironic's side and
// slowly. It is Ironic 21.4.4 (ironic/api/controllers), its router (pecan/rest.py,
// pecan/routing.py), WebOb and eventlet, walked through as they do it. Where other
// versions, other WSGI servers or a web server in front differ it takes every one
// of them, as an unsure claim:
//
//   - older Ironics ignore arguments that they do not know, so _method works there,
//     and may take one of two targets;
//   - Apache httpd joins slashes and resolves dots; others keep %2F as it is
//     (cheroot), decode twice, or cut at a semicolon or a hash, or unpack a body;
//   - a POST without a Content-Type is a form for WebOb, but eventlet writes
//     text/plain there.

// claim is one way in which a request could start work.
type claim struct {
	node    string   // "" = cannot be told
	targets []string // each may be taken; unknowable = any
	sure    bool     // Ironic 21.4.4 takes it so, and targets is one
}

// unknowable is a target that is there, but which one takes a real Ironic to tell.
const unknowable = "\x00any"

// verbs are the targets of all versions of Ironic (ironic/common/states.py: VERBS).
var verbs = []string{
	"active", "deploy", "deleted", "undeploy", "manage", "provide", "inspect", "abort", "clean",
	"adopt", "rescue", "unrescue", "rebuild", "unhold", "service", unknowable,
}

// arguments are those of NodeStatesController.provision, in their order.
var arguments = []string{
	"node_ident", "target", "configdrive", "clean_steps", "deploy_steps", "rescue_password", "disable_ramdisk",
}

// claimsOf is all that could come of a request.
func claimsOf(m message) []claim {
	var all []claim
	target, query, _ := strings.Cut(m.target, "?")
	for _, form := range paramsOf(m, query) {
		for i, view := range viewsOf(target) {
			for j, verb := range verbsOf(m.method, form) {
				w := walk{get: m.method == "GET", verb: verb}
				w.root(view)
				for _, positional := range w.found {
					sure := i == 0 && j == 0 && form.sure && !w.wild
					if c, ok := form.claim(positional, sure); ok {
						all = append(all, c)
					}
				}
			}
		}
	}
	return all
}

// verbsOf are the words that the router may take for the method, the real one first.
// pecan/rest.py: request.params.get('_method', request.method).lower().
func verbsOf(method string, form params) []string {
	words := []string{strings.ToLower(method)}
	for _, word := range valuesOf("_method", form.pairs) {
		if word == unknowable {
			words = append(words, "put", "provision")
		}
		words = append(words, strings.ToLower(word))
	}
	return words
}

// viewsOf are the paths that somebody may read in a request target; the first is
// that of eventlet: unquoted once.
func viewsOf(target string) []string {
	if rest, ok := strings.CutPrefix(target, "//"); ok {
		target = "/" + strings.TrimLeft(rest, "/") // http/server.py: gh-87389
	}
	views := []string{unquote(target)}
	add := func(p string) {
		views = append(views, p, path.Clean("/"+p), strings.ReplaceAll(p, `\`, "/"))
	}
	add(views[0])
	if _, rest, ok := strings.Cut(target, "://"); ok {
		if _, rest, ok = strings.Cut(rest, "/"); ok {
			add("/" + unquote(rest)) // the absolute form
		}
	}
	add(unquote(views[0]))
	add(unquote(unquote(views[0])))
	kept := strings.Split(target, "/")
	cut := slices.Clone(kept)
	for i, part := range kept {
		kept[i] = strings.ReplaceAll(unquote(part), "/", "%2F")
		cut[i], _, _ = strings.Cut(part, ";")
		cut[i], _, _ = strings.Cut(unquote(cut[i]), ";")
	}
	add(strings.Join(kept, "/"))
	add(strings.Join(cut, "/"))
	before, _, _ := strings.Cut(target, "#")
	add(unquote(before))
	return views
}

// walk goes through Ironic's controllers as pecan does. found are the positional
// arguments of each call of NodeStatesController.provision.
type walk struct {
	get   bool
	verb  string
	wild  bool
	found [][]string
}

func (w *walk) root(p string) {
	if !utf8.ValidString(p) {
		return // WebOb: UnicodeDecodeError
	}
	if cut := strings.TrimRight(p, "/"); strings.HasSuffix(cut, ".json") {
		p = strings.TrimSuffix(cut, ".json") // middleware/json_ext.py
	}
	parts := strings.Split(p, "/")[1:] // whatever is before the first slash
	if len(parts) > 0 && parts[0] == "v1" {
		parts = parts[1:]
	}
	w.wander(parts)
	if n := len(parts); n > 0 && parts[n-1] == "" {
		parts = parts[:n-1] // controllers/root.py: _lookup
	}
	switch {
	case len(parts) == 0:
	case parts[0] == "nodes":
		w.nodes(nil, parts[1:], false)
	case parts[0] == "chassis":
		w.chassis(parts[1:])
	}
}

// attribute is one that Python or pecan gives to every object.
var attribute = regexp.MustCompile(`^(__\w+__|_[a-z_]{4,})$`)

// wander: such attributes (__self__, __class__) are parts of a path for pecan, and
// lead anywhere but past the attribute states of the nodes. One alone in the place
// of the node leads nowhere (all were tried).
func (w *walk) wander(parts []string) {
	parts = filled(parts)
	i := slices.Index(parts, "states")
	end := len(parts)
	switch {
	case w.verb == "put":
		for end--; end > i && parts[end] != "provision"; end-- {
		}
	case i+1 < end && parts[i+1] == "provision":
		end = i + 1 // that becomes the target, and is none
	}
	if i < 0 || end <= i || w.verb != "put" && w.verb != "provision" {
		return
	}
	if first := parts[0]; first != "nodes" && first != "chassis" && !attribute.MatchString(first) {
		return
	}
	for at, part := range parts[:end] {
		if attribute.MatchString(part) && (at == 0 || parts[at-1] != "nodes" || at+1 != i) {
			w.wild = true
			w.found = append(w.found, []string{unknowable, unknowable})
			return
		}
	}
}

// sub finds the first part that names an attribute (_find_sub_controllers; all of
// Ironic's methods take *args, so all parts count). Parts before it become
// positional arguments.
func sub(parts []string, attributes ...string) (at int, name string) {
	for i, part := range parts {
		if slices.Contains(attributes, part) {
			return i, part
		}
	}
	return -1, ""
}

func (w *walk) chassis(parts []string) {
	if i, name := sub(parts, "nodes", "invalid_sort_key_list"); name == "nodes" && !w.forbidden() {
		w.nodes(parts[:i], parts[i+1:], true)
	}
}

func (w *walk) nodes(routing, parts []string, fromChassis bool) {
	attributes := []string{"states", "vendor_passthru", "management", "maintenance", "invalid_sort_key_list"}
	if fromChassis {
		attributes = append(attributes, "from_chassis")
	}
	if i, name := sub(parts, attributes...); name == "states" && !w.forbidden() {
		w.states(append(slices.Clone(routing), parts[:i]...), parts[i+1:])
	}
}

// forbidden: a GET cannot be turned into these two (pecan/rest.py: _route).
func (w *walk) forbidden() bool { return w.get && (w.verb == "put" || w.verb == "delete") }

func (w *walk) states(routing, parts []string) {
	if _, name := sub(parts, "console"); name != "" || w.forbidden() {
		return
	}
	parts = filled(parts)
	switch {
	case w.verb == "put" && len(parts) > 0 && parts[0] == "provision": // _handle_custom_action
		parts = parts[1:]
	case w.verb == "provision": // _handle_unknown_method: a verb is a method's name
	default:
		return
	}
	w.found = append(w.found, append(routing, parts...))
}

func filled(parts []string) []string {
	return slices.DeleteFunc(slices.Clone(parts), func(s string) bool { return s == "" })
}

// params are the named arguments of a request.
type params struct {
	pairs [][2]string
	json  [][2]string // of them, those that cannot hold a _method
	sure  bool        // these and no others
}

func (p params) all(name string) []string { return valuesOf(name, slices.Concat(p.pairs, p.json)) }

func valuesOf(name string, pairs [][2]string) (values []string) {
	for _, pair := range pairs {
		if pair[0] == name || pair[0] == unknowable {
			values = append(values, pair[1])
		}
	}
	return values
}

var nodeName = regexp.MustCompile(`^[A-Za-z0-9._~-]{1,255}$`)

// claim puts positional and named arguments together (pecan/core.py: get_args;
// ironic/common/args.py: validate).
func (p params) claim(positional []string, sure bool) (claim, bool) {
	var c claim
	targets := p.all("target")
	idents := p.all("node_ident")
	if len(positional) > 0 {
		idents = append([]string{positional[0]}, idents...)
	}
	if len(positional) > 1 {
		targets = append([]string{positional[1]}, targets...)
	}
	for _, t := range targets {
		if slices.Contains(verbs, t) {
			c.targets = append(c.targets, t)
		}
	}
	if len(idents) == 0 || len(c.targets) == 0 {
		return claim{}, false
	}
	if c.node = idents[0]; c.node == unknowable {
		c.node = ""
	} else if !nodeName.MatchString(c.node) {
		return claim{}, false // no node can be called so
	}
	c.sure = sure && len(idents) == 1 && len(targets) == 1 && c.targets[0] != unknowable &&
		len(positional) <= 3 && !attribute.MatchString(c.node)
	for _, pair := range slices.Concat(p.pairs, p.json) {
		i := slices.Index(arguments, pair[0])
		if i < len(positional) || len(p.all(pair[0])) > 1 || pair[1] == unknowable || strings.HasSuffix(pair[0], "_steps") || pair[0] == "disable_ramdisk" {
			c.sure = false // not known, or there twice, or maybe of a wrong type
		}
	}
	return c, true
}

// paramsOf reads the query and the body as Ironic and its kin may.
func paramsOf(m message, query string) []params {
	base := params{pairs: pairsOf(query), sure: true}
	body := m.body
	types := m.values("Content-Type")
	sure := len(types) < 2 && !m.chunked && !m.short
	var all []params
	for _, kind := range types {
		p, known := params{pairs: base.pairs}, true
		switch media, _, _ := strings.Cut(kind, ";"); media {
		case "application/json", "application/javascript":
			p.json, known = jsonPairs(kind, body)
		case "application/x-www-form-urlencoded":
			p.pairs = append(slices.Clone(p.pairs), pairsOf(string(body))...)
			known = !strings.Contains(string(body), ";") && m.method != "GET"
		case "multipart/form-data":
			p.pairs, known = append(slices.Clone(p.pairs), partsOf(kind, body)...), false
		case "":
			p.pairs, known = append(slices.Clone(p.pairs), pairsOf(string(body))...), false
		}
		p.sure = sure && known && len(body) == m.announced && len(m.exactly("Content-Type")) == 1
		all = append(all, p)
	}
	if len(m.values("Content-Encoding")) > 0 && len(body) > 0 {
		all = append(all, params{json: [][2]string{{unknowable, unknowable}}})
	}
	if len(types) == 0 {
		all = append(all, params{pairs: base.pairs, sure: sure})
		if m.method == "POST" {
			all = append(all, params{pairs: append(slices.Clone(base.pairs), pairsOf(string(body))...)})
		}
	}
	return all
}

// partsOf reads a multipart form; what is hard to read in it may be anything.
func partsOf(kind string, body []byte) [][2]string {
	found := regexp.MustCompile(`boundary="?([^";]+)`).FindStringSubmatch(kind)
	if found == nil || len(body) == 0 {
		return nil
	}
	var pairs [][2]string
	reader := multipart.NewReader(strings.NewReader(string(body)), found[1])
	for {
		part, err := reader.NextRawPart()
		if err != nil {
			break
		}
		pairs = append(pairs, [2]string{part.FormName(), unknowable})
	}
	return append(pairs, [2]string{unknowable, unknowable})
}
