package page

import (
	"maps"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// The most cells of the grid: hosts, and free slots.
const (
	maxCells = 300
	maxFree  = 40
)

// slots shows the limit, and the slots as a grid, each with its host, its phase and the time in it.
func (d *document) slots(s *api.Status) {
	t := s.Slots.Total
	d.section("slots", "Slots")
	d.put(`<p><b class="big">%d</b> of %d taken, %d free; %d not at work yet; %d waiting; %d booting without a slot</p>
<meter min="0" max="%d" value="%d" aria-labelledby="h-slots"></meter>
`, t.Occupied, t.Limit, t.Free, t.Leased, t.Waiting, t.Booting, max(1, t.Limit), t.Occupied)
	for _, pool := range slices.Sorted(maps.Keys(s.Slots.Pools)) {
		p := s.Slots.Pools[pool]
		d.put(`<p>%s: %d of %d taken, %d free</p>`, pool, p.Occupied, p.Limit, p.Free)
	}
	for _, line := range s.Sizing.Lines() {
		d.put(`<p>Limit: %s</p>`, line)
	}
	d.put(`<ul class="grid">`)
	for _, o := range s.Slots.Occupants[:min(len(s.Slots.Occupants), maxCells)] {
		d.cell(&o)
	}
	for range min(max(t.Free, 0), maxFree) {
		d.put(`<li class="free">free</li>`)
	}
	d.put(`</ul>`)
	if more := len(s.Slots.Occupants) - maxCells; more > 0 {
		d.put(`<p>and %d more hosts: <a href="/v1/slots">/v1/slots</a></p>`, more)
	}
	if more := t.Free - maxFree; more > 0 {
		d.put(`<p>and %d more free</p>`, more)
	}
	d.put(`</section>
`)
}

func (d *document) cell(o *api.Occupant) {
	kind, phase := markup("work"), o.State
	switch {
	case o.Stuck:
		kind = "stuck"
	case !o.Counted:
		kind = "uncounted"
	case !o.Busy:
		kind = "leased"
	case o.State == "wait call-back" || strings.HasSuffix(o.State, " wait"): // for its agent
		kind = "boot"
	}
	switch {
	case !o.Busy && o.State == "":
		phase = "not at work yet"
	case !o.Busy:
		phase = "between phases: " + o.State
	case o.StateSeconds > 0:
		phase += ", " + api.Seconds(o.StateSeconds)
	}
	d.put(`<li class="%s" data-key="%s">`, kind, o.NodeUUID+" "+o.Name)
	d.link(o.Name, o.NodeUUID)
	d.put(` <span>%s</span> <span>for %s in all</span> <span class="note">%s%s%s</span></li>`, phase, api.Seconds(o.SinceSeconds),
		o.Pool, where(o.Stuck, " stuck"), where(!o.Counted, " takes no slot"))
}
