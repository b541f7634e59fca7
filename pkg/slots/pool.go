package slots

import (
	"maps"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// VirtualMediaPool is the name of the virtual-media pool in texts and JSON.
const VirtualMediaPool = "virtual-media"

// Pool is a set of slots with a limit. The zero value is the total. A conductor group with a limit of its own is a pool
// within the total; virtual media is a pool beside it.
type Pool struct {
	Group        string
	VirtualMedia bool
}

// String returns the name of the pool in texts and JSON, "" for the total.
func (p Pool) String() string {
	if p.VirtualMedia {
		return VirtualMediaPool
	}
	return p.Group
}

// Within returns the pool that p is a part of: the total for a conductor group, else p itself.
func (p Pool) Within() Pool { return Pool{VirtualMedia: p.VirtualMedia} }

// Pools returns all pools in order: the total, conductor groups by name, virtual media.
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

// place sets the pool of h by what Ironic shows of its node, or else by what the last ask said.
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

// Placed reports whether the pool of h is certain, or all hosts share one.
func (l *Ledger) Placed(h *Host) bool {
	return h.Known() || len(l.cfg.Groups) == 0 && l.cfg.VirtualMedia == 0
}

// Slots returns the numbers of a pool. A conductor group never has more free slots than the total.
func (l *Ledger) Slots(p Pool) api.Slots {
	if l.counts == nil {
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

// Limit returns how many slots p has.
func (l *Ledger) Limit(p Pool) int {
	switch {
	case p.VirtualMedia:
		return l.cfg.VirtualMedia
	case p.Group != "":
		return l.cfg.Groups[p.Group]
	}
	return l.cfg.Total
}
