package holdoff

import (
	"slices"
	"time"
)

// maxHosts bounds the Book; beyond it the oldest episodes go, those that hold nobody
// any more first.
const maxHosts = 100_000

// Book is the ledger of failed hosts, by node UUID. It is not safe for concurrent use:
// its owner has one lock. It never looks at a clock and never writes a file. A nil Book
// holds nobody and takes nothing in.
type Book struct {
	cfg    Config
	on     bool      // cfg.On()
	start  time.Time // of the process
	latest time.Time // the greatest now seen
	known  bool      // there was a ledger: what it does not hold did not happen
	most   int       // hosts

	hosts map[string]*entry
	// sound are hosts that are known to have gone well, or to have come without a
	// failure, though no ledger was found; nil when one was.
	sound map[string]bool

	// What is not saved: the revision of the last change of each host, and the now
	// whose wall clock the records are written by.
	unsaved  map[string]uint64
	revision uint64
	wall     time.Time
	// stored are the hosts of which a Store may have a record.
	stored map[string]bool

	counts counts
}

// New returns the Book of a process that started at now. known tells that a ledger was
// found, even an empty one, so that what it does not hold did not happen (BO-16).
func New(cfg Config, now time.Time, known bool) (*Book, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	b := &Book{
		cfg: cfg.clone(), on: cfg.On(), start: now, latest: now, known: known, most: maxHosts,
		hosts: map[string]*entry{}, unsaved: map[string]uint64{}, wall: now, stored: map[string]bool{},
		counts: counts{held: map[string]string{}, ended: map[End]uint64{}},
	}
	if !known {
		b.sound = map[string]bool{}
	}
	return b, nil
}

// Configure replaces the settings, for episodes that have begun too: their t0 stays. A
// cfg that is not valid changes nothing.
func (b *Book) Configure(now time.Time, cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	b.clock(now)
	b.cfg, b.on = cfg.clone(), cfg.On()
	return nil
}

// Idle reports whether nobody has failed and nobody would be held: then the Book need not be asked.
func (b *Book) Idle() bool { return b == nil || !b.on && len(b.hosts) == 0 }

// Tick takes the time, so that a clock that steps back between two asks is noticed (BO-18),
// and counts the holds whose time is over.
func (b *Book) Tick(now time.Time) {
	if b == nil {
		return
	}
	now = b.clock(now)
	for uuid := range b.counts.held {
		b.noteEnd(now, uuid, EndTime)
	}
}

// clock returns now, or the greatest now seen so far (BO-18).
func (b *Book) clock(now time.Time) time.Time {
	b.latest = b.latestOf(now)
	return b.latest
}

// latestOf is clock without remembering now. If both times are equal it returns now, as the
// wall clock may have been set between them.
func (b *Book) latestOf(now time.Time) time.Time {
	if now.Before(b.latest) {
		return b.latest
	}
	return now
}

// put stores e as the entry of its host, and marks it as unsaved.
func (b *Book) put(now time.Time, e entry) {
	if b.hosts[e.uuid] == nil && len(b.hosts) >= b.most {
		b.shed(now)
	}
	b.hosts[e.uuid] = &e
	b.changed(e.uuid)
}

// drop forgets the host, in the file too.
func (b *Book) drop(uuid string) {
	if b.hosts[uuid] == nil {
		return
	}
	delete(b.hosts, uuid)
	if b.stored[uuid] {
		b.changed(uuid)
	} else {
		delete(b.unsaved, uuid)
	}
}

func (b *Book) changed(uuid string) {
	b.revision++
	b.unsaved[uuid] = b.revision
}

// noteSound remembers that the host of that node has not failed. It is needed only if no
// ledger was found at the start (BO-16).
func (b *Book) noteSound(uuid string) {
	if b.sound != nil && len(b.sound) < b.most {
		b.sound[uuid] = true
	}
}

// knownSound reports whether we know that a host without an entry has not failed: a ledger was
// found at the start, or noteSound was told (BO-16).
func (b *Book) knownSound(uuid string) bool { return b.known || b.sound[uuid] }

// shed drops a hundredth of the hosts. It sorts all of them, so it drops many at a time.
func (b *Book) shed(now time.Time) {
	type candidate struct {
		uuid  string
		held  bool
		since time.Time
	}
	all := make([]candidate, 0, len(b.hosts))
	for uuid, e := range b.hosts {
		c := candidate{uuid: uuid, held: b.left(now, e) > 0}
		if p := e.present(); p != nil {
			c.since = p.since
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(x, y candidate) int {
		if x.held != y.held {
			if y.held {
				return -1
			}
			return 1
		}
		if c := x.since.Compare(y.since); c != 0 {
			return c
		}
		if x.uuid < y.uuid {
			return -1
		}
		return 1
	})
	for _, c := range all[:1+b.most/100] {
		b.drop(c.uuid)
	}
}

// left is how long the host is still held; 0 = not, and at t0 + T it is not (BO-2).
func (b *Book) left(now time.Time, e *entry) time.Duration {
	p := e.present()
	if p == nil || p.released {
		return 0
	}
	return max(b.cfg.hold(e.name, p.failures)-now.Sub(p.since), 0)
}

// Failures returns how often the host has failed in a row, as far as we know: 0 when
// it went well, is unknown, or when nothing would hold it (BO-1).
func (b *Book) Failures(uuid string) int {
	if b == nil || len(b.hosts) == 0 {
		return 0
	}
	e := b.hosts[uuid]
	if e == nil {
		return 0
	}
	return b.failures(e)
}

func (b *Book) failures(e *entry) int {
	if b.cfg.timeout(e.name) == 0 {
		return 0
	}
	return e.failures()
}

// Held reports whether the host of that node is held, whatever it asks for.
func (b *Book) Held(now time.Time, uuid string) bool {
	if b == nil {
		return false
	}
	e := b.hosts[uuid]
	return e != nil && b.left(b.latestOf(now), e) > 0
}

// Config returns the settings in force.
func (b *Book) Config() Config {
	if b == nil {
		return DefaultConfig()
	}
	return b.cfg.clone()
}
