package fakeironic

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/agenda"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// World is an Ironic with its nodes. Each method with a now first plays what was due until then. A now before an
// earlier one counts as that earlier one. A World is not safe for concurrent use; Server adds a lock.
type World struct {
	opt    Options
	now    int64 // Unix nanoseconds, as all times of this struct
	agenda agenda.Agenda
	boots  bootPool
	lastID int64
	draw   draw.Stream // of the requests

	nodes   []*node // by id
	busy    []*node // those in a busy state, by id, so that lists of them are cheap
	byUUID  map[string]*node
	byName  map[string]*node
	down    []conductorDown // by conductor
	defects []Defect

	truth ledger
}

// NewWorld returns a world with the nodes of Options.Fleet.
func NewWorld(o Options, now time.Time) (*World, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("fake ironic: %w", err)
	}
	w := &World{
		opt: o, now: now.UnixNano(), draw: draw.NewStream(o.Seed, 0),
		byUUID: map[string]*node{}, byName: map[string]*node{}, down: make([]conductorDown, o.Conductors),
	}
	w.boots.last = w.now
	w.truth = ledger{Truth: Truth{Limit: o.Limit}, last: w.now}
	w.nodes = make([]*node, 0, o.Fleet.Nodes)
	for i := range o.Fleet.Nodes {
		w.addFleetNode(i)
	}
	return w, nil
}

// Advance plays all that is due until now.
func (w *World) Advance(now time.Time) {
	until := max(now.UnixNano(), w.now)
	for {
		at, boot, ok := w.next()
		if !ok || at > until {
			break
		}
		w.tick(at)
		if boot {
			w.endBoot()
			continue
		}
		w.agenda.Take()()
	}
	w.tick(until)
}

// next returns when the next event comes, and whether it is the end of a boot.
func (w *World) next() (at int64, boot, ok bool) {
	first, has := w.agenda.Next()
	end, booting := w.boots.next(w.opt.Overload)
	if booting && (!has || end < int64(first)) {
		return max(end, w.now), true, true
	}
	return max(int64(first), w.now), false, has
}

func (w *World) tick(at int64) {
	w.now = max(w.now, at)
	w.truth.advance(w.now)
}

// after lets do happen to n after d, which Speed divides, unless count changes before that.
func (w *World) after(d time.Duration, n *node, count *uint32, do func(*node)) {
	w.at(w.now+w.scaled(d), n, count, *count, do)
}

func (w *World) at(at int64, n *node, count *uint32, was uint32, do func(*node)) {
	w.agenda.Add(time.Duration(at), func() { w.happen(n, count, was, do) })
}

// happen lets do happen to n now, unless count has changed. While the conductor of n is away, it waits for the
// conductor.
func (w *World) happen(n *node, count *uint32, was uint32, do func(*node)) {
	switch until := w.down[n.conductor].until; {
	case n.gone:
	case until != 0:
		w.at(until, n, count, was, do)
	case *count == was:
		do(n)
	}
}

func (w *World) scaled(d time.Duration) int64 { return int64(float64(d) / w.opt.Speed) }

// find returns the node with that UUID or name; nil: none.
func (w *World) find(ident string) *node {
	if n := w.byUUID[ident]; n != nil {
		return n
	}
	return w.byName[ident]
}

// setState changes the state of a node. Nothing else does.
func (w *World) setState(n *node, s ironic.State) {
	old := n.state
	n.state = s
	n.provUpdated = w.written(w.stamp(n))
	n.updated = n.provUpdated
	_, n.locked = stuck[s]
	n.gen++
	w.boots.leave(n, w.now, w.opt.Overload)
	w.move(n, old.Busy(), s.Busy())
}

// move counts a node that begins or ends to work.
func (w *World) move(n *node, was, is bool) {
	if was == is {
		return
	}
	i, _ := slices.BinarySearchFunc(w.busy, n.id, func(n *node, id int64) int { return cmp.Compare(n.id, id) })
	if is {
		w.busy = slices.Insert(w.busy, i, n)
	} else {
		w.busy = slices.Delete(w.busy, i, i+1)
	}
	w.truth.move(n, w.now, is)
}

// stamp returns the time by the clock of the node's conductor.
func (w *World) stamp(n *node) int64 { return w.now + int64(w.opt.ConductorSkew)*int64(n.conductor) }

// written returns a stamp as the database keeps it.
func (w *World) written(stamp int64) int64 {
	if w.opt.WholeSeconds {
		stamp -= stamp % int64(time.Second)
	}
	return stamp
}

// Idents returns the UUIDs of all nodes, the oldest first.
func (w *World) Idents() []string {
	out := make([]string, len(w.nodes))
	for i, n := range w.nodes {
		out[i] = n.uuid
	}
	return out
}

// SetNewest changes the newest API version to 1.minor.
func (w *World) SetNewest(minor int) { w.opt.API.MaxMinor = minor }
