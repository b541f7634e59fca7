package slots

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// PollFailed notes that a poll did not complete. It ends no slot, and leaves the view as old as it is.
func (l *Ledger) PollFailed(now time.Time) {
	l.Tick(now)
	l.seq++
	l.broke = l.seq
}

// Unsettle makes l start again, as New does: it may talk to another Ironic now. Hosts keep their slots, and no new host
// may start before a complete poll that is sent Config.Settle after now.
func (l *Ledger) Unsettle(now time.Time) {
	l.Tick(now)
	l.start, l.settled = l.now, false
}

// Ready reports whether a host without a slot could get a yes at all, as Open, Stale or Starting, and how long Starting
// will last at least. A view is as old as its poll took when it comes, and twice as old when the next one comes. So
// the bound for Stale grows with the time that polls take, up to four times Config.MaxStale.
func (l *Ledger) Ready(now time.Time) (Standing, time.Duration) {
	l.Tick(now)
	switch {
	case l.polls > 0 && l.now.Sub(l.takenAt) > min(l.cfg.MaxStale+2*l.took, 4*l.cfg.MaxStale):
		return Stale, 0
	case !l.settled:
		return Starting, max(0, l.cfg.Settle-l.now.Sub(l.start))
	}
	return Open, 0
}

// View returns how current the ledger's view of Ironic is.
func (l *Ledger) View(now time.Time) api.View {
	standing, _ := l.Ready(now)
	v := api.View{Fresh: l.polls > 0 && standing != Stale, Settled: l.settled, AgeSeconds: -1, Polls: l.polls}
	if l.polls > 0 {
		v.AgeSeconds = l.now.Sub(l.takenAt).Seconds()
	}
	for h := range l.live {
		if h.Works {
			v.BusyNodes++
		}
	}
	return v
}

// Whole reports whether the next poll has to read all lists, as while the throttle starts: so it adopts all nodes at
// work, and does not take an old failure for a new one.
func (l *Ledger) Whole(time.Time) bool { return !l.settled }

// Fetch returns the UUIDs or names of up to 20 nodes that the poll did not show in o and has to fetch: absence from a
// list proves nothing. First come those on which the slot of a host depends, the longest unseen first; then those that
// Want named, each until Ironic answers a fetch of it.
func (l *Ledger) Fetch(now time.Time, o *ironic.Observation) []string {
	l.Tick(now)
	shown := make(map[string]bool, 2*len(o.Nodes))
	for i := range o.Nodes {
		shown[o.Nodes[i].UUID], shown[o.Nodes[i].Name] = true, true
	}
	var due []*Host
	for h := range l.live {
		used := h.Works || h.Slot != nil && h.Slot.Phase != Leased
		if (o.Listed && used || l.depends(h)) && !shown[h.key()] {
			due = append(due, h)
		}
	}
	slices.SortFunc(due, func(a, b *Host) int {
		return cmp.Or(cmp.Compare(a.Seen.Seq, b.Seen.Seq), cmp.Compare(a.key(), b.key()))
	})
	l.wanted = slices.DeleteFunc(l.wanted, func(h *Host) bool {
		h.wanted = h.wanted && !shown[h.key()]
		return !h.wanted || l.Find(h.ID) != h
	})
	var keys []string
	for _, h := range due[:min(len(due), maxFetches)] {
		keys = append(keys, h.key())
	}
	n := min(len(l.wanted), maxFetches-len(keys))
	for _, h := range l.wanted[:n] {
		if !slices.Contains(keys, h.key()) {
			keys = append(keys, h.key())
		}
	}
	l.wanted = append(slices.Clone(l.wanted[n:]), l.wanted[:n]...) // a node that cannot be fetched delays no other
	return keys
}

// depends reports whether a newer observation of h's node may end a slot, or show what became of a PUT or of its work.
func (l *Ledger) depends(h *Host) bool {
	s := h.Slot
	switch {
	case s == nil:
		return !h.cleansUp.IsZero()
	case s.Phase == Leased: // has the host used it? does the node still exist?
		return l.now.Sub(h.fetched) >= fetchGap
	case !s.unsure.IsZero() || !h.cleansUp.IsZero():
		return true
	case s.Phase == Lingering:
		return h.Seen.Seq <= h.yesSeq || l.now.Sub(s.idleAt) >= l.cfg.Linger
	}
	return !h.busy || h.Seen.Seq < s.opSeq
}

// Expect adds a host of which only the ID is known, and puts its node on the list of nodes to fetch.
func (l *Ledger) Expect(id ID) {
	h := &Host{ID: id}
	l.learn(h, id, false)
	l.place(h)
	l.Want(h)
}

// Want puts the node of h on the list of nodes to fetch.
func (l *Ledger) Want(h *Host) {
	if !h.wanted {
		h.wanted = true
		l.wanted = append(l.wanted, h)
	}
}

// Recheck puts the idle node of h on the list of nodes to fetch if it was not seen for Config.ListMaxAge. So the ledger
// knows its provision state, and does not forget h.
func (l *Ledger) Recheck(h *Host) {
	if min(l.now.Sub(h.fetched), l.now.Sub(h.Seen.At)) >= l.cfg.ListMaxAge {
		l.Want(h)
	}
}

// needsFetch reports whether the answer to an ask with standing s depends on a fetch of its node, which shows the pool
// of the host, or whether it has reached its goal. One fetch is enough for ListMaxAge; for ten times as long if the
// host only waits: polls show what changes, but not that a node left Ironic.
func (l *Ledger) needsFetch(h *Host, ask *Ask, s Standing) bool {
	enough := l.cfg.ListMaxAge
	if s == Open && !h.Failed() {
		enough *= 10
	}
	doubted := s == Exempt && !ask.VirtualMedia // Ironic may have shown virtual media long ago
	switch {
	case s == Exempt && !doubted, s == Done, h.Works && s != Stale, l.now.Sub(h.fetched) < enough:
		return false
	case doubted, h.Works, !l.Placed(h):
		return true
	case ask.Put:
		return false
	case ask.wantsNothing():
		return h.Slot != nil
	}
	return ask.Op == api.OpProvision || ask.Op == api.OpDeprovision || ask.Op == api.OpInspect && !l.now.After(h.inspected)
}
