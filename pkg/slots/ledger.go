package slots

import (
	"maps"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Ledger is the table of all hosts and their slots. Make one with New; it is not safe for concurrent use.
type Ledger struct {
	cfg    Config
	events Events
	start  time.Time
	now    time.Time // the latest that was passed in
	seq    uint64    // numbers events
	born   uint64    // what was sent before is of an earlier term, and shows nothing

	byUUID, byName map[string]*Host
	live           map[*Host]struct{}           // hold a slot, or their node is at work
	idle           map[ironic.Node]*ironic.Node // nodes that many hosts share
	counts         map[Pool]api.Slots           // of live; nil: they are counted at the next question
	strangers      map[*Host]struct{}           // hosts that ask, and that neither Ironic nor the cluster has shown
	wanted         []*Host                      // to be fetched, oldest first

	// What the complete polls have shown as a whole.
	polls   uint64
	takenAt time.Time     // when the last one was sent
	took    time.Duration // what they take of late
	whole   ironic.Mark   // the last one that showed failed nodes too
	settled bool          // it is known who was let start by the process before
	broke   uint64        // when the last poll failed

	totals api.Totals
	booted []Boot // have ended since somebody asked
}

// New returns a ledger that starts now: no host starts before a complete poll that is sent Config.Settle later.
func New(cfg Config, now time.Time, events Events) (*Ledger, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Groups = maps.Clone(cfg.Groups)
	return &Ledger{
		cfg: cfg, events: events, start: now, now: now,
		byUUID: map[string]*Host{}, byName: map[string]*Host{},
		live: map[*Host]struct{}{}, idle: map[ironic.Node]*ironic.Node{}, strangers: map[*Host]struct{}{},
	}, nil
}

// Follow makes l the ledger of the term after old's: what was sent in that one shows it nothing.
func (l *Ledger) Follow(old *Ledger) { l.seq, l.born = old.seq, old.seq }

// Tick moves the clock on, never back.
func (l *Ledger) Tick(now time.Time) {
	if now.After(l.now) {
		l.now = now
	}
}

// Begin returns a mark later than everything that has happened.
func (l *Ledger) Begin(now time.Time) ironic.Mark {
	l.Tick(now)
	l.seq++
	return ironic.Mark{Seq: l.seq, At: l.now}
}

// Configure changes the settings. Nobody loses a slot by a lower limit; shorter times count at the next observation.
func (l *Ledger) Configure(now time.Time, cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	l.Tick(now)
	cfg.Groups = maps.Clone(cfg.Groups)
	l.cfg, l.counts = cfg, nil
	l.All(l.place)
	for h := range l.live {
		if h.Slot == nil && h.everYes && !h.Exempt { // it was let pass, and is at work
			l.atWork(h, Foreign)
		}
	}
	l.findStuck()
	return nil
}

// atWork gives a slot to h, which was found at work.
func (l *Ledger) atWork(h *Host, from Origin) {
	h.Slot = &Slot{Origin: from, Since: l.now, Phase: Working, seq: h.Seen.Seq, busySeq: h.Seen.Seq}
	l.update(h)
	l.events.SlotBegan(l.now, h)
}

// end takes h's slot away.
func (l *Ledger) end(h *Host, how How) {
	switch how {
	case Finished:
		l.totals.Finished++
	case Unused:
		l.totals.Expired++
		l.notice(NoticeExpired, h)
	case Refused:
		l.totals.Refused++
	case Vanished:
		l.totals.Vanished++
		l.notice(NoticeVanished, h)
	}
	s := h.Slot
	h.Slot = nil
	l.update(h)
	l.events.SlotEnded(l.now, h, s, how)
}

// update is called when the slot or the observation of h has changed.
func (l *Ledger) update(h *Host) {
	l.counts = nil
	if !h.gone && (h.Slot != nil || h.Works || !h.cleansUp.IsZero()) {
		l.live[h] = struct{}{}
	} else {
		delete(l.live, h)
	}
}

// Holders calls f for everybody who holds a slot that counts, in no order.
func (l *Ledger) Holders(f func(*Host)) {
	for h := range l.live {
		if h.counts() {
			f(h)
		}
	}
}

// counts reports whether h holds a slot that counts.
func (h *Host) counts() bool { return h.Slot != nil && !h.Slot.Stuck && !h.Exempt }

// Totals returns the counts since the start.
func (l *Ledger) Totals() api.Totals { return l.totals }
