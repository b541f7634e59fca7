package slots

import (
	"maps"
	"time"
)

// Ledger knows who holds a slot. Make one with New; it is not safe for
// concurrent use.
type Ledger struct {
	cfg Config

	clock     // the time, and the numbers of events
	directory // every host, by UUID and by name
	pools     // the limits, and how many slots of each are occupied
	journal   // what the owner has not collected yet

	live    map[*host]struct{} // holds a slot, or its node is busy or cleans up
	view    view               // what the polls have shown as a whole
	fetches fetchList
	unknown unknownHosts
	stuckAt moment // when the next host may become stuck; never = recount now

	illegalMoves uint64 // faults of the ledger: moves that are no transition
}

// New returns a ledger that starts now: it says no yes to a host without a slot
// before a complete poll begun Config.Settle later (LH-24).
func New(cfg Config, now time.Time) (*Ledger, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Groups = maps.Clone(cfg.Groups)
	l := &Ledger{
		cfg:       cfg,
		clock:     clock{start: now, now: now, at: started},
		directory: directory{byUUID: map[string]*host{}, byName: map[string]*host{}},
		live:      map[*host]struct{}{},
		unknown:   unknownHosts{since: map[*host]uint64{}},
	}
	l.pools = pools{limits: &l.cfg, groups: map[string]*tally{}}
	return l, nil
}

// Follow makes l the ledger of the term after old's: what was begun in that one shows it
// nothing. l must be new.
func (l *Ledger) Follow(old *Ledger) { l.seq, l.born = old.seq, old.seq }

// SetLimits changes the limits. No host loses its slot; while more are occupied
// than the new limit allows there is no further yes (LH-19).
func (l *Ledger) SetLimits(now time.Time, limits Limits) error {
	if err := limits.Validate(); err != nil {
		return err
	}
	l.tick(now)
	for h := range l.live {
		l.touch(h)
		l.count(h, -1)
	}
	limits.Groups = maps.Clone(limits.Groups)
	l.cfg.Limits = limits
	for h := range l.live {
		home := h.home.Value()
		p, _ := l.poolFor(h, home.group, home.virtual)
		switch {
		case h.holds():
			h.pool = p
			l.count(h, +1)
		case !p.exempt && h.everYes: // was let pass, and is at work
			l.totals.Foreign++
			l.occupy(h, foreign, p, h.observed.mark.seq)
		}
		l.updateLive(h)
	}
	l.stuckAt = never
	return nil
}

// Free returns how many slots p has left for new hosts, at least 0.
func (l *Ledger) Free(now time.Time, p Pool) int {
	l.tick(now)
	l.refreshStuck()
	return max(0, l.free(p))
}

// Occupied returns how many slots of p are taken.
func (l *Ledger) Occupied(now time.Time, p Pool) int {
	l.tick(now)
	l.refreshStuck()
	return l.slotsOf(p).Occupied
}

// Members calls f for every host that the ledger knows and that is a node of Ironic
// or wants to be one, in no order.
func (l *Ledger) Members(now time.Time, f func(Ref)) {
	l.tick(now)
	for h := range l.all {
		f(Ref{h})
	}
}

// occupy opens a slot for h, that begins with seq.
func (l *Ledger) occupy(h *host, from origin, p pool, seq uint64) {
	l.change(h, func() {
		h.slot = &slot{origin: from, pool: p, since: seq, sinceAt: l.at}
		if from == given {
			l.move(h, granted)
		} else {
			h.busySeq = seq
			l.move(h, found)
		}
	})
	l.updateLive(h)
	if from != given { // a lease cannot be stuck before it was observed busy
		l.stuckAt = never
	}
}

// began notes evidence of work of h, which holds a slot, as of seq.
func (l *Ledger) began(h *host, seq uint64) {
	l.change(h, func() {
		h.busySeq = seq
		l.move(h, began)
	})
}

// end takes the slot from h because of on, which is finished, expired, refused or vanished.
func (l *Ledger) end(h *host, on event) {
	switch on {
	case finished:
		l.totals.Finished++
		h.end = EndFinished
	case expired:
		l.totals.Expired++
		l.note(NoticeExpired, h)
		h.end = EndUnused
		h.countUnused()
	case refused:
		l.totals.Refused++
		h.end = EndRefused
	case vanished:
		l.totals.Vanished++
		l.note(NoticeVanished, h)
		h.end = EndFinished
	}
	if h.writtenOff {
		l.stuckAt = never // the next oldest takes its place
	}
	l.change(h, func() {
		if l.move(h, on); !h.holds() {
			h.slot = noSlot
		}
	})
	l.updateLive(h)
}

// change calls f, which may change what the counters depend on: h's phase, pool or writtenOff.
func (l *Ledger) change(h *host, f func()) {
	l.touch(h)
	l.count(h, -1)
	f()
	l.count(h, +1)
}

// updateLive keeps live and booting true for h, whose slot or observation has changed.
func (l *Ledger) updateLive(h *host) {
	busy := h.busy(l.cfg.CountExtra)
	if h.holds() || busy || h.observed.cleansUp {
		l.live[h] = struct{}{}
	} else {
		delete(l.live, h)
	}
	boots := false
	if busy && !h.holds() {
		p, _ := l.poolFor(h, "", false)
		boots = !p.exempt
	}
	l.countBooting(h, boots)
}
