package slots

import (
	"maps"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// VirtualMediaPool names the virtual-media pool where pools are shown.
const VirtualMediaPool = "virtual-media"

// Pool names a limit: a conductor group that has one of its own, virtual media (LH-34), or,
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

// pool is where a host's slot counts.
type pool struct {
	Pool
	exempt bool // nowhere (LH-22)
}

// pools holds the limits and counts the occupied slots of each.
type pools struct {
	limits *Config // of the ledger, which may replace Config.Limits

	total, virtual tally
	groups         map[string]*tally
	booting        int // hosts that are at work and not counted
}

// tally counts the hosts of one pool.
type tally struct {
	occupied int // what is compared with the limit
	leased   int // of these, not observed at work yet
}

// Pools lists the limits in force: the total, conductor groups by name, virtual
// media.
func (s *pools) Pools() []Pool {
	pools := []Pool{{}}
	for _, g := range slices.Sorted(maps.Keys(s.limits.Groups)) {
		pools = append(pools, Pool{Group: g})
	}
	if s.limits.VirtualMedia > 0 {
		pools = append(pools, Pool{VirtualMedia: true})
	}
	return pools
}

// PoolOf is where the hosts of a conductor group compete: the total, unless the group
// has a limit of its own.
func (s *pools) PoolOf(group string) Pool {
	if _, limited := s.limits.Groups[group]; !limited {
		return Pool{}
	}
	return Pool{Group: group}
}

// Limit returns the slots of p alone.
func (s *pools) Limit(p Pool) int { return s.slotsOf(p).Limit }

// SlotsFor returns the numbers of the pool that v's host competes in, as they
// are now.
func (s *pools) SlotsFor(v Verdict) api.Slots { return s.slotsOf(v.pool.Pool) }

// poolFor returns the pool of h, which may be nil: by Ironic's word, or by the ask's group and
// boot interface where Ironic's is not known. known is false if the pool depends on a word
// that nobody gave (LH-35).
func (s *pools) poolFor(h *host, group string, virtualMedia bool) (p pool, known bool) {
	known = h != nil && (h.located || h.answered)
	if h != nil && h.located {
		home := h.home.Value()
		group, virtualMedia = home.group, home.virtual
	}
	if !known && len(s.limits.Groups) == 0 && s.limits.VirtualMedia == 0 {
		known = true // no answer depends on it
	}
	switch {
	case virtualMedia && s.limits.VirtualMedia > 0:
		return pool{Pool: Pool{VirtualMedia: true}}, known
	case virtualMedia && s.limits.ExemptVirtualMedia:
		return pool{exempt: true}, known
	}
	return pool{Pool: s.PoolOf(group)}, known
}

// free is how many further slots p has; negative when over its limit.
func (s *pools) free(p Pool) int {
	if p.VirtualMedia {
		return s.limits.VirtualMedia - s.virtual.occupied
	}
	free := s.limits.Total - s.total.occupied
	if p.Group != "" {
		free = min(free, s.limits.Groups[p.Group]-s.group(p.Group).occupied)
	}
	return free
}

// slotsOf shows p's numbers; a group's free slots are also bounded by the total.
func (s *pools) slotsOf(p Pool) api.Slots {
	limit, t := s.limits.Total, &s.total
	switch {
	case p.VirtualMedia:
		limit, t = s.limits.VirtualMedia, &s.virtual
	case p.Group != "":
		limit, t = s.limits.Groups[p.Group], s.group(p.Group)
	}
	return api.Slots{
		Limit: limit, Occupied: t.occupied, Free: max(0, s.free(p)), Leased: t.leased, Booting: s.booting,
	}
}

func (s *pools) group(name string) *tally {
	t := s.groups[name]
	if t == nil {
		t = &tally{}
		s.groups[name] = t
	}
	return t
}

// count adds h's share to its pool (sign 1) or takes it back (sign -1).
// Ledger.change calls it before and after a change of phase, pool or writtenOff.
func (s *pools) count(h *host, sign int) {
	switch p := h.pool; {
	case !h.holds() || h.writtenOff || p.exempt:
	case p.VirtualMedia:
		s.virtual.add(h, sign)
	default:
		s.total.add(h, sign)
		if p.Group != "" {
			s.group(p.Group).add(h, sign)
		}
	}
}

func (t *tally) add(h *host, sign int) {
	t.occupied += sign
	if h.phase == leased {
		t.leased += sign
	}
}

// countBooting notes whether h is at work and not counted.
func (s *pools) countBooting(h *host, boots bool) {
	switch {
	case boots && !h.boots:
		s.booting++
	case h.boots && !boots:
		s.booting--
	}
	h.boots = boots
}
