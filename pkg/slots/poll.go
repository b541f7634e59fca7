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

// SettlesIn returns how long it is until a complete poll can end the start; false if it is that time, or over.
func (l *Ledger) SettlesIn(now time.Time) (time.Duration, bool) {
	l.Tick(now)
	left := l.cfg.Settle - l.now.Sub(l.start)
	return left, !l.settled && left > 0
}

// View shows how current the ledger's view of Ironic is.
func (l *Ledger) View(now time.Time) api.View {
	standing, _ := l.Ready(now)
	v := api.View{Fresh: l.polls > 0 && standing != Stale, Settled: l.settled, AgeSeconds: -1, Polls: l.polls}
	if l.polls > 0 {
		v.AgeSeconds, v.TakenAt = l.now.Sub(l.takenAt).Seconds(), l.takenAt
	}
	for h := range l.live {
		if h.Works {
			v.BusyNodes++
		}
	}
	return v
}

// Whole reports whether the next poll is to show failed, service and hold states too: who fails later has failed since
// then, and who is in service while the throttle starts is adopted.
func (l *Ledger) Whole(now time.Time) bool {
	l.Tick(now)
	return !l.settled || l.now.Sub(l.whole.At) >= forgetAfter
}

// Missing names the nodes that must be fetched alone, because no list of the poll showed them: absence ends nothing.
func (l *Ledger) Missing(now time.Time, nodes []ironic.Node) []string {
	l.Tick(now)
	listed := make(map[string]bool, 2*len(nodes))
	for _, n := range nodes {
		listed[n.UUID], listed[n.Name] = true, true
	}
	var keys []string
	for h := range l.live {
		used := h.Slot != nil && (h.Slot.Phase != Leased || l.endIsDue(h))
		if (used || h.Works || !h.settles.IsZero()) && !listed[h.key()] {
			keys = append(keys, h.key())
		}
	}
	slices.Sort(keys)
	return keys
}

// endIsDue reports whether the end of a slot that was not used waits only for an observation of its node.
func (l *Ledger) endIsDue(h *Host) bool {
	s := h.Slot
	return s != nil && s.Phase == Leased &&
		(l.now.Sub(s.yesAt) >= l.cfg.LeaseTTL || !s.unsure.IsZero() && l.now.Sub(s.unsure) >= l.cfg.Settle)
}

// Left names the hosts with a slot that rows, of the nodes that changed last, show outside of work.
func (l *Ledger) Left(now time.Time, rows []ironic.Change) []string {
	l.Tick(now)
	var keys []string
	for _, row := range rows {
		h := l.byUUID[row.UUID]
		if h == nil || h.Slot == nil || row.State.Busy() || row.State.Extra() {
			continue
		}
		if row.State != h.State() || h.Slot.busySeq > h.Seen.Seq {
			keys = append(keys, row.UUID)
		}
	}
	return keys
}

// Waits reports whether the next poll must read the lists though nothing seems to have changed: something waits for
// a newer observation, or contradicts the last one.
func (l *Ledger) Waits(now time.Time) bool {
	l.Tick(now)
	if !l.settled || l.outdated {
		return true
	}
	for h := range l.live {
		s := h.Slot
		if s != nil && (s.Phase == Lingering || s.Phase == Working && (!h.busy || h.Seen.Seq < s.opSeq) ||
			!s.unsure.IsZero() || l.endIsDue(h)) {
			return true
		}
	}
	return false
}

// Wanted names up to 20 hosts to fetch: those that may have used their slot unseen, then those that somebody asked
// about. A host stays wanted until a fetch of it is answered.
func (l *Ledger) Wanted(now time.Time) []string {
	l.Tick(now)
	var due []*Host
	for h := range l.live {
		s := h.Slot
		if s == nil || s.Phase != Leased || s.flying > 0 {
			continue
		}
		// Its work may start and fail between two polls: a fetch is due at once, and then more and more rarely.
		gap := max(minFetchGap, h.fetched.Sub(s.Since))
		if s.yesAt.After(h.fetched) {
			gap = min(gap, l.cfg.ListMaxAge)
		}
		if !h.fetched.After(s.Since) || h.missing > 0 || l.now.Sub(h.fetched) >= gap {
			due = append(due, h)
		}
	}
	slices.SortFunc(due, func(a, b *Host) int {
		return cmp.Or(a.fetched.Compare(b.fetched), cmp.Compare(a.key(), b.key()))
	})
	l.wanted = slices.DeleteFunc(l.wanted, func(h *Host) bool { return !h.wanted || h.gone })
	var keys []string
	for _, h := range due[:min(len(due), maxWanted)] {
		keys = append(keys, h.key())
	}
	n := min(len(l.wanted), maxWanted-len(keys))
	for _, h := range l.wanted[:n] {
		if !slices.Contains(keys, h.key()) {
			keys = append(keys, h.key())
		}
	}
	l.wanted = append(slices.Clone(l.wanted[n:]), l.wanted[:n]...) // who cannot be fetched does not delay the others
	return keys
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
	case s == Exempt && !doubted, s == Done, h.Works, l.now.Sub(h.fetched) < l.cfg.ListMaxAge:
		return false
	case doubted, !l.Placed(h):
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
