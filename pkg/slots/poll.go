package slots

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// PollFailed notes that a poll was not completed. It ends nothing and makes the view no younger.
func (l *Ledger) PollFailed(now time.Time) {
	l.Tick(now)
	l.seq++
	l.broke = l.seq
}

// Unsettle lets nobody start before a complete poll that is sent Config.Settle after now, as New does: Ironic may be
// another one. Whoever has a slot keeps it.
func (l *Ledger) Unsettle(now time.Time) {
	l.Tick(now)
	l.start, l.settled = l.now, false
}

// Ready reports whether a host without a slot could get a yes at all: Open, Stale or Starting, and for how long that may
// last. A view is as old as its poll took when it comes, and as old as two polls when the next one comes: so slow polls
// may be older, up to a bound, until it is stale.
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

// View shows how current the ledger's view of Ironic is.
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

// Whole reports whether the next poll is to read all lists. It is while the throttle starts: so all that are at work are
// adopted, and what has failed before is not taken for a new failure.
func (l *Ledger) Whole(time.Time) bool { return !l.settled }

// Fetch names up to 20 nodes that the poll shall fetch alone, as it has not shown them: absence ends nothing. First those of
// hosts whose slot depends on what their node is at, the longest unseen first; then those that somebody asked about, of which
// each stays wanted until a fetch of it is answered.
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
	l.wanted = slices.DeleteFunc(l.wanted, func(h *Host) bool { return !h.wanted || h.gone || shown[h.key()] })
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
	l.wanted = append(slices.Clone(l.wanted[n:]), l.wanted[:n]...) // who cannot be fetched does not delay the others
	return keys
}

// depends reports whether something waits for a newer observation of h's node: the end of its slot, or what became of a PUT.
func (l *Ledger) depends(h *Host) bool {
	s := h.Slot
	switch {
	case s == nil:
		return !h.cleansUp.IsZero()
	case s.Phase == Leased: // is it used? is its node still there?
		return l.now.Sub(h.fetched) >= fetchGap
	case !s.unsure.IsZero() || !h.cleansUp.IsZero():
		return true
	case s.Phase == Lingering:
		return h.Seen.Seq <= h.yesSeq || l.now.Sub(s.idleAt) >= l.cfg.Linger
	}
	return !h.busy || h.Seen.Seq < s.opSeq
}

// Want has the node of h fetched.
func (l *Ledger) Want(h *Host) {
	if !h.wanted {
		h.wanted = true
		l.wanted = append(l.wanted, h)
	}
}

// Recheck has the node of h fetched again, whose state matters though it is idle, and keeps h from being forgotten.
func (l *Ledger) Recheck(now time.Time, h *Host) {
	l.Tick(now)
	if min(l.now.Sub(h.fetched), l.now.Sub(h.Seen.At)) >= l.cfg.ListMaxAge {
		l.Want(h)
	}
}

// needsFetch reports whether an ask with that standing needs Ironic's word on its node: where it competes, or whether
// it has reached its goal. One answer is enough for ListMaxAge.
func (l *Ledger) needsFetch(h *Host, ask *Ask, s Standing) bool {
	doubted := s == Exempt && h.Node != nil && !ask.VirtualMedia // it passes by what Ironic said, which may be old
	switch {
	case s == Exempt && !doubted, s == Done, h.Works && s != Stale, l.now.Sub(h.fetched) < l.cfg.ListMaxAge:
		return false
	case doubted, h.Works, !l.Placed(h):
		return true
	case ask.Put:
		return false
	case ask.wantsNothing():
		return h.Slot != nil
	case ask.ID.UUID == "":
		return false
	}
	return ask.Op == api.OpProvision || ask.Op == api.OpDeprovision || ask.Op == api.OpInspect && !l.now.After(h.inspected)
}
