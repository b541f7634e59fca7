// Package virtual polls an Ironic in virtual time, as the throttle does. The simulator and the soak share it.
package virtual

import (
	"errors"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Stage is a part of a poll.
type Stage uint8

// The stages of a poll, in order.
const (
	Newest Stage = iota // asks for the nodes that changed last
	List                // asks for a page of a list; a poll has none of these, or several
	Fetch               // asks for one node; a poll has none of these, or several
	Read                // has all answers, and observes them
)

// Poll does what ironic.Poller does, stage after stage: it asks for the nodes that changed last, for lists if
// ironic.Resync wants them, and for the nodes that the view wants. Each process of the throttle has a Poll. It is for
// one goroutine.
type Poll struct {
	World *fakeironic.World
	View  ironic.View
	Page  int              // how many nodes the stage Newest asks for
	Extra bool             // lists of the service and hold states too
	Now   func() time.Time // the time of the world
	Clock func() time.Time // the time of the process, whose clock may be wrong
	// Request lets the request of a stage take its time, and then calls then, or Fail. nodes is how many nodes the answer
	// may have; for a List, as many as the page before.
	Request func(s Stage, nodes int, then func())
	// Observed gets each observation after the view.
	Observed func(ironic.Observation)

	resync   ironic.Resync
	observed ironic.Observation
	at       map[string]int // index in observed.Nodes, by UUID
	begun    time.Time
	lists    []ironic.State // lists that the poll has not read yet
	marker   string         // of the next page of the first list
	keys     []string       // nodes that the poll has not fetched yet
}

// Begin starts a poll.
func (p *Poll) Begin() {
	if p.at == nil {
		p.at = map[string]int{}
	}
	clear(p.at)
	p.begun = p.Clock()
	nodes, fetched := p.observed.Nodes[:0], p.observed.Fetched[:0] // their memory serves again
	p.observed = ironic.Observation{Mark: p.View.Begin(p.begun), Nodes: nodes, Fetched: fetched}
	p.Request(Newest, p.Page, p.newest)
}

// Fail ends the poll because a request has failed.
func (p *Poll) Fail() {
	p.resync.Failed()
	p.View.PollFailed(p.Clock(), errAway)
}

var errAway = errors.New("ironic cannot be reached")

// newest reads the nodes that changed last.
func (p *Poll) newest() {
	page, more := p.World.List(p.Now(), fakeironic.Query{SortKey: "provision_updated_at", Desc: true, Limit: p.Page})
	p.show(page)
	listed, whole := p.resync.Due(p.begun, page, !more, p.View.Whole(p.begun))
	p.observed.Listed, p.observed.Whole = listed || !more, whole || !more
	if !listed {
		p.fetch()
		return
	}
	p.lists, p.marker = ironic.PollOrder(p.Extra, whole), ""
	p.Request(List, 0, p.list)
}

// show adds nodes to the observation. Of a node that came before, the later state counts.
func (p *Poll) show(nodes []ironic.Node) {
	for _, n := range nodes {
		if i, ok := p.at[n.UUID]; ok {
			p.observed.Nodes[i] = n
			continue
		}
		p.at[n.UUID] = len(p.observed.Nodes)
		p.observed.Nodes = append(p.observed.Nodes, n)
	}
}

// list reads the next page of the first list.
func (p *Poll) list() {
	nodes, more := p.World.List(p.Now(), fakeironic.Query{State: p.lists[0], Marker: p.marker})
	p.show(nodes)
	if p.marker = ""; more {
		p.marker = nodes[len(nodes)-1].UUID
	} else {
		p.lists = p.lists[1:]
	}
	if len(p.lists) > 0 {
		p.Request(List, len(nodes), p.list)
		return
	}
	p.fetch()
}

// fetch asks the view which nodes it wants.
func (p *Poll) fetch() {
	p.keys = p.View.Fetch(p.Clock(), &p.observed)
	p.next()
}

// next fetches the next node. After the last one it observes.
func (p *Poll) next() {
	if len(p.keys) == 0 {
		p.Request(Read, 0, func() {
			p.View.Observe(p.Clock(), p.observed)
			p.Observed(p.observed)
		})
		return
	}
	key, mark := p.keys[0], p.View.Begin(p.Clock())
	p.keys = p.keys[1:]
	p.Request(Fetch, 1, func() {
		n, found := p.World.Node(p.Now(), key)
		p.observed.Fetched = append(p.observed.Fetched, ironic.NodeObservation{Key: key, Mark: mark, Found: found, Node: n})
		p.next()
	})
}
