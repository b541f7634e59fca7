package soak

import (
	"errors"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var errAway = errors.New("ironic is away")

// lookout is one poll, as ironic.Poller makes it: the lists one after the other, then the nodes that the
// view misses, then those that somebody asked about.
type lookout struct {
	r        *replica
	observed ironic.Observation
	index    map[string]int
	order    []ironic.State
	at       int // lists read
	marker   string
	keys     []string
	wanted   bool // keys are of Wanted
	slow     bool
}

// poll begins a poll, and the next one when this one is over.
func (r *replica) poll() {
	w := r.world
	if !r.begun {
		return
	}
	now := r.clock()
	p := &lookout{r: r, index: map[string]int{}}
	p.slow = w.style.faults.has(slowPolls) && !w.quiet && chance(r.rng, .3)
	p.observed.Mark = r.c.Begin(now)
	p.observed.Whole = r.c.Whole(now)
	p.order = ironic.PollOrder(r.settings.Slots.CountExtra, p.observed.Whole)
	p.step(p.lists)
}

// step goes on with f when a request has been answered, or ends the poll where it was not.
func (p *lookout) step(f func()) {
	r := p.r
	d := between(r.rng, 0, 30*time.Millisecond)
	if p.slow {
		d = between(r.rng, 0, 1500*time.Millisecond)
	}
	r.after(d, func() {
		if r.cutFromIronic() || !r.world.quiet && chance(r.rng, .003) {
			r.c.PollFailed(r.clock(), errAway)
			r.world.mark('f', uint64(r.n))
			p.again()
			return
		}
		f()
	})
}

// lists reads the lists: each alone where the poll is slow.
func (p *lookout) lists() {
	w := p.r.world
	for p.at < len(p.order) {
		nodes, more, _ := w.ironic.List(w.now(), fakeironic.Query{State: p.order[p.at], Marker: p.marker})
		for _, n := range nodes {
			if i, known := p.index[n.UUID]; known {
				p.observed.Nodes[i] = n
				continue
			}
			p.index[n.UUID] = len(p.observed.Nodes)
			p.observed.Nodes = append(p.observed.Nodes, n)
		}
		if more {
			p.marker = nodes[len(nodes)-1].UUID
		} else {
			p.marker = ""
			p.at++
		}
		if p.slow {
			p.step(p.lists)
			return
		}
	}
	p.keys = p.r.c.Missing(p.r.clock(), p.observed.Nodes)
	p.fetch()
}

// fetch reads the nodes that are to be read alone.
func (p *lookout) fetch() {
	r := p.r
	for len(p.keys) > 0 {
		key := p.keys[0]
		mark := r.c.Begin(r.clock())
		read := func() {
			p.keys = p.keys[1:]
			n, found := r.world.node(key)
			p.observed.Fetched = append(p.observed.Fetched, ironic.NodeObservation{Key: key, Mark: mark, Found: found, Node: n})
		}
		if p.slow {
			p.step(func() { read(); p.fetch() })
			return
		}
		read()
	}
	if p.wanted {
		p.step(p.observe)
		return
	}
	p.wanted = true
	p.keys = slices.DeleteFunc(r.c.Wanted(r.clock()), func(key string) bool {
		_, listed := p.index[key]
		return listed || slices.ContainsFunc(p.observed.Fetched, func(o ironic.NodeObservation) bool { return o.Key == key })
	})
	p.fetch()
}

func (p *lookout) observe() {
	r, w := p.r, p.r.world
	w.tally.Polls++
	r.c.Observe(r.clock(), p.observed)
	if !w.quiet && chance(r.rng, .02) { // told twice
		r.c.Observe(r.clock(), p.observed)
	}
	w.mark('o', uint64(r.n), uint64(len(p.observed.Nodes)), uint64(len(p.observed.Fetched)))
	w.twoLead()
	r.save()
	p.again()
}

func (p *lookout) again() {
	r := p.r
	interval := between(r.rng, 4*time.Second, 9*time.Second)
	switch {
	case r.world.ending:
		interval = 20 * time.Second
	case r.world.quiet:
		interval *= 2
	}
	r.after(interval, r.poll)
}
