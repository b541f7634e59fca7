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
	// Target starts work if any reading does; "" if no reading is certain.
	Target ironic.Target
	// Free: the request starts no work, by any reading.
	Free bool
}

// candidates collects every target that some reader could find in a request.
type candidates struct {
	targets []string
	unsure  bool // there may be others
}

// add keeps a target, of up to maxTargets. With more, c is unsure.
func (c *candidates) add(target string) {
	if len(c.targets) >= maxTargets {
		c.unsure = true
		return
	}
	c.targets = append(c.targets, target)
}

// judge returns the last target that starts work, as Ironic takes the last of equal keys. The Reading is Free only if
// all targets are known, and free.
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
		} else if free == "" || t == ironic.TargetUnhold { // an unhold must not be missed: it takes a slot
			free = t
		}
	}
	switch {
	case sure:
		return Reading{Target: free, Free: true}
	case c.unsure && mixed:
		return Reading{} // nobody can say which one counts
	}
	return Reading{Target: starts} // with "" too, the decision gates the PUT
}

// freeTargets start no work, or only end it.
var freeTargets = map[ironic.Target]bool{
	ironic.TargetAbort: true, ironic.TargetManage: true, ironic.TargetAdopt: true, ironic.TargetUnhold: true,
}

// Target reads the target of a PUT from its path, its query and its body, nil for none. Ironic merges the three and
// refuses a target that stands twice; here each of them counts. Ironic ignores a body of an unknown type, but not every
// version must. Target returns only errors of body.
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

// readForm reads a query or a form. Old versions of Python split it at semicolons too.
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
		value, _ = url.QueryUnescape(value) // "" is no target: it makes c unsure
		c.add(value)
	}
}

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

// mediaType returns the type of a body if every reader agrees on it: h names it once, in a plain form, and no
// Connection header removes it on the way. Else it returns "".
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
