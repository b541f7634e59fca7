package classify

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Reading is what a PUT states/provision asks for.
type Reading struct {
	// Target is the gated one where any reading is gated; "" when none could be read.
	Target ironic.Target
	// Free: by every reading of it the request starts no work.
	Free bool
}

// candidates collects every target that somebody could read in a request.
type candidates struct {
	targets []string
	unsure  bool // there may be others
}

// add keeps a target; beyond some it is unsure.
func (c *candidates) add(target string) {
	if len(c.targets) >= maxTargets {
		c.unsure = true
		return
	}
	c.targets = append(c.targets, target)
}

// judge is the last target that starts work (of double keys Ironic takes the last), and free only where all are known
// to be.
func (c *candidates) judge() Reading {
	var starts, free ironic.Target
	sure, mixed := !c.unsure && len(c.targets) > 0, false
	for _, text := range c.targets {
		t := ironic.Target(text)
		if _, ok := t.Starts(); ok {
			mixed = mixed || starts != "" && starts != t
			starts = t
		}
		if !freeTargets[t] {
			sure = false
		} else if free == "" || t == ironic.TargetUnhold { // which must not be missed
			free = t
		}
	}
	switch {
	case sure:
		return Reading{Target: free, Free: true}
	case c.unsure && mixed:
		return Reading{} // which one counts cannot be told
	}
	return Reading{Target: starts} // or none that the decision would let pass
}

// freeTargets start no work, or only end it.
var freeTargets = map[ironic.Target]bool{
	ironic.TargetAbort: true, ironic.TargetManage: true, ironic.TargetAdopt: true, ironic.TargetUnhold: true,
}

// Target reads the target of a PUT from its path, its query and its body, nil for none. Ironic merges the three and
// refuses a target that stands twice; here every one of them counts. Ironic ignores a body of a type that it does not
// know, but not every version must.
func Target(r *http.Request, to Route, body io.Reader) (Reading, error) {
	var c candidates
	if to.Target != "" {
		c.add(to.Target)
	}
	if r.URL.RawQuery != "" {
		readForm(r.URL.RawQuery, &c)
	}
	var err error
	switch media := mediaType(r.Header); {
	case body == nil:
	case len(r.Header.Values("Content-Encoding")) > 0:
		c.unsure = true
	case media == jsonType:
		err = scanObject(body, &c)
	case media == formType:
		var text []byte
		text, err = io.ReadAll(io.LimitReader(body, maxForm+1))
		c.unsure = c.unsure || len(text) > maxForm
		readForm(string(text), &c)
	default:
		c.unsure = true
	}
	if err != nil {
		return Reading{}, err
	}
	return c.judge(), nil
}

// readForm reads a query or a form. Old versions of Python part it at semicolons too.
func readForm(text string, c *candidates) {
	for pair := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '&' || r == ';' }) {
		key, value, _ := strings.Cut(pair, "=")
		key, err := url.QueryUnescape(key)
		if err != nil {
			c.unsure = true
			continue
		}
		if !strings.EqualFold(strings.TrimSpace(key), "target") {
			continue
		}
		if value, err = url.QueryUnescape(value); err != nil {
			c.unsure = true
		}
		c.add(value)
	}
}

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

// mediaType is the type of a body of which everybody has the same idea: it is told
// once, in a form that leaves nothing to interpret, and no Connection header takes it
// away on the way; "" for any other.
func mediaType(h http.Header) string {
	all := h.Values("Content-Type")
	if len(all) != 1 || strings.Contains(strings.ToLower(strings.Join(h.Values("Connection"), ",")), "content-") {
		return ""
	}
	media, charset, _ := strings.Cut(all[0], ";")
	switch strings.ToLower(strings.TrimSpace(charset)) {
	case "", "charset=utf-8", `charset="utf-8"`, "charset=us-ascii":
	default:
		return ""
	}
	if media != jsonType && media != formType {
		return ""
	}
	return media
}
