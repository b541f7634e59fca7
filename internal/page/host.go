package page

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// HostView is what the page of a host shows.
type HostView struct {
	Status  api.Status // for the frame of the page
	Why     api.Why
	Release bool // the user may release its hold
}

// Host returns the page of one host as HTML: what the command why shows.
func Host(v HostView) string {
	d, w := &document{}, &v.Why
	d.begin(&v.Status, "%s, ironic-throttle", w.Host)
	d.put(`<h1>%s is %s</h1>`, w.Host, w.Standing)
	if w.NodeUUID != "" {
		d.put(`<p>Node %s%s%s</p>`, w.NodeUUID, where(w.State != "", ", last seen in state "), w.State)
	}
	for _, s := range w.Story {
		d.put(`<p>%s</p>
`, s)
	}
	if h := w.Hold; h != nil && h.Held && v.Release {
		d.put(`<p>`)
		d.release(h)
		d.put(`</p>`)
	}
	d.section("steps", "What to do")
	d.put(`<ul>`)
	for _, s := range w.Steps {
		d.put(`<li>%s</li>
`, s)
	}
	d.put(`</ul></section>
`)
	d.end()
	return d.String()
}

// link writes the name of a host, or the name or UUID of its node, with a link to its page.
func (d *document) link(node, uuid string) {
	namespace, name, ok := strings.Cut(node, "~")
	if !ok {
		namespace, name = api.NoNamespace, cmp.Or(node, uuid)
	}
	shown := cmp.Or(strings.Replace(node, "~", "/", 1), uuid)
	d.put(`<a href="/why/%s/%s">%s</a>`, url.PathEscape(namespace), url.PathEscape(name), shown)
}
