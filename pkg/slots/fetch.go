package slots

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Missing names the hosts that must be fetched alone because no list of a look
// showed them (LH-36): absence from a list ends nothing. The order is stable.
func (l *Ledger) Missing(now time.Time, nodes []ironic.Node) []string {
	l.tick(now)
	listed := make(map[string]bool, 2*len(nodes))
	for _, n := range nodes {
		listed[n.UUID] = true
		if n.Name != "" {
			listed[n.Name] = true
		}
	}
	var keys []string
	for h := range l.live {
		if (h.worked() || h.busy(l.cfg.CountExtra) || l.due(h)) && !listed[h.key()] {
			keys = append(keys, h.key())
		}
	}
	slices.Sort(keys)
	return keys
}

// Left names the hosts with a slot that rows, of the nodes that changed last, show outside
// of work, and that were not seen so: fetched alone, they may give their slots back.
func (l *Ledger) Left(now time.Time, rows []ironic.Change) []string {
	l.tick(now)
	var keys []string
	for _, row := range rows {
		h := l.byUUID[row.UUID]
		if h == nil || !h.holds() || row.State.Busy() || row.State.Extra() {
			continue
		}
		// A PUT's 2xx may be newer than the last sight: then the same state is news.
		if row.State != h.seen.state || h.busySeq > h.seen.mark.seq {
			keys = append(keys, row.UUID)
		}
	}
	return keys
}

// Waits reports whether a slot's end, or the begin of all slots, hangs on a sight begun
// from now on, or anything contradicts the last lists: then they must be read, whatever
// else shows that nothing has changed (GC-19).
func (l *Ledger) Waits(now time.Time) bool {
	l.tick(now)
	if !l.settled || l.hinted {
		return true
	}
	for h := range l.live {
		if !h.holds() {
			continue
		}
		ended := h.worked() && !h.busy(true) // or where it is cannot be seen
		unproven := h.busy(true) && h.seen.mark.seq < h.opSeq
		if ended || unproven || h.gone > 0 || h.doubts > 0 || l.due(h) {
			return true
		}
	}
	return false
}

// Whole reports whether the next look is to show more than the busy: who has failed, so
// that a node which fails later is known to have failed since, and who is in a service or
// hold state, for it is adopted. That is so until all that the process before said yes to
// is known (LH-24), and again from time to time: whoever has failed is remembered for as
// long as these lists show it.
func (l *Ledger) Whole(now time.Time) bool {
	l.tick(now)
	return !l.settled || passed(l.whole.at, l.at, forgetAfter)
}

// due reports whether a lease that was never seen busy hangs on a sight of its
// node. The others are not fetched at each poll.
func (l *Ledger) due(h *host) bool {
	if h.phase != leased {
		return false
	}
	if h.doubts > 0 && passed(h.doubt.at, l.at, l.cfg.Settle) {
		return true
	}
	if passed(h.yesAt, l.at, l.cfg.LeaseTTL) {
		return true
	}
	return passed(h.sinceAt, l.at, 2*l.cfg.LeaseTTL) && passed(h.renewed, l.at, l.cfg.Linger) &&
		!l.idleSinceRenewal(h)
}

// wanting reports whether an ask makes us fetch its node: an op whose goal may
// be reached already (LH-16), or a pool that only Ironic knows (LH-35). One
// answer serves for LIST_MAX_AGE.
func (l *Ledger) wanting(h *host, v Verdict) bool {
	// Ironic's old word may be what lets the host pass.
	doubted := v.Outcome == Exempt && h != nil && h.facts && !v.ask.VirtualMedia
	if v.Outcome == Exempt && !doubted || v.Outcome == Done {
		return false
	}
	if h != nil && (h.wanted || h.busy(l.cfg.CountExtra) ||
		h.answered && !passed(h.fetched, l.at, l.cfg.ListMaxAge)) {
		return false
	}
	limited := len(l.cfg.Groups) > 0 || l.cfg.VirtualMedia > 0
	if limited && (h == nil || !h.facts && !h.answered) {
		return true
	}
	if v.ask.Put || doubted {
		return doubted
	}
	if v.ask.wantsNothing() {
		return h != nil && h.holds()
	}
	switch v.ask.Op {
	case api.OpProvision, api.OpDeprovision:
		return v.ask.ID.UUID != ""
	case api.OpInspect:
		return v.ask.ID.UUID != "" && h != nil && h.lastBusy == inspection && l.sameInspection(h)
	}
	return false
}

// peeks reports whether a lease that was never seen busy is to be looked at: its work may
// begin and fail between two polls. That is at the first poll after the grant, and then
// whenever as much time has gone by since the last look as it had till that one. A yes
// since then shortens that to LIST_MAX_AGE. So its cost follows neither polls nor asks.
func (l *Ledger) peeks(h *host) bool {
	if h.phase != leased || h.flights > 0 {
		return false
	}
	if h.fetched <= h.sinceAt || h.gone > 0 { // or it is not where it was, and the name may be another's (LH-23)
		return true
	}
	gap := max(minPeek, h.fetched.since(h.sinceAt))
	if h.yesAt > h.fetched {
		gap = min(gap, l.cfg.ListMaxAge)
	}
	return passed(h.fetched, l.at, gap)
}

// Wanted names up to 20 hosts that should be fetched: first those that may have used their
// lease unseen, then those that were asked about (LH-16). A host stays on the list until a
// fetch of it is answered; of the latter, one that could not be fetched goes behind the
// others.
func (l *Ledger) Wanted(now time.Time) []string {
	l.tick(now)
	var peeks []*host
	for h := range l.live {
		if l.peeks(h) {
			peeks = append(peeks, h)
		}
	}
	slices.SortFunc(peeks, func(a, b *host) int {
		return cmp.Or(cmp.Compare(a.fetched, b.fetched), cmp.Compare(a.since, b.since))
	})
	keys := make([]string, 0, maxWanted)
	for _, h := range peeks[:min(len(peeks), maxWanted)] {
		keys = append(keys, h.key())
	}
	for n := len(l.wants) - l.wantsFrom; n > 0 && len(keys) < maxWanted; n-- {
		h := l.wants[l.wantsFrom]
		l.wants[l.wantsFrom] = nil
		l.wantsFrom++
		if h.wanted {
			if !slices.Contains(keys, h.key()) {
				keys = append(keys, h.key())
			}
			l.wants = append(l.wants, h)
		}
	}
	if l.wantsFrom > len(l.wants)/2 {
		l.wants = slices.Delete(l.wants, 0, l.wantsFrom)
		l.wantsFrom = 0
	}
	return keys
}
