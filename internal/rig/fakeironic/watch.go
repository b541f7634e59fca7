package fakeironic

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Watch lets f hear of every host that begins or ends to work, at that very
// moment, for whoever needs the truth by host rather than in total (Truth). f
// must not call the World; nil ends it.
func (w *World) Watch(f func(at time.Time, uuid string, works bool)) { w.truth.watch = f }

// Count tells how many of the first nodes, as a list by id shows them, are in
// one of the states, and with agentOnly only those with an agent_url. It is what
// a client counts that reads one page and no more, without making that page. It
// counts as no request.
func (w *World) Count(now time.Time, first int, states []ironic.State, agentOnly bool) int {
	w.Advance(now)
	first = min(first, len(w.nodes))
	if first <= 0 {
		return 0
	}
	last, n := w.nodes[first-1].id, 0
	for _, s := range states {
		rows := w.byState[s]
		rows = rows[:searchID(rows, last+1)]
		if !agentOnly {
			n += len(rows)
			continue
		}
		for _, row := range rows {
			if row.list().agent {
				n++
			}
		}
	}
	return n
}
