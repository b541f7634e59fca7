// Package virtual is what the simulator and the soak share: how the throttle polls an Ironic in virtual time.
package virtual

import (
	"errors"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Stage is what a poll does next.
type Stage uint8

// The stages of a poll, in order.
const (
	Newest Stage = iota // the nodes that changed last are asked for
	List                // a page of those that are due
	Fetch               // one node is asked for alone
	Read                // everything is read, and observed next
)

// Poll does what ironic.Poller does, stage after stage: a mark, the nodes that changed last, where ironic.Resync says so the lists,
// and the nodes that the view wants fetched. One process has one, and one goroutine uses it.
type Poll struct {
	World *fakeironic.World
	View  ironic.View
	Page  int              // how many of the nodes that changed last
	Extra bool             // service and hold states are read too
	Now   func() time.Time // true time
	Clock func() time.Time // that of the process
	// Request lets the request of a stage take its time, and then calls then, or Fail. nodes is how many the answer
	// before had.
	Request func(s Stage, nodes int, then func())
	// Observed hears of a poll that was observed.
	Observed func(ironic.Observation)

	resync   ironic.Resync
	observed ironic.Observation
	at       map[string]int // index in observed.Nodes
	begun    time.Time
	lists    []ironic.State // still to be read
	marker   string         // of the next page of the first of them
	keys     []string       // still to be fetched
}

// Begin begins a poll.
func (p *Poll) Begin() {
	if p.at == nil {
		p.at = map[string]int{}
	}
	clear(p.at)
	p.begun = p.Clock()
	p.observed = ironic.Observation{Mark: p.View.Begin(p.begun), Nodes: p.observed.Nodes[:0], Fetched: p.observed.Fetched[:0]}
	p.Request(Newest, p.Page, p.newest)
}

// Fail ends a poll of which a request has failed.
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

// show takes nodes: the latest observation of each counts.
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

// list reads a page of a list.
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

// fetch asks the view which nodes are to be fetched.
func (p *Poll) fetch() {
	p.keys = p.View.Fetch(p.Clock(), &p.observed)
	p.next()
}

// next fetches the next node, or observes when none is left.
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
