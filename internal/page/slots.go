package page

import (
	"maps"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Cells of the grid: hosts, and free slots.
const (
	maxCells = 300
	maxFree  = 40
)

// slots shows the slots as a grid, each with its host, its phase and the time in it.
func (d *document) slots(v *View) {
	view := &v.Status.Slots
	t := view.Total
	d.put(`<section id="slots" aria-labelledby="h-slots"><h2 id="h-slots">Slots</h2>
<p><b class="big">%d</b> of %d taken, %d free; %d not seen at work yet; %d waiting; %d booting without a slot</p>
<meter min="0" max="%d" value="%d" aria-labelledby="h-slots"></meter>
`, t.Occupied, t.Limit, t.Free, t.Leased, t.Waiting, t.Booting, max(1, t.Limit), t.Occupied)
	for _, pool := range slices.Sorted(maps.Keys(view.Pools)) {
		p := view.Pools[pool]
		d.put(`<p>%s: %d of %d taken, %d free</p>`, pool, p.Occupied, p.Limit, p.Free)
	}
	for _, line := range v.Status.Sizing.Lines() {
		d.put(`<p>Limit: %s</p>`, line)
	}
	d.put(`<ul class="grid">`)
	for _, o := range view.Occupants[:min(len(view.Occupants), maxCells)] {
		d.cell(&o)
	}
	for range min(max(t.Free, 0), maxFree) {
		d.put(`<li class="free">free</li>`)
	}
	d.put(`</ul>`)
	if more := len(view.Occupants) - maxCells; more > 0 {
		d.put(`<p>and %d more hosts: <a href="/v1/slots">/v1/slots</a></p>`, more)
	}
	if more := t.Free - maxFree; more > 0 {
		d.put(`<p>and %d more free</p>`, more)
	}
	d.put(`</section>
`)
}

func (d *document) cell(o *api.Occupant) {
	kind := markup("work")
	switch {
	case o.Stuck:
		kind = "stuck"
	case !o.Counted:
		kind = "uncounted"
	case !o.Busy:
		kind = "leased"
	case waits(o.State):
		kind = "boot"
	}
	d.put(`<li class="%s" data-key="%s">`, kind, o.NodeUUID+" "+o.Name)
	d.link(o.Name, o.NodeUUID)
	d.put(` <span>%s</span> <span>for %s in all</span>`, phase(o), span(o.SinceSeconds))
	if notes := notes(o); notes != "" {
		d.put(` <span class="note">%s</span>`, notes)
	}
	d.put(`</li>`)
}

// phase is what a host does in its slot, and for how long it has.
func phase(o *api.Occupant) string {
	switch {
	case o.Busy && o.StateSeconds > 0:
		return o.State + ", " + span(o.StateSeconds)
	case o.Busy:
		return o.State
	case o.State == "":
		return "not at work yet"
	}
	return "between phases: " + o.State
}

// notes says what is not usual about a host in the grid.
func notes(o *api.Occupant) string {
	var all []string
	if o.Pool != "" {
		all = append(all, o.Pool)
	}
	if o.Stuck {
		all = append(all, "stuck")
	}
	if !o.Counted {
		all = append(all, "takes no slot")
	}
	return strings.Join(all, ", ")
}

// waits reports whether a node in that state waits for its agent: it boots, or works without its
// conductor.
func waits(state string) bool { return state == "wait call-back" || strings.HasSuffix(state, " wait") }
