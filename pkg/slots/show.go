package slots

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Occupancy returns every pool, and every host that holds a slot or whose node is at work, oldest first.
func (l *Ledger) Occupancy(now time.Time) api.SlotsView {
	l.Tick(now)
	view := api.SlotsView{Total: l.Slots(Pool{}), Pools: map[string]api.Slots{}, Occupants: []api.Occupant{}}
	for _, p := range l.Pools()[1:] {
		view.Pools[p.String()] = l.Slots(p)
	}
	for h := range l.live {
		o, _ := l.Occupant(h)
		view.Occupants = append(view.Occupants, o)
	}
	slices.SortFunc(view.Occupants, func(a, b api.Occupant) int {
		byName := cmp.Or(cmp.Compare(a.NodeUUID, b.NodeUUID), cmp.Compare(a.Name, b.Name))
		return cmp.Or(cmp.Compare(b.SinceSeconds, a.SinceSeconds), byName)
	})
	return view
}

// Occupant returns h as Occupancy shows it, and false if h holds no slot and its node is not at work.
func (l *Ledger) Occupant(h *Host) (api.Occupant, bool) {
	if _, live := l.live[h]; !live {
		return api.Occupant{}, false
	}
	o := api.Occupant{
		NodeUUID: h.UUID, Name: h.Name, Pool: h.Pool.String(), State: string(h.State()), Busy: h.Works,
		Stuck: l.isStuck(h), Kind: "booting",
	}
	if h.Exempt {
		o.Kind = "exempt"
	}
	if h.work != nil && o.Busy {
		o.StateSeconds = max(0, l.now.Sub(h.work.since).Seconds())
		o.SinceSeconds = o.StateSeconds
	}
	if s := h.Slot; s != nil {
		o.Kind = [...]string{"granted", "adopted", "foreign"}[s.Origin]
		o.Op, o.SinceSeconds, o.Counted, o.Stuck = s.Op, l.now.Sub(s.Since).Seconds(), !s.Stuck, o.Stuck || s.Stuck
	}
	return o, true
}
