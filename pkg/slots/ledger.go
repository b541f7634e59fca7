package slots

import (
	"maps"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Ledger knows who holds a slot. Make one with New; it is not safe for
// concurrent use.
type Ledger struct {
	cfg   Config
	start time.Time

	now time.Time // the latest now that was passed in
	at  moment    // the same
	seq uint64
	// born is seq at the start: marks up to it are of a term before (LH-24).
	born uint64

	byUUID map[string]*host
	byName map[string]*host   // the host that bore the name last
	live   map[*host]struct{} // holds a slot, or its node is busy
	wants  []*host            // fetch list of LH-16, oldest first
	// wantsFrom is where it begins; what is before was taken off.
	wantsFrom int
	unknown   unknownHosts

	// The counters mirror the hosts; account alone writes them.
	total, virtual tally
	groups         map[string]*tally
	booting        int
	stuckAt        moment // when the next host may become stuck; never = recount now

	lookAt  time.Time     // when the last complete look began
	took    time.Duration // what the looks take of late
	looks   uint64
	whole   mark // the last look that showed more than the busy; seq 0: none yet
	settled bool // LH-24
	hinted  bool // something other than the lists says that these are no longer true

	totals  api.Totals
	misfits uint64 // moves that are no transition
	notices []Notice
	endings []Ending
	touched []*host // whose slots may have changed since the last Changes
}

// New returns a ledger that starts now: it says no yes to a host without a slot
// before a complete look begun Config.Settle later (LH-24).
func New(cfg Config, now time.Time) (*Ledger, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Groups = maps.Clone(cfg.Groups)
	return &Ledger{
		cfg: cfg, start: now, now: now, at: started,
		byUUID: map[string]*host{}, byName: map[string]*host{}, live: map[*host]struct{}{},
		groups: map[string]*tally{}, unknown: unknownHosts{since: map[*host]uint64{}},
	}, nil
}

// Follow makes l the ledger of the term after old's: what was begun in that one shows it
// nothing. l must be new.
func (l *Ledger) Follow(old *Ledger) { l.seq, l.born = old.seq, old.seq }

// SetLimits changes the limits. Nobody loses a slot; while more are occupied
// than the new limit allows there is no further yes (LH-19).
func (l *Ledger) SetLimits(now time.Time, limits Limits) error {
	if err := limits.Validate(); err != nil {
		return err
	}
	l.tick(now)
	for h := range l.live {
		l.account(h, -1)
	}
	limits.Groups = maps.Clone(limits.Groups)
	l.cfg.Limits = limits
	for h := range l.live {
		at := h.home.Value()
		p, _ := l.poolFor(h, at.group, at.virtual)
		switch {
		case h.holds():
			h.pool = p
			l.account(h, +1)
			l.enlist(h)
		case p.class != exempt && h.everYes: // was let pass, and is at work
			l.totals.Foreign++
			l.occupy(h, foreign, p, h.seen.mark.seq)
		default:
			l.enlist(h)
		}
	}
	l.stuckAt = never
	return nil
}

// Begin returns a mark later than everything that has happened (LH-15).
func (l *Ledger) Begin(now time.Time) ironic.Mark {
	l.tick(now)
	return ironic.Mark{Seq: l.stamp(), At: l.now}
}

// tick moves the ledger's clock on; it never goes back.
func (l *Ledger) tick(now time.Time) {
	if now.After(l.now) {
		l.now, l.at = now, l.moment(now)
	}
}

// stamp numbers an event.
func (l *Ledger) stamp() uint64 {
	l.seq++
	return l.seq
}

// occupy opens a slot for h, that begins with seq.
func (l *Ledger) occupy(h *host, from origin, p pool, seq uint64) {
	l.account(h, -1)
	h.slot = &slot{origin: from, pool: p, since: seq, sinceAt: l.at}
	if from == given {
		l.move(h, granted)
	} else {
		h.busySeq = seq
		l.move(h, found)
	}
	l.account(h, +1)
	l.enlist(h)
	if from != given { // a lease cannot be stuck before it was seen busy
		l.stuckAt = never
	}
}

// vacate ends h's slot.
func (l *Ledger) vacate(h *host, on event, end End) {
	l.account(h, -1)
	l.move(h, on)
	h.end = end
	if h.off {
		l.stuckAt = never // the next oldest takes its place
	}
	h.slot = noSlot
	l.enlist(h)
}

// enlist keeps live and booting true for h, whose slot or sight has changed.
func (l *Ledger) enlist(h *host) {
	busy := h.busy(l.cfg.CountExtra)
	if h.holds() || busy {
		l.live[h] = struct{}{}
	} else {
		delete(l.live, h)
	}
	boots := false
	if busy && !h.holds() {
		p, _ := l.poolFor(h, "", false)
		boots = p.class != exempt
	}
	switch {
	case boots && !h.boots:
		l.booting++
	case h.boots && !boots:
		l.booting--
	}
	h.boots = boots
}
