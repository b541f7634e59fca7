package soak

import "time"

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
	leads   bool
	number  int       // transitions that the term began with
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
	w := r.world
	sent := r.clock()
	if r.term.leads && sent.Sub(r.term.renewed) > renewDeadline {
		r.die("no renewal was confirmed")
		return
	}
	takes := between(w.wire, time.Millisecond, 40*time.Millisecond)
	if chance(w.wire, .02) {
		takes = between(w.wire, 0, renewDeadline/2)
	}
	next := between(r.rng, retryPeriod, 2*retryPeriod)
	if r.term.leads {
		next = retryPeriod
	}
	asked, identity, patient := r.term, r.identity, sent
	var reply reply
	w.after(takes/2, func() { // the request is on its way, whatever becomes of who sent it
		if !r.cutFromAPI() {
			reply = w.lease.serve(identity, asked, patient)
		}
	})
	r.after(takes, func() {
		if !r.cutFromAPI() {
			r.answered(reply, sent)
		}
		r.after(next, r.elect)
	})
}

// reply is what the API server says.
type reply struct {
	kind    replyKind
	version int // of the Lease, as it was read
	number  int // transitions
}

type replyKind uint8

const (
	noReply replyKind = iota
	others            // it is another's, and not over
	taken
	renewed
	interrupted
)

// serve is one read of the Lease, and the write that may follow, by a replica that stood with it as t says.
func (l *lease) serve(identity string, t term, now time.Time) reply {
	switch {
	case t.leads && (l.holder != identity || l.transitions != t.number):
		return reply{kind: interrupted}
	case t.leads:
		l.version++
		return reply{kind: renewed}
	}
	if t.seen != l.version || t.seenAt.IsZero() {
		t.seenAt = now
	}
	if l.holder != "" && l.holder != identity && now.Sub(t.seenAt) <= leaseDuration {
		return reply{kind: others, version: l.version}
	}
	l.transitions++
	l.holder = identity
	l.version++
	return reply{kind: taken, number: l.transitions}
}

// answered takes the answer to a request that was sent at sent.
func (r *replica) answered(got reply, sent time.Time) {
	t := &r.term
	switch got.kind {
	case others:
		if t.seen != got.version || t.seenAt.IsZero() {
			t.seen, t.seenAt = got.version, sent
		}
	case taken:
		t.leads, t.number, t.renewed = true, got.number, r.clock()
		r.fence.Renewed(sent)
		r.world.mark('L', uint64(r.n), uint64(got.number))
		r.world.tellf("replica %d has the Lease, transition %d", r.n, got.number)
		r.world.tally.Terms++
		r.begin()
	case renewed:
		t.renewed = r.clock()
		r.fence.Renewed(sent)
	case interrupted:
		r.die("the Lease is another's")
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
