// Package page writes the page of the throttle as HTML: what the commands status and queue show, and for one host
// what why tells. page.html has it as templates, page.js brings what is shown up to date.
//
// The server renders everything, so the page says all without its script. The package knows no HTTP, no clock and no
// lock: what it shows is given.
package page

import (
	"cmp"
	_ "embed"
	"html/template"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Style is /page.css, Script /page.js. The page needs nothing else, from us or from anywhere.
var (
	//go:embed page.css
	Style string
	//go:embed page.js
	Script string
	//go:embed page.html
	templates string
)

// Policy allows exactly these two, and requests to us.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Rows is how many of the first hosts of each queue are shown.
const Rows = 50

// View is what the pages show.
type View struct {
	Status api.Status
	// Why is the story of the host that a page is about; nil: it is about all.
	Why   *api.Why
	Queue api.Queue
	Holds api.Holds
	// May tells whether the user may POST to a path. It is asked for twelve holds and breakers each: where the API is
	// guarded each is a right of its own, and 32 of a user's are kept.
	May func(path string) bool
}

// HTML is the page of v.
func (v View) HTML() string {
	name := "overview"
	if v.Why != nil {
		name = "host"
	}
	var text strings.Builder
	if err := pages.ExecuteTemplate(&text, name, v); err != nil {
		panic(err) // the templates are wrong; the server answers 500
	}
	return strings.ToValidUTF8(text.String(), "\uFFFD")
}

// Counting are the breakers that stop hosts, or count failures.
func (v View) Counting() []api.Breaker {
	return slices.DeleteFunc(slices.Clone(v.Status.Breakers), func(b api.Breaker) bool { return b.State == "CLOSED" && b.RecentFailures == 0 })
}

// Held are the failed hosts that are held.
func (v View) Held() []api.Hold {
	return slices.DeleteFunc(slices.Clone(v.Holds.Hosts), func(h api.Hold) bool { return !h.Held })
}

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"age": api.Seconds, "viewText": viewText, "look": look, "phase": phase, "link": linkTo, "held": linkToHeld, "reset": reset, "release": release,
	"first": first,
	"more":  func(shown, n int) int { return max(0, n-shown) },
	"min":   func(a, b int) int { return max(0, min(a, b)) },
	"max":   func(a, b int) int { return max(a, b) },
}).Parse(templates))

// first are the first n of a list.
func first(n int, list any) any {
	all := reflect.ValueOf(list)
	return all.Slice(0, min(n, all.Len())).Interface()
}

// viewText says how well Ironic is seen.
func viewText(v api.View) string {
	text := "Ironic seen " + api.Seconds(v.AgeSeconds) + " ago"
	switch {
	case v.AgeSeconds < 0:
		text = "no complete poll of Ironic yet"
	case !v.Fresh:
		text += ": too old, new hosts are refused"
	case !v.Settled:
		text += ": still settling, new hosts are refused"
	}
	if v.LastError != "" {
		text += " (" + v.LastError + ")"
	}
	return text
}

// look is the class of a cell of the grid.
func look(o api.Occupant) string {
	switch {
	case o.Stuck:
		return "stuck"
	case !o.Counted:
		return "uncounted"
	case !o.Busy:
		return "leased"
	case o.State == "wait call-back" || strings.HasSuffix(o.State, " wait"): // for its agent
		return "boot"
	}
	return "work"
}

// phase is what a host of the grid does, and for how long.
func phase(o api.Occupant) string {
	switch {
	case !o.Busy && o.State == "":
		return "not at work yet"
	case !o.Busy:
		return "between phases: " + o.State
	case o.StateSeconds > 0:
		return o.State + ", " + api.Seconds(o.StateSeconds)
	}
	return o.State
}

// link leads to the page of a host.
type link struct{ Path, Host string }

// linkTo leads to a host, by the name that Ironic has of its node, or by the UUID of one without a name.
func linkTo(node, uuid string) link {
	namespace, name, ok := strings.Cut(node, "~")
	if !ok {
		return link{hostPath("/why/", "", cmp.Or(node, uuid)), cmp.Or(node, uuid)}
	}
	return link{hostPath("/why/", namespace, name), namespace + "/" + name}
}

func linkToHeld(h api.Hold) link {
	return link{hostPath("/why/", h.Namespace, cmp.Or(h.Name, h.NodeUUID)), h.Host()}
}

func hostPath(base, namespace, name string) string {
	return base + url.PathEscape(cmp.Or(namespace, api.NoNamespace)) + "/" + url.PathEscape(name)
}

// button is one that the script makes work; without it there is none.
type button struct{ Verb, What, Path, Episode, Means string }

func reset(scope string) button {
	path := "/v1/breakers/" + url.PathEscape(scope) + "/reset"
	return button{"Reset", "the breaker of " + scope, path, "", "Hosts may start there at once."}
}

// release is of the present episode, so that it never reaches a later failure.
func release(h api.Hold) button {
	path := hostPath("/v1/holds/", h.Namespace, cmp.Or(h.Name, h.NodeUUID)) + "/release"
	return button{"Release", h.Host(), path, h.Episode, "It may queue again, like any other."}
}
