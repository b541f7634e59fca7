package slots

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Slots returns the numbers of the total.
func (l *Ledger) Slots(now time.Time) api.Slots {
	l.tick(now)
	l.refreshStuck()
	return l.slotsOf(Pool{})
}

// Occupancy shows every pool and everybody who holds a slot or is at work,
// oldest first.
func (l *Ledger) Occupancy(now time.Time) api.SlotsView {
	view := api.SlotsView{Total: l.Slots(now), Pools: map[string]api.Slots{}, Occupants: []api.Occupant{}}
	for g := range l.cfg.Groups {
		view.Pools[g] = l.slotsOf(Pool{Group: g})
	}
	if l.cfg.VirtualMedia > 0 {
		view.Pools[VirtualMediaPool] = l.slotsOf(Pool{VirtualMedia: true})
	}
	for h := range l.live {
		p := h.pool
		if !h.holds() {
			p, _ = l.poolFor(h, "", false)
		}
		view.Occupants = append(view.Occupants, h.occupant(p, l.at, &l.cfg))
	}
	slices.SortFunc(view.Occupants, func(a, b api.Occupant) int {
		return cmp.Or(cmp.Compare(b.SinceSeconds, a.SinceSeconds), cmp.Compare(a.NodeUUID, b.NodeUUID), cmp.Compare(a.Name, b.Name))
	})
	return view
}

// occupant shows h, which holds a slot of p, or whose slot would be of p.
func (h *host) occupant(p pool, at moment, cfg *Config) api.Occupant {
	o := api.Occupant{
		NodeUUID: h.id.UUID, Name: h.id.Name, Op: h.op, State: string(h.observed.state),
		Busy: h.busy(cfg.CountExtra), Counted: h.holds() && !h.writtenOff,
		Stuck: h.writtenOff || h.isStuck(at, cfg.StuckAfter), Abandoned: h.abandoned(),
	}
	switch {
	case h.holds():
		o.Kind, o.SinceSeconds = h.origin.String(), at.since(h.sinceAt).Seconds()
	case p.exempt:
		o.Kind = "exempt"
	default:
		o.Kind = "booting"
	}
	if !h.holds() && h.job != nil {
		o.SinceSeconds = at.since(h.stateSince).Seconds()
	}
	if !p.exempt {
		o.Pool = p.String()
	}
	return o
}
