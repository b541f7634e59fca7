package page

import "github.com/ironic-throttle/ironic-throttle/pkg/api"

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
