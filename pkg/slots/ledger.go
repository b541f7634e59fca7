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
	now    time.Time // the latest time that a caller has passed
	seq    uint64    // Seq of the last poll, fetch, yes or end of a PUT
	born   uint64    // Seq at which this term began: it ignores earlier observations

	byUUID, byName map[string]*Host
	live           map[*Host]struct{}           // hosts that hold a slot, or whose node is at work
	idle           map[ironic.Node]*ironic.Node // idle nodes that many hosts share
	counts         map[Pool]api.Slots           // of live; nil: Slots has to count
	strangers      map[*Host]struct{}           // hosts that ask, and that neither Ironic nor the cluster has shown
	wanted         []*Host                      // hosts whose nodes to fetch, oldest first

	// The complete polls.
	polls   uint64
	takenAt time.Time     // when the last one was sent
	took    time.Duration // how long they take: the longest, fading by half with each poll
	whole   ironic.Mark   // the last one that showed failed nodes too
	settled bool          // all nodes are known that the process before let start
	broke   uint64        // Seq at which the last poll failed

	totals api.Totals
	booted []Boot // boots that have ended since the last call of Boots
}

// New returns a ledger that starts now: no host may start before a complete poll that is sent Config.Settle later.
// It returns the faults of cfg as an error.
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

// Follow makes l, still empty, the successor of old: l ignores observations whose requests were sent before.
func (l *Ledger) Follow(old *Ledger) { l.seq, l.born = old.seq, old.seq }

// Tick moves the ledger's time forward, never back.
func (l *Ledger) Tick(now time.Time) {
	if now.After(l.now) {
		l.now = now
	}
}

// Begin returns a mark that is later than everything that has happened.
func (l *Ledger) Begin(now time.Time) ironic.Mark {
	l.Tick(now)
	l.seq++
	return ironic.Mark{Seq: l.seq, At: l.now}
}

// Configure changes the settings, or returns the faults of cfg. A lower limit takes no slot away; shorter times and
// another StuckCap apply from the next observation on.
func (l *Ledger) Configure(now time.Time, cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	l.Tick(now)
	cfg.Groups = maps.Clone(cfg.Groups)
	l.cfg, l.counts = cfg, nil
	l.All(l.place)
	for h := range l.live {
		if h.Slot == nil && h.everYes && !h.Exempt { // it started without a slot, and now needs one
			l.atWork(h, Foreign)
		}
	}
	return nil
}

// atWork gives a slot to h, whose node was found at work.
func (l *Ledger) atWork(h *Host, origin Origin) {
	h.Slot = &Slot{Origin: origin, Since: l.now, Phase: Working, seq: h.Seen.Seq, busySeq: h.Seen.Seq}
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

// update brings live and counts up to date after the slot or the observation of h has changed.
func (l *Ledger) update(h *Host) {
	l.counts = nil
	if h.Slot != nil || h.Works || !h.cleansUp.IsZero() {
		l.live[h] = struct{}{}
	} else {
		delete(l.live, h)
	}
}

// Holders calls f for every host that holds a slot that counts, in no order.
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
