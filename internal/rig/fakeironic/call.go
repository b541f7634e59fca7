package fakeironic

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// maxBody bounds what is read of a request; config drives of 64 MiB fit.
const maxBody = 128 << 20

// call is one request on its way through.
type call struct {
	w      *World // set under the lock only
	r      *http.Request
	kind   callKind
	path   []string // without v1 and a .json at the end
	lost   bool     // the path has parts in which Ironic's routing gets lost
	blank  bool     // the same, where the node should be named
	query  url.Values
	raw    []byte
	minor  int
	header http.Header
}

func newCall(r *http.Request) *call {
	c := &call{r: r, query: r.URL.Query()}
	path := strings.Trim(r.URL.Path, "/")
	first, rest, _ := strings.Cut(path, "/")
	switch {
	case first == "v1" || first == "v1.json":
		c.path = splitPath(rest)
		if len(c.path) == 0 {
			c.path = []string{""} // /v1 itself
		}
	default:
		c.path = splitPath(path)
	}
	// Ironic's routing gets lost in empty parts, but not in those below states.
	for i, part := range c.path {
		c.lost = c.lost || len(c.path) > 1 && part == "" || part == "." || part == ".."
		c.blank = c.blank || i == 1 && part == "" && c.path[0] == "nodes"
	}
	c.kind = c.classify()
	return c
}

// splitPath drops what reaches the same: slashes at the end, doubled ones below
// states, a .json at the end.
func splitPath(path string) []string {
	var parts []string
	for part := range strings.SplitSeq(path, "/") {
		if part != "" || len(parts) == 0 || parts[len(parts)-1] != "states" {
			parts = append(parts, part)
		}
	}
	parts[len(parts)-1] = strings.TrimSuffix(parts[len(parts)-1], ".json")
	if len(parts) == 1 && parts[0] == "" {
		return nil
	}
	return parts
}

func (c *call) classify() callKind {
	p := c.path
	if len(p) == 0 || p[0] != "nodes" {
		return callOther
	}
	switch c.r.Method {
	case http.MethodGet:
		switch {
		case len(p) == 1 || len(p) == 2 && p[1] == "detail":
			return callList
		case len(p) == 2 && p[1] != "validate" || len(p) == 3 && p[2] == "states":
			return callNode
		}
	case http.MethodPut:
		if len(p) >= 4 && p[2] == "states" {
			return callPut
		}
	}
	return callOther
}

// readBody reads what Ironic's server would read: a body with a length. One in
// chunks counts as empty, as measured.
func (c *call) readBody() {
	if c.r.Body == nil || c.r.ContentLength <= 0 {
		return
	}
	raw, err := io.ReadAll(io.LimitReader(c.r.Body, maxBody+1))
	if err == nil && len(raw) <= maxBody {
		c.raw = raw
	}
}

// arguments merges the query with the body, as Ironic does: JSON object or form;
// a key that both have is a list of two. A body that cannot be read has none.
func (c *call) arguments() map[string]any {
	args := c.queryArguments()
	add := func(key string, v any) {
		if before, twice := args[key]; twice {
			v = []any{before, v}
		}
		args[key] = v
	}
	contentType := c.r.Header.Get("Content-Type")
	switch {
	case strings.Contains(contentType, "application/json"):
		var object map[string]any
		if json.Unmarshal(c.raw, &object) == nil {
			for key, v := range object {
				add(key, v)
			}
		}
	case strings.Contains(contentType, "form-urlencoded"):
		if form, err := url.ParseQuery(string(c.raw)); err == nil {
			for key, v := range form {
				add(key, single(v))
			}
		}
	}
	return args
}

func (c *call) queryArguments() map[string]any {
	args := map[string]any{}
	for key, v := range c.query {
		args[key] = single(v)
	}
	return args
}

// single is a value, or a list when it was given more than once.
func single(values []string) any {
	if len(values) == 1 {
		return values[0]
	}
	return anys(values)
}

func anys(values []string) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// base is scheme and host for links: Ironic takes the Host header as it comes.
func (c *call) base() string {
	scheme := "http"
	if c.r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + c.r.Host
}

// argument kinds of a list, in the order in which Ironic looks at them.
type argKind uint8

const (
	argUUID argKind = iota
	argBool
	argString
	argInt
	argList
	argDrive
)

type argument struct {
	name string
	kind argKind
}

// checkArguments refuses what Ironic's own validation refuses.
func checkArguments(given map[string]any, known []argument) *fault {
	var extra []string
	for key := range given {
		if !slices.ContainsFunc(known, func(a argument) bool { return a.name == key }) {
			extra = append(extra, key)
		}
	}
	if len(extra) > 0 {
		sort.Strings(extra) // Ironic shows them in no order
		return clientFault(400, "Unexpected arguments: %s", strings.Join(extra, ", "))
	}
	for _, a := range known {
		v, ok := given[a.name]
		if !ok || v == nil {
			continue
		}
		if f := a.check(v); f != nil {
			return f
		}
	}
	return nil
}

func (a argument) check(v any) *fault {
	s, isString := v.(string)
	switch {
	case a.kind == argUUID && !(isString && uuidForm.MatchString(s)):
		return clientFault(400, "Expected UUID for %s: %s", a.name, repr(v, false))
	case a.kind == argString && !isString:
		return clientFault(400, "Expected string for %s: %s", a.name, repr(v, false))
	case a.kind == argList:
		if _, ok := v.([]any); !ok {
			return clientFault(400, "Expected types <class 'NoneType'>, <class 'list'> for %s: %s", a.name, repr(v, false))
		}
	case a.kind == argDrive:
		if _, ok := v.(map[string]any); !ok && !isString {
			return clientFault(400, "Expected types <class 'NoneType'>, <class 'dict'>, <class 'str'> for %s: %s", a.name, repr(v, false))
		}
	case a.kind == argInt:
		if _, err := strconv.Atoi(repr(v, false)); err != nil {
			return clientFault(400, "Expected an integer for %s: %s", a.name, repr(v, false))
		}
	case a.kind == argBool:
		if _, ok := parseBool(v); !ok {
			return clientFault(400, "Invalid %s: Unrecognized value '%s', acceptable values are: '0', '1', 'f', "+
				"'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'", a.name, repr(v, false))
		}
	}
	return nil
}

func parseBool(v any) (value, ok bool) {
	if b, is := v.(bool); is {
		return b, true
	}
	switch strings.ToLower(strings.TrimSpace(repr(v, false))) {
	case "1", "t", "true", "on", "y", "yes":
		return true, true
	case "0", "f", "false", "off", "n", "no":
		return false, true
	}
	return false, false
}

// repr writes a value as Python shows it, quoted inside lists and objects.
func repr(v any, inside bool) string {
	switch x := v.(type) {
	case nil:
		return "None"
	case bool:
		if x {
			return "True"
		}
		return "False"
	case string:
		if inside {
			return "'" + x + "'"
		}
		return x
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case []any:
		parts := make([]string, len(x))
		for i, e := range x {
			parts[i] = repr(e, true)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		keys := make([]string, 0, len(x))
		for key := range x {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		for i, key := range keys {
			keys[i] = "'" + key + "': " + repr(x[key], true)
		}
		return "{" + strings.Join(keys, ", ") + "}"
	}
	return "?"
}
