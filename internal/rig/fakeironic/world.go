package fakeironic

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// World is Ironic with its hosts. Every method that takes now first plays what
// was due until then; a now before an earlier one counts as that earlier one.
//
// A World is not safe for concurrent use; Server adds the lock.
type World struct {
	opt    Options
	now    int64
	seq    uint64 // of events, so that equal times keep their order
	lastID int64
	draw   draw.Stream // for what belongs to no host
	events heapOf[event]
	boots  bootPool

	nodes   []*node // by id
	byUUID  map[string]*node
	byName  map[string]*node
	byInst  map[string]*node         // by instance UUID, which is unique
	byState map[ironic.State][]*node // as lists show it, by id
	ranked  ranked                   // as lists show it
	counts  map[ironic.State]int     // as it is
	down    []conductorDown          // by conductor
	bases   map[string]*attrs
	defects []Defect

	truth ledger
	calls Requests
}

type eventKind uint8

const (
	eventStep eventKind = iota
	eventTimeout
	eventHeartbeat
	eventShow
	eventVanish
	eventConductorUp
)

type event struct {
	at   int64
	seq  uint64
	n    *node
	gen  uint32 // of the step, of the heartbeat, or the conductor's number
	kind eventKind
}

// NewWorld makes a world with its fleet, at the time now.
func NewWorld(o Options, now time.Time) (*World, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("fake ironic: %w", err)
	}
	w := &World{
		opt: o, now: now.UnixNano(), draw: draw.NewStream(o.Seed, 0),
		byUUID: map[string]*node{}, byName: map[string]*node{}, byInst: map[string]*node{},
		byState: map[ironic.State][]*node{}, counts: map[ironic.State]int{},
		down: make([]conductorDown, o.Conductors), bases: map[string]*attrs{},
	}
	w.events.less = func(a, b event) bool {
		return a.at < b.at || a.at == b.at && a.seq < b.seq
	}
	w.boots.init(o.Overload, w.now)
	w.truth = ledger{limit: o.Limit, begin: w.now, last: w.now}
	w.nodes = make([]*node, 0, o.Fleet.Nodes)
	for i := range o.Fleet.Nodes {
		w.addFleetNode(i)
	}
	return w, nil
}

// Advance plays everything that is due until now.
func (w *World) Advance(now time.Time) {
	until := max(now.UnixNano(), w.now)
	for {
		at, boot, ok := w.next()
		if !ok || at > until {
			break
		}
		w.tick(at)
		if boot {
			n := w.boots.finish(w.now)
			w.play(event{at: w.now, n: n, gen: n.gen, kind: eventStep})
			continue
		}
		w.play(w.events.pop())
	}
	w.tick(until)
}

// Next returns when the next thing happens by itself, for whoever steps through
// virtual time. Some of these turn out to change nothing.
func (w *World) Next() (time.Time, bool) {
	at, _, ok := w.next()
	return time.Unix(0, at), ok
}

func (w *World) next() (at int64, boot, ok bool) {
	first, has := w.events.peek()
	bootAt, booting := w.boots.next(w.now)
	switch {
	case booting && (!has || bootAt < first.at):
		return bootAt, true, true
	case has:
		return max(first.at, w.now), false, true
	}
	return 0, false, false
}

func (w *World) tick(at int64) {
	w.now = max(w.now, at)
	w.truth.advance(w.now)
}

// after schedules an event; d is before Speed.
func (w *World) after(d time.Duration, n *node, gen uint32, kind eventKind) {
	w.seq++
	w.events.push(event{at: w.now + w.scaled(d), seq: w.seq, n: n, gen: gen, kind: kind})
}

func (w *World) scaled(d time.Duration) int64 { return int64(float64(d) / w.opt.Speed) }

func (w *World) play(e event) {
	if e.kind == eventConductorUp {
		w.conductorUp(int(e.gen))
		return
	}
	if e.n.gone {
		return
	}
	if until := w.down[e.n.conductor].until; until != 0 && e.kind != eventShow && e.kind != eventVanish {
		// Nobody is there to notice: the event waits for the conductor.
		w.seq++
		w.events.push(event{at: until, seq: w.seq, n: e.n, gen: e.gen, kind: e.kind})
		return
	}
	switch e.kind {
	case eventStep:
		if e.gen == e.n.gen {
			w.endStep(e.n)
		}
	case eventTimeout:
		if e.gen == e.n.gen {
			w.timeout(e.n)
		}
	case eventHeartbeat:
		if e.gen == e.n.beat {
			w.heartbeat(e.n)
		}
	case eventShow:
		w.show(e.n)
	case eventVanish:
		if e.n.work != nil {
			w.remove(e.n)
		}
	}
}

// find returns the node with that UUID or name, or nil.
func (w *World) find(ident string) *node {
	if n := w.byUUID[w.key(ident)]; n != nil {
		return n
	}
	return w.byName[w.key(ident)]
}

// key is what a name or UUID is found by.
func (w *World) key(ident string) string {
	if w.opt.FoldCase {
		return strings.ToLower(ident)
	}
	return ident
}

// change must be called before a node's face changes: lists that lag keep the
// old one for a while.
func (w *World) change(n *node) {
	if w.opt.ListLag.Max == 0 || n.shown != nil {
		return
	}
	if lag := n.draw.Span(w.opt.ListLag); lag > 0 {
		old := n.face
		n.shown = &old
		w.after(lag, n, 0, eventShow)
	}
}

func (w *World) show(n *node) {
	if n.shown != nil && n.shown.state != n.state {
		w.unindex(n, n.shown.state)
		w.index(n, n.state)
	}
	n.shown = nil
	w.rerank(n)
}

// setState is the only place where a node's state changes.
func (w *World) setState(n *node, s ironic.State) {
	w.change(n)
	old := n.state
	n.state = s
	n.provUpdated = w.written(w.stamp(n))
	n.updated = n.provUpdated
	_, n.locked = stuck[s]
	n.gen++
	w.boots.leave(n, w.now)
	w.counts[old]--
	w.counts[s]++
	if n.shown == nil && old != s {
		w.unindex(n, old)
		w.index(n, s)
	}
	w.rerank(n)
	w.truth.move(n, w.now, old.Busy(), s.Busy())
}

func (w *World) index(n *node, s ironic.State) {
	rows := w.byState[s]
	w.byState[s] = slices.Insert(rows, searchID(rows, n.id), n)
}

func (w *World) unindex(n *node, s ironic.State) {
	rows := w.byState[s]
	if i := searchID(rows, n.id); i < len(rows) && rows[i] == n {
		w.byState[s] = slices.Delete(rows, i, i+1)
	}
}

// searchID returns where the first row with at least that id is.
func searchID(rows []*node, id int64) int {
	i, _ := slices.BinarySearchFunc(rows, id, func(n *node, id int64) int {
		switch {
		case n.id < id:
			return -1
		case n.id > id:
			return 1
		}
		return 0
	})
	return i
}
