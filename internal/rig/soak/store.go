package soak

import (
	"math/rand/v2"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// lease is the Lease in the API server.
type lease struct {
	holder string
	until  time.Duration // it is the holder's so long
	terms  int
}

// The times of an election.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = leaseDuration * 2 / 3
	retryPeriod   = 2 * time.Second
)

// serve is one read of the Lease by a replica in that term, 0: in none, and the write that may follow. It returns the
// number of the replica's term; 0: the Lease is another's.
func (l *lease) serve(identity string, term int, at time.Duration) int {
	switch {
	case term > 0 && (l.holder != identity || l.terms != term), term == 0 && l.holder != "" && at < l.until:
		return 0
	case term == 0:
		l.terms++
		l.holder = identity
	}
	l.until = at + leaseDuration
	return l.terms
}

// elect makes one request about the Lease, and the next one after a while, as client-go's election does.
func (r *replica) elect() {
	w, sent, asked, identity := r.world, r.clock(), r.term, r.identity
	if asked > 0 && sent.Sub(r.renewed) > renewDeadline {
		r.die("no renewal was confirmed")
		return
	}
	takes := between(w.wire, time.Millisecond, 40*time.Millisecond)
	if chance(w.wire, .02) {
		takes = between(w.wire, 0, renewDeadline/2)
	}
	next := retryPeriod
	if asked == 0 {
		next = between(r.rng, retryPeriod, 2*retryPeriod)
	}
	term, served := 0, false
	w.after(takes/2, func() { // the request is on its way, whatever becomes of who sent it
		if served = !r.cutFromAPI(); served {
			term = w.lease.serve(identity, asked, w.at)
		}
	})
	r.after(takes, func() {
		switch {
		case !served || r.cutFromAPI():
		case term > 0:
			r.term, r.renewed = term, r.clock()
			if r.fence.Renewed(sent); asked == 0 {
				w.tellf("replica %d has the Lease, term %d", r.n, term)
				w.tally["terms"]++
				r.begin()
			}
		case asked > 0:
			r.die("the Lease is another's")
		}
		r.after(next, r.elect)
	})
}

// release gives the Lease up, in order.
func (r *replica) release() {
	l := &r.world.lease
	r.fence.End()
	if l.holder == r.identity && !r.cutFromAPI() {
		l.holder = ""
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
	told := r.told()
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
				for _, hold := range told {
					hold.saved = true
				}
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
