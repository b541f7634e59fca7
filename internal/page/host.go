package page

import (
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// HostView is what the page of a host shows.
type HostView struct {
	Status  api.Status // of which the frame shows a little
	Why     api.Why
	Release bool // who looks may release its hold
}

// Host is the page of one host: the story that the command why tells.
func Host(v HostView) string {
	d, w := &document{}, &v.Why
	d.begin(&v.Status, "%s, ironic-throttle", w.Host)
	d.put(`<h1>%s is %s</h1>`, w.Host, string(w.Standing))
	if w.NodeUUID != "" {
		d.put(`<p>Node %s`, w.NodeUUID)
		if w.State != "" {
			d.put(`, last seen in state %s`, w.State)
		}
		d.put(`.</p>`)
	}
	for _, s := range w.Story {
		d.put(`<p>%s</p>
`, s)
	}
	if q := w.Queued; q != nil && q.Position > 0 {
		d.put(`<p>It is number %d in the queue`, q.Position)
		if q.ExpectSeconds != nil {
			d.put(`, and its turn is expected in %s`, within(q))
		}
		d.put(`.</p>`)
	}
	if h := w.Hold; h != nil && h.Held && v.Release {
		d.put(`<p>`)
		d.release(h, w.Host)
		d.put(`</p>`)
	}
	d.put(`<section aria-labelledby="h-steps"><h2 id="h-steps">What to do</h2><ul>`)
	for _, s := range w.Steps {
		d.put(`<li>%s</li>
`, s)
	}
	d.put(`</ul></section>
`)
	d.end()
	return d.String()
}
