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
		view.Occupants = append(view.Occupants, l.occupant(h))
	}
	slices.SortFunc(view.Occupants, func(a, b api.Occupant) int {
		return cmp.Or(cmp.Compare(b.SinceSeconds, a.SinceSeconds), cmp.Compare(a.NodeUUID, b.NodeUUID), cmp.Compare(a.Name, b.Name))
	})
	return view
}

// Occupant shows a host as Occupancy does; false for one that holds no slot and is not at work.
func (l *Ledger) Occupant(now time.Time, r Ref) (api.Occupant, bool) {
	l.tick(now)
	l.refreshStuck()
	if _, live := l.live[r.h]; !live {
		return api.Occupant{}, false
	}
	return l.occupant(r.h), true
}

func (l *Ledger) occupant(h *host) api.Occupant {
	p, at, cfg := h.pool, l.at, &l.cfg
	if !h.holds() {
		p, _ = l.poolFor(h, "", false) // of which its slot would be
	}
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
	if h.job != nil && o.Busy {
		o.StateSeconds = at.since(h.stateSince).Seconds()
	}
	if !h.holds() && h.job != nil {
		o.SinceSeconds = at.since(h.stateSince).Seconds()
	}
	if !p.exempt {
		o.Pool = p.String()
	}
	return o
}
