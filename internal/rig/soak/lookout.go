package soak

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/virtual"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// newest is how many nodes a page of those that changed last shows: few, so that it often does not reach back.
const newest = 6

// lookout makes what polls for the present process.
func (r *replica) lookout() *virtual.Poll {
	return &virtual.Poll{
		World: r.world.ironic, View: r.c, Page: newest, Extra: r.settings.Slots.CountExtra,
		Now: r.world.now, Clock: r.clock, Request: r.request, Observed: r.observed,
	}
}

// poll begins a poll, and the next one when this one is over.
func (r *replica) poll() {
	w := r.world
	if !r.begun {
		return
	}
	r.slow = w.style.faults.has(slowPolls) && !w.quiet && chance(r.rng, .3)
	r.polls.Begin()
}

// request lets a poll go on when a request has been answered, or ends it where it was not. Lists and fetches take their
// time where the poll is slow.
func (r *replica) request(s virtual.Stage, _ int, then func()) {
	if !r.slow && (s == virtual.NextList || s == virtual.Listed || s == virtual.Fetch) {
		then()
		return
	}
	d := between(r.rng, 0, 30*time.Millisecond)
	if r.slow {
		d = between(r.rng, 0, 1500*time.Millisecond)
	}
	r.after(d, func() {
		if r.cutFromIronic() || !r.world.quiet && chance(r.rng, .003) {
			r.polls.Fail()
			r.world.mark('f', uint64(r.n))
			r.again()
			return
		}
		then()
	})
}

func (r *replica) observed(o ironic.Observation) {
	w := r.world
	w.tally.Polls++
	if !w.quiet && chance(r.rng, .02) { // told twice
		r.c.Observe(r.clock(), o)
	}
	w.mark('o', uint64(r.n), uint64(len(o.Nodes)), uint64(len(o.Fetched)))
	w.twoLead()
	r.save()
	r.again()
}

// again is the next poll.
func (r *replica) again() {
	interval := between(r.rng, 4*time.Second, 9*time.Second)
	switch {
	case r.world.ending:
		interval = 20 * time.Second
	case r.world.quiet:
		interval *= 2
	}
	r.after(interval, r.poll)
}
