package soak

import (
	"math/rand/v2"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// lease is the Lease in the API server. Requests about it are atomic there, as versions of objects make them.
type lease struct {
	holder      string
	transitions int
	version     int // grows with each write
}

// term is how a replica stands with the Lease, as client-go's election keeps it.
type term struct {
	seen    int       // version of the Lease when it was read last
	seenAt  time.Time // when it was read for the first time in that version, by the replica's clock
	number  int       // transitions that the term began with; 0: it does not lead
	renewed time.Time // when the latest renewal was confirmed
}

// The times of an election.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = leaseDuration * 2 / 3
	retryPeriod   = 2 * time.Second
)

// elect makes one request about the Lease, and the next one after a while.
func (r *replica) elect() {
	w, sent := r.world, r.clock()
	if r.term.number > 0 && sent.Sub(r.term.renewed) > renewDeadline {
		r.die("no renewal was confirmed")
		return
	}
	takes := between(w.wire, time.Millisecond, 40*time.Millisecond)
	if chance(w.wire, .02) {
		takes = between(w.wire, 0, renewDeadline/2)
	}
	next := retryPeriod
	if r.term.number == 0 {
		next = between(r.rng, retryPeriod, 2*retryPeriod)
	}
	asked, identity, version, number := r.term, r.identity, 0, 0
	w.after(takes/2, func() { // the request is on its way, whatever becomes of who sent it
		if !r.cutFromAPI() {
			version, number = w.lease.serve(identity, asked, sent)
		}
	})
	r.after(takes, func() {
		if version > 0 && !r.cutFromAPI() {
			r.hears(version, number, sent)
		}
		r.after(next, r.elect)
	})
}

// serve is one read of the Lease, and the write that may follow, by a replica that stood with it as t says. It
// returns the version of the Lease, and the number of the replica's term; 0: it is another's, and not over.
func (l *lease) serve(identity string, t term, now time.Time) (version, number int) {
	old := t.seen == l.version && now.Sub(t.seenAt) > leaseDuration
	switch {
	case t.number > 0 && (l.holder != identity || l.transitions != t.number),
		t.number == 0 && l.holder != "" && l.holder != identity && !old:
		return l.version, 0
	case t.number == 0:
		l.transitions++
		l.holder = identity
	}
	l.version++
	return l.version, l.transitions
}

// hears takes the answer to a request that was sent at sent.
func (r *replica) hears(version, number int, sent time.Time) {
	t := &r.term
	switch {
	case number == 0 && t.number > 0:
		r.die("the Lease is another's")
	case number == 0:
		if t.seen != version {
			t.seen, t.seenAt = version, sent
		}
	default:
		first := t.number == 0
		t.number, t.renewed = number, r.clock()
		r.fence.Renewed(sent)
		if first {
			r.world.tellf("replica %d has the Lease, transition %d", r.n, number)
			r.world.tally["terms"]++
			r.begin()
		}
	}
}

// release gives the Lease up, in order.
func (r *replica) release() {
	l := &r.world.lease
	r.fence.End()
	if l.holder == r.identity && !r.cutFromAPI() {
		l.holder = ""
		l.version++
	}
}

// store is where holds outlive a process: a ConfigMap, or where there is one replica a file. Its value is replaced as a whole.
type store struct {
	records []holdoff.Record
	limits  []byte
	writer  string
	rng     *rand.Rand
}

const saveInterval = 5 * time.Second

// write makes one write, of put. It reports whether the writer knows that it was made.
func (r *replica) write(put func()) bool {
	if r.fence != nil && (r.cutFromAPI() || !r.fence.Passes(r.clock())) {
		return false
	}
	w, rng := r.world, r.world.store.rng
	if !w.wrong(badStore, rng, .15) {
		put()
		return true
	}
	if chance(rng, .5) { // it is made, and the writer does not hear of that
		put()
	}
	if chance(rng, .5) {
		r.die("killed at a write")
	}
	return false
}

// claim takes the ConfigMap over, and then goes on.
func (r *replica) claim(then func()) {
	if r.fence == nil {
		then()
		return
	}
	next := func() { r.claim(then) }
	if r.write(func() { r.world.store.writer = r.identity }) {
		next = then
	}
	r.after(between(r.rng, 5*time.Millisecond, 300*time.Millisecond), next)
}

// load reads all that is kept.
func (s *store) load(r *replica) (records []holdoff.Record, learned sizing.State) {
	for _, kept := range s.records {
		line, err := kept.Line()
		if err == nil {
			kept, err = holdoff.ParseRecord(line)
		}
		if err != nil {
			r.world.failf("the record of %s: %v", kept.UUID, err)
		}
		records = append(records, kept)
	}
	if s.limits != nil {
		var err error
		if learned, err = sizing.ParseState(s.limits); err != nil {
			r.world.failf("what is known of limits: %v", err)
		}
	}
	return records, learned
}

// save saves what has changed, as internal/store does after each poll and every few seconds.
func (r *replica) save() {
	if r.c.UnsavedHolds() > 0 {
		r.saveAll()
	}
}

// saveAll replaces the value.
func (r *replica) saveAll() {
	if r.saving || !r.begun {
		return
	}
	records, revision := r.c.HoldRecords(r.clock())
	limits, err := r.c.LearnedLimits().Text()
	w, s := r.world, &r.world.store
	if err != nil {
		w.failf("%v", err)
	}
	r.saving = true
	takes := between(s.rng, time.Millisecond, 100*time.Millisecond)
	if w.wrong(badStore, s.rng, .1) {
		takes = between(s.rng, 0, 8*time.Second)
	}
	r.after(takes, func() {
		if r.fence != nil && s.writer != r.identity {
			r.die("another process keeps the holds")
			return
		}
		done := r.write(func() { s.records, s.limits = records, limits })
		r.after(between(s.rng, 0, 50*time.Millisecond), func() {
			if r.saving = false; done {
				r.c.SavedHolds(revision)
				w.tally["saves"]++
				w.kept(records)
			}
		})
	})
}

// saveTick saves every few seconds, also what is known of limits.
func (r *replica) saveTick() {
	if r.save(); chance(r.rng, .05) {
		r.saveAll()
	}
	r.after(saveInterval, r.saveTick)
}
