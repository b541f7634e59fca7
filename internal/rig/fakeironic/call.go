package fakeironic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxBody is the most bytes of a body: config drives may have 64 MiB.
const maxBody = 128 << 20

// call is one request.
type call struct {
	w      *World // only under the lock
	r      *http.Request
	kind   callKind
	path   []string // without v1 and without a .json at the end; {""} is /v1 itself
	query  url.Values
	raw    []byte
	minor  int
	header http.Header
}

func newCall(r *http.Request) *call {
	c := &call{r: r, query: r.URL.Query()}
	path := strings.Trim(r.URL.Path, "/")
	first, rest, _ := strings.Cut(path, "/")
	if first != "v1" && first != "v1.json" {
		c.path = splitPath(path)
	} else if c.path = splitPath(rest); len(c.path) == 0 {
		c.path = []string{""}
	}
	c.kind = c.classify()
	return c
}

// splitPath splits a path. It drops what makes no difference to Ironic: slashes at the end, double slashes below
// states, and .json at the end.
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
	switch {
	case len(p) == 0 || p[0] != "nodes":
	case c.r.Method == http.MethodGet && (len(p) == 1 || len(p) == 2 && p[1] == "detail"):
		return callList
	case c.r.Method == http.MethodGet && (len(p) == 2 && p[1] != "validate" || len(p) == 3 && p[2] == "states"):
		return callNode
	case c.r.Method == http.MethodPut && len(p) >= 4 && p[2] == "states":
		return callPut
	}
	return callOther
}

// readBody reads the body as Ironic's server does. A body in chunks counts as empty, as measured.
func (c *call) readBody() {
	if c.r.Body == nil || c.r.ContentLength <= 0 {
		return
	}
	raw, err := io.ReadAll(io.LimitReader(c.r.Body, maxBody+1))
	if err == nil && len(raw) <= maxBody {
		c.raw = raw
	}
}

// arguments merges the query with the body, a JSON object or a form, as Ironic does. A key in both becomes a list of
// two. An unreadable body has no arguments.
func (c *call) arguments() map[string]any {
	args := map[string]any{}
	add := func(key string, v any) {
		if before, twice := args[key]; twice {
			v = list{before, v}
		}
		args[key] = v
	}
	each := func(values url.Values) {
		for key, all := range values {
			if len(all) > 1 {
				add(key, all)
			} else {
				add(key, all[0])
			}
		}
	}
	each(c.query)
	switch contentType := c.r.Header.Get("Content-Type"); {
	case strings.Contains(contentType, "application/json"):
		var doc map[string]any
		if json.Unmarshal(c.raw, &doc) == nil {
			for key, v := range doc {
				add(key, v)
			}
		}
	case strings.Contains(contentType, "form-urlencoded"):
		if form, err := url.ParseQuery(string(c.raw)); err == nil {
			each(form)
		}
	}
	return args
}

// checkArguments refuses arguments that are not known.
func checkArguments[T any](given map[string]T, known []string) *fault {
	var extra []string
	for key := range given {
		if !slices.Contains(known, key) {
			extra = append(extra, key)
		}
	}
	if len(extra) == 0 {
		return nil
	}
	slices.Sort(extra) // Ironic shows them in no order
	return clientFault(400, "Unexpected arguments: %s", strings.Join(extra, ", "))
}

// word returns an argument that must be a text; nil: it is not given.
func word(args map[string]any, name string) (*string, *fault) {
	switch v := args[name].(type) {
	case nil:
		return nil, nil
	case string:
		return &v, nil
	default:
		return nil, clientFault(400, "Expected string for %s: %v", name, v)
	}
}

// base returns scheme and host of links. Ironic takes the Host header as it comes.
func (c *call) base() string {
	scheme := "http"
	if c.r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + c.r.Host
}

// links returns the self and bookmark links of a resource.
func (c *call) links(path string) list {
	return list{
		object{{"href", c.base() + "/v1/" + path}, {"rel", "self"}},
		object{{"href", c.base() + "/" + path}, {"rel", "bookmark"}},
	}
}

// negotiate returns the minor version that a request asks for, and whether the answer must have the supported range.
func (c *call) negotiate() (minor int, ranged bool, f *fault) {
	most := c.w.opt.API.MaxMinor
	asked := c.r.Header.Get(headerVersion)
	for value := range strings.SplitSeq(strings.Join(c.r.Header.Values("Openstack-Api-Version"), ","), ",") {
		if service, version, _ := strings.Cut(strings.TrimSpace(value), " "); service == "baremetal" && c.w.newer() {
			asked = version
		}
	}
	switch {
	case asked == "":
		return 1, true, nil
	case strings.EqualFold(asked, "latest"):
		return most, true, nil
	}
	var major int
	if n, err := fmt.Sscanf(strings.TrimSpace(asked)+"\n", "%d.%d\n", &major, &minor); n != 2 || err != nil {
		return 0, false, routeFault(406, "Invalid value for X-OpenStack-Ironic-API-Version header")
	}
	text := "Version %d.%d was requested but the minor version is not supported by this service."
	if major != 1 {
		text = "Mutually exclusive versions requested. Version %d.%d requested but not supported by this service."
	}
	if major != 1 || minor < 1 || minor > most {
		return 0, true, routeFault(406, fmt.Sprintf(text+" The supported version range is: [1.1, 1.%d].", major, minor, most))
	}
	return minor, true, nil
}

// newer reports whether the newer of the two measured Ironics is played.
func (w *World) newer() bool { return w.opt.API.MaxMinor > 82 }
