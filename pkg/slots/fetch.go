package slots

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Missing names the hosts that must be fetched alone because no list of a poll
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
		if (h.worked() || h.busy(l.cfg.CountExtra) || h.observed.cleansUp || h.endIsDue(l.at, &l.cfg)) && !listed[h.key()] {
			keys = append(keys, h.key())
		}
	}
	slices.Sort(keys)
	return keys
}

// Left names the hosts with a slot that rows, of the nodes that changed last, show outside
// of work, and that were not observed so: fetched alone, they may give their slots back.
func (l *Ledger) Left(now time.Time, rows []ironic.Change) []string {
	l.tick(now)
	var keys []string
	for _, row := range rows {
		h := l.byUUID[row.UUID]
		if h == nil || !h.holds() || row.State.Busy() || row.State.Extra() {
			continue
		}
		// A PUT's 2xx may be newer than the observation: then the same state is news.
		if row.State != h.observed.state || h.busySeq > h.observed.mark.seq {
			keys = append(keys, row.UUID)
		}
	}
	return keys
}

// Waits reports whether the next poll must read the lists even if a probe shows that nothing has
// changed (GC-19). That is so until the first yes may be said, while the end of a slot waits for
// a newer observation, and when anything contradicts the last lists.
func (l *Ledger) Waits(now time.Time) bool {
	l.tick(now)
	if !l.view.settled || l.view.listsOutdated {
		return true
	}
	for h := range l.live {
		if !h.holds() {
			continue
		}
		ended := h.worked() && !h.busy(true) // or nothing shows its state
		unproven := h.busy(true) && h.observed.mark.seq < h.opSeq
		if ended || unproven || h.notFound > 0 || h.puts.unknown > 0 || h.endIsDue(l.at, &l.cfg) {
			return true
		}
	}
	return false
}

// Wanted names up to 20 hosts that should be fetched: first those that may have used their
// lease unobserved, then those on the fetch list (LH-16). A host stays there until a fetch of
// it is answered.
func (l *Ledger) Wanted(now time.Time) []string {
	l.tick(now)
	var due []*host
	for h := range l.live {
		if h.fetchIsDue(l.at, l.cfg.ListMaxAge) {
			due = append(due, h)
		}
	}
	slices.SortFunc(due, func(a, b *host) int {
		return cmp.Or(cmp.Compare(a.fetched, b.fetched), cmp.Compare(a.since, b.since))
	})
	keys := make([]string, 0, maxWanted)
	for _, h := range due[:min(len(due), maxWanted)] {
		keys = append(keys, h.key())
	}
	return l.fetches.next(keys)
}

// Want puts the host on the fetch list, unless Ironic has answered for it already.
func (l *Ledger) Want(r Ref) {
	if h := r.h; !h.answered && !h.located {
		l.fetches.add(h)
	}
}

// Recheck puts a host whose state matters though it does nothing on the fetch list, once
// its newest observation is LIST_MAX_AGE old, and keeps it from being forgotten.
func (l *Ledger) Recheck(now time.Time, r Ref) {
	l.tick(now)
	h := r.h
	h.lastAsk = l.at
	if passed(max(h.fetched, h.observed.mark.at), l.at, l.cfg.ListMaxAge) {
		l.fetches.add(h)
	}
}

// needsFetch reports whether the ask of v makes us fetch the node of its host h: for an op
// whose goal may be reached already (LH-16), or a pool that only Ironic knows (LH-35). One
// answer is enough for LIST_MAX_AGE.
func (v Verdict) needsFetch(h *host, at moment, cfg *Config) bool {
	// The host passes by Ironic's word, which may be old.
	doubted := v.Outcome == Exempt && h.located && !v.ask.VirtualMedia
	switch {
	case v.Outcome == Exempt && !doubted, v.Outcome == Done:
		return false
	case h.fetch == wanted, h.busy(cfg.CountExtra), h.answered && !passed(h.fetched, at, cfg.ListMaxAge):
		return false
	case (len(cfg.Groups) > 0 || cfg.VirtualMedia > 0) && !h.located && !h.answered:
		return true
	case v.ask.Put || doubted:
		return doubted
	case v.ask.wantsNothing():
		return h.holds()
	case v.ask.ID.UUID == "":
		return false
	}
	switch v.ask.Op {
	case api.OpProvision, api.OpDeprovision:
		return true
	case api.OpInspect:
		return h.lastBusy == inspection && h.sameInspection(at, cfg.Linger)
	}
	return false
}
