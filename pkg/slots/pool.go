package slots

import (
	"maps"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// VirtualMediaPool names the virtual-media pool where pools are shown.
const VirtualMediaPool = "virtual-media"

// Pool names a limit: of a conductor group that has one of its own, within the total; of virtual media, beside it; or,
// the zero value, the total.
type Pool struct {
	Group        string
	VirtualMedia bool
}

// String is how the pool is shown; "" is the total.
func (p Pool) String() string {
	if p.VirtualMedia {
		return VirtualMediaPool
	}
	return p.Group
}

// Within is the limit that p is a part of: the total for a conductor group, else itself.
func (p Pool) Within() Pool { return Pool{VirtualMedia: p.VirtualMedia} }

// Pools lists the limits in force: the total, conductor groups by name, virtual media.
func (l *Ledger) Pools() []Pool {
	pools := []Pool{{}}
	for _, g := range slices.Sorted(maps.Keys(l.cfg.Groups)) {
		pools = append(pools, Pool{Group: g})
	}
	if l.cfg.VirtualMedia > 0 {
		pools = append(pools, Pool{VirtualMedia: true})
	}
	return pools
}

// place notes where h competes. Ironic's word on the node counts, or else the last ask's.
func (l *Ledger) place(h *Host) {
	pool, exempt := Pool{}, false
	virtual := h.Asked.VirtualMedia
	h.Group = h.Asked.Group
	if h.Node != nil {
		virtual, h.Group = h.Node.VirtualMedia(), h.Node.ConductorGroup
	}
	switch {
	case virtual && l.cfg.VirtualMedia > 0:
		pool.VirtualMedia = true
	case virtual && l.cfg.ExemptVirtualMedia:
		exempt = true
	default:
		if _, limited := l.cfg.Groups[h.Group]; limited {
			pool.Group = h.Group
		}
	}
	if pool != h.Pool || exempt != h.Exempt {
		h.Pool, h.Exempt, l.counts = pool, exempt, nil
	}
}

// Placed reports whether it is known where h competes, or does not matter.
func (l *Ledger) Placed(h *Host) bool {
	return h.Known() || len(l.cfg.Groups) == 0 && l.cfg.VirtualMedia == 0
}

// Slots returns the numbers of a pool. What a conductor group has free is bounded by the total.
func (l *Ledger) Slots(p Pool) api.Slots {
	if l.counts == nil { // something has changed
		l.counts = map[Pool]api.Slots{}
		add := func(p Pool, occupied, leased, booting int) {
			n := l.counts[p]
			n.Occupied, n.Leased, n.Booting = n.Occupied+occupied, n.Leased+leased, n.Booting+booting
			l.counts[p] = n
		}
		for h := range l.live {
			leased := 0
			if h.Slot != nil && h.Slot.Phase == Leased {
				leased = 1
			}
			switch {
			case h.counts():
				add(h.Pool, 1, leased, 0)
				if h.Pool.Group != "" {
					add(Pool{}, 1, leased, 0)
				}
			case h.Slot == nil && h.Works && !h.Exempt:
				add(Pool{}, 0, 0, 1)
			}
		}
	}
	s := l.counts[p]
	s.Limit, s.Booting = l.Limit(p), l.counts[Pool{}].Booting
	s.Free = max(0, s.Limit-s.Occupied)
	if p.Group != "" {
		s.Free = min(s.Free, max(0, l.cfg.Total-l.counts[Pool{}].Occupied))
	}
	return s
}

// Limit returns the slots of p.
func (l *Ledger) Limit(p Pool) int {
	switch {
	case p.VirtualMedia:
		return l.cfg.VirtualMedia
	case p.Group != "":
		return l.cfg.Groups[p.Group]
	}
	return l.cfg.Total
}
