package slots

import (
	"maps"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// pool is where a host's slot counts.
type pool struct {
	class class
	group string // a conductor group with a limit of its own, else ""
}

type class uint8

const (
	regular class = iota // the total, and perhaps a group
	virtual              // the virtual-media pool beside it (LH-34)
	exempt               // nowhere (LH-22)
)

// VirtualMediaPool names the virtual-media pool where pools are shown.
const VirtualMediaPool = "virtual-media"

func (p pool) name() string {
	switch p.class {
	case virtual:
		return VirtualMediaPool
	case exempt:
		return "exempt"
	}
	return p.group
}

// Pool names a limit: a conductor group that has one of its own, virtual media, or,
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

func (p pool) id() Pool { return Pool{Group: p.group, VirtualMedia: p.class == virtual} }

func (p Pool) pool() pool {
	if p.VirtualMedia {
		return pool{class: virtual}
	}
	return pool{group: p.Group}
}

// Pools lists the limits in force: the total, conductor groups by name, virtual
// media.
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

// PoolOf is where the hosts of a conductor group compete: the total, unless the group
// has a limit of its own.
func (l *Ledger) PoolOf(group string) Pool {
	if _, limited := l.cfg.Groups[group]; !limited {
		return Pool{}
	}
	return Pool{Group: group}
}

// Limit returns the slots of p alone.
func (l *Ledger) Limit(p Pool) int { return l.slotsOf(p.pool()).Limit }

// Free returns how many slots p has left for new hosts, at least 0.
func (l *Ledger) Free(now time.Time, p Pool) int {
	l.tick(now)
	l.refreshStuck()
	return max(0, l.free(p.pool()))
}

// tally counts the hosts of one pool.
type tally struct {
	occupied int // what is compared with the limit
	unseen   int // of these, not seen busy yet
}

// poolFor places a host by Ironic's word, or by the ask's where Ironic's is not
// known; known is false when a limit depends on a word that nobody gave (LH-35).
func (l *Ledger) poolFor(h *host, group string, virtualMedia bool) (p pool, known bool) {
	known = h != nil && (h.facts || h.answered)
	if h != nil && h.facts {
		at := h.home.Value()
		group, virtualMedia = at.group, at.virtual
	}
	if !known && len(l.cfg.Groups) == 0 && l.cfg.VirtualMedia == 0 {
		known = true // no answer depends on it
	}
	switch {
	case virtualMedia && l.cfg.VirtualMedia > 0:
		return pool{class: virtual}, known
	case virtualMedia && l.cfg.ExemptVirtualMedia:
		return pool{class: exempt}, known
	}
	if _, limited := l.cfg.Groups[group]; !limited {
		group = ""
	}
	return pool{group: group}, known
}

// free is how many further slots p has; negative when over its limit.
func (l *Ledger) free(p pool) int {
	switch p.class {
	case exempt:
		return MaxLimit
	case virtual:
		return l.cfg.VirtualMedia - l.virtual.occupied
	}
	free := l.cfg.Total - l.total.occupied
	if p.group != "" {
		free = min(free, l.cfg.Groups[p.group]-l.group(p.group).occupied)
	}
	return free
}

// tallies returns the counters in which a slot of p shows.
func (l *Ledger) tallies(p pool) []*tally {
	switch p.class {
	case exempt:
		return nil
	case virtual:
		return []*tally{&l.virtual}
	}
	if p.group == "" {
		return []*tally{&l.total}
	}
	return []*tally{&l.total, l.group(p.group)}
}

func (l *Ledger) group(name string) *tally {
	t := l.groups[name]
	if t == nil {
		t = &tally{}
		l.groups[name] = t
	}
	return t
}

// account adds h's share to its pool (sign 1) or takes it back (sign -1).
// Whatever changes phase, pool or off stands between the two.
func (l *Ledger) account(h *host, sign int) {
	l.touch(h)
	if !h.holds() || h.off {
		return
	}
	for _, t := range l.tallies(h.pool) {
		t.occupied += sign
		if h.phase == leased {
			t.unseen += sign
		}
	}
}

// change brackets a change of h that the counters see.
func (l *Ledger) change(h *host, f func()) {
	l.account(h, -1)
	f()
	l.account(h, +1)
}

// slotsOf shows p's numbers; a group's free slots are also bounded by the total.
func (l *Ledger) slotsOf(p pool) api.Slots {
	if p.class == exempt {
		p = pool{} // competes nowhere; the total is what is worth knowing
	}
	limit, t := l.cfg.Total, l.total
	switch {
	case p.class == virtual:
		limit, t = l.cfg.VirtualMedia, l.virtual
	case p.group != "":
		limit, t = l.cfg.Groups[p.group], *l.group(p.group)
	}
	return api.Slots{
		Limit: limit, Occupied: t.occupied, Free: max(0, l.free(p)), Leased: t.unseen, Booting: l.booting,
	}
}
