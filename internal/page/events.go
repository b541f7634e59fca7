package page

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// maxEvents are shown, the newest first.
const maxEvents = 30

// events shows decisions and transitions as they happened.
func (d *document) events(all []api.Event, now time.Time) {
	d.put(`<section id="events" aria-labelledby="h-events"><h2 id="h-events">Decisions and transitions</h2>
`)
	if len(all) == 0 {
		d.put(`<p>Nothing yet since the start.</p>`)
	}
	d.put(`<ol class="log" reversed>`)
	for _, e := range slices.Backward(all[max(0, len(all)-maxEvents):]) {
		d.put(`<li data-key="%d">`, e.Seq)
		d.when(e.At, now)
		if e.Scope != "" {
			d.put(`<b>%s</b>`, e.Scope)
		} else {
			d.linkShown(e.Host, cmp.Or(e.NodeUUID, e.Host))
		}
		d.put(` %s</li>
`, e.Text)
	}
	d.put(`</ol></section>
`)
}

// answers shows what was said since the start.
func (d *document) answers(s *api.Status) {
	refused := map[api.Reason]uint64{}
	for _, r := range s.Refusals {
		refused[r.Reason] = r.Count
	}
	d.put(`<section id="answers" aria-labelledby="h-answers"><h2 id="h-answers">Answers since the start</h2>
`)
	d.table("Answers by reason", "reason", "n answers", "n would be refused")
	for _, a := range s.Asks {
		if a.Count+refused[a.Reason] > 0 {
			d.put(`<tr data-key="%s"><th scope="row">%s</th>`, string(a.Reason), string(a.Reason))
			d.numbers(a.Count, refused[a.Reason])
			d.put(`</tr>
`)
		}
	}
	d.put(`</tbody></table></div></section>
`)
}
