package soak

import "time"

// lease is the Lease in the API server.
type lease struct {
	holder string
	until  time.Duration // when it expires
	terms  int           // counts the terms of all holders
}

// The times of an election.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = leaseDuration * 2 / 3
	retryPeriod   = 2 * time.Second
)

// serve reads the Lease for a replica and writes it if the replica may have it. term is the replica's present one; 0:
// it has none. serve returns its term from now on; 0: another replica has the Lease.
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

// elect sends a request about the Lease, and the next one after a while, as client-go's leader election does.
func (r *replica) elect() {
	w, sent, asked, identity := r.world, r.clock(), r.term, r.identity
	if asked > 0 && sent.Sub(r.renewed) > renewDeadline {
		r.die("no renewal was confirmed")
		return
	}
	takes := w.between(time.Millisecond, 40*time.Millisecond)
	if w.chance(.02) {
		takes = w.between(0, renewDeadline/2)
	}
	next := retryPeriod
	if asked == 0 {
		next = w.between(retryPeriod, 2*retryPeriod)
	}
	term, served := 0, false
	w.after(takes/2, func() { // the request arrives even if its sender has died
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
				w.Tally["terms"]++
				r.begin()
			}
		case asked > 0:
			r.die("the Lease is another's")
		}
		r.after(next, r.elect)
	})
}

// release gives the Lease up, as a process does that ends in order.
func (r *replica) release() {
	l := &r.world.lease
	r.fence.End()
	if l.holder == r.identity && !r.cutFromAPI() {
		l.holder = ""
	}
}

const saveInterval = 5 * time.Second

// write writes by put, if the Lease of the process lasts: so no two replicas write. It reports whether the process
// knows that the write was made.
func (r *replica) write(put func()) bool {
	if r.fence != nil && (r.cutFromAPI() || !r.fence.Passes(r.clock())) {
		return false
	}
	w := r.world
	if !w.wrong(badStore, .4) {
		put()
		return true
	}
	if w.chance(.5) { // the write is made, but its answer is lost
		put()
	}
	if w.chance(.5) {
		r.die("killed at a write")
	}
	return false
}

// save writes the holds if they have changed, as internal/store does after each poll and every few seconds.
func (r *replica) save() {
	if r.c.UnsavedHolds() == 0 || r.saving {
		return
	}
	records, revision := r.c.HoldRecords(r.clock())
	told := r.told()
	w := r.world
	r.saving = true
	takes := w.between(time.Millisecond, 100*time.Millisecond)
	if w.wrong(badStore, .3) {
		takes = w.between(0, 8*time.Second)
	}
	r.after(takes, func() {
		done := r.write(func() { w.records = records })
		r.after(w.between(0, 50*time.Millisecond), func() {
			if r.saving = false; done {
				r.c.SavedHolds(revision)
				w.Tally["saves"]++
				for _, hold := range told {
					hold.saved = true
				}
			}
		})
	})
}

func (r *replica) saveTick() {
	r.save()
	r.after(saveInterval, r.saveTick)
}
