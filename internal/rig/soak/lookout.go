package soak

import (
	"errors"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var errAway = errors.New("ironic is away")

// newest is how many nodes a page of those that changed last shows: few, so that it often does not reach back.
const newest = 6

// lookout is one poll, as ironic.Poller makes it: the nodes that changed last, where they are due the lists one after the
// other, then the nodes that the view wants fetched.
type lookout struct {
	r        *replica
	observed ironic.Observation
	index    map[string]int
	order    []ironic.State
	at       int // lists read
	marker   string
	keys     []string
	begun    time.Time
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
	p.begun = now
	p.observed.Mark = r.c.Begin(now)
	p.step(p.newest)
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
			r.resync.Failed()
			r.c.PollFailed(r.clock(), errAway)
			r.world.mark('f', uint64(r.n))
			p.again()
			return
		}
		f()
	})
}

// newest reads the nodes that changed last.
func (p *lookout) newest() {
	page, more, _ := p.r.world.ironic.List(p.r.world.now(), fakeironic.Query{SortKey: "provision_updated_at", Desc: true, Limit: newest})
	p.show(page)
	listed, whole := p.r.resync.Due(p.begun, page, !more, p.r.c.Whole(p.begun))
	p.observed.Listed, p.observed.Whole = listed || !more, whole || !more
	if !listed {
		p.fetch()
		return
	}
	p.order = ironic.PollOrder(p.r.settings.Slots.CountExtra, whole)
	p.step(p.lists)
}

// show takes nodes: the latest observation of each counts.
func (p *lookout) show(nodes []ironic.Node) {
	for _, n := range nodes {
		if i, known := p.index[n.UUID]; known {
			p.observed.Nodes[i] = n
			continue
		}
		p.index[n.UUID] = len(p.observed.Nodes)
		p.observed.Nodes = append(p.observed.Nodes, n)
	}
}

// lists reads the lists: each alone where the poll is slow.
func (p *lookout) lists() {
	w := p.r.world
	for p.at < len(p.order) {
		nodes, more, _ := w.ironic.List(w.now(), fakeironic.Query{State: p.order[p.at], Marker: p.marker})
		p.show(nodes)
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
	p.fetch()
}

// fetch asks the view which nodes are to be fetched, and reads them.
func (p *lookout) fetch() {
	p.keys = p.r.c.Fetch(p.r.clock(), &p.observed)
	p.fetched()
}

func (p *lookout) fetched() {
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
			p.step(func() { read(); p.fetched() })
			return
		}
		read()
	}
	p.step(p.observe)
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
