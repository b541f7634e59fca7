package simulate

import (
	"errors"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// poller does in virtual time what pkg/ironic's Poller does: a mark, the nodes that changed last, where ironic.Resync says so
// the lists one after the other, and the nodes that the view wants fetched.
type poller struct {
	s        *sim
	view     ironic.View
	life     uint32 // of the process that polls
	draw     draw.Stream
	observed ironic.Observation
	at       map[string]int // index in observed.Nodes
	begun    time.Time      // this poll
	lists    int            // read so far
	page     string         // marker of the next page of the present list
	resync   ironic.Resync
	keys     []string    // still to be fetched
	mark     ironic.Mark // of the fetch on its way
	phase    pollPhase
	flow     []ironic.State // of this poll
	failed   bool           // the last one
}

type pollPhase uint8

const (
	pollBegin pollPhase = iota
	pollNewest
	pollLists
	pollFetch
)

const (
	pollInterval = 5 * time.Second // POLL_INTERVAL
	pollJitter   = 0.1
)

// spanPoll is what one request of a poll takes, and spanRow each node in it more.
var spanPoll = draw.Span{Min: 5 * time.Millisecond, Max: 30 * time.Millisecond}

const pollPerNode = 100 * time.Microsecond

var errAway = errors.New("ironic cannot be reached")

func newPoller(s *sim) *poller {
	return &poller{s: s, draw: draw.NewStream(s.opt.Seed, 0), at: map[string]int{}}
}

// start begins to poll for a new process.
func (p *poller) start(v ironic.View) {
	p.life++
	p.view, p.phase, p.failed, p.resync = v, pollBegin, false, ironic.Resync{}
	p.next(0)
}

func (p *poller) next(d time.Duration) {
	p.s.after(d, event{kind: evPoll, life: p.life})
}

// request takes the time of one request that shows so many nodes.
func (p *poller) request(nodes int) {
	p.s.requests.all++
	p.next(p.draw.Tail(spanPoll) + pollPerNode*time.Duration(nodes))
}

// step makes the next request of a poll, or ends it.
func (p *poller) step() {
	if p.s.ironicDown > 0 && p.phase != pollBegin {
		p.fail()
		return
	}
	switch p.phase {
	case pollBegin:
		p.begun = p.s.clock
		p.observed = ironic.Observation{
			Mark: p.view.Begin(p.begun), Nodes: p.observed.Nodes[:0], Fetched: p.observed.Fetched[:0],
		}
		clear(p.at)
		p.phase = pollNewest
		p.request(ironic.PageOfChanges)
	case pollNewest:
		p.newest()
	case pollLists:
		p.list()
	default:
		p.fetched()
	}
}

// newest reads the nodes that changed last.
func (p *poller) newest() {
	page, more, _ := p.s.world.List(p.s.clock, fakeironic.Query{SortKey: "provision_updated_at", Desc: true, Limit: ironic.PageOfChanges})
	p.show(page)
	listed, whole := p.resync.Due(p.begun, page, !more, p.view.Whole(p.begun))
	p.observed.Listed, p.observed.Whole = listed || !more, whole || !more
	if !listed {
		p.fetch()
		return
	}
	p.lists, p.page, p.phase, p.flow = 0, "", pollLists, ironic.PollOrder(false, whole)
	p.request(0)
}

// show takes nodes: the latest observation of each counts.
func (p *poller) show(nodes []ironic.Node) {
	for _, n := range nodes {
		if i, ok := p.at[n.UUID]; ok {
			p.observed.Nodes[i] = n
			continue
		}
		p.at[n.UUID] = len(p.observed.Nodes)
		p.observed.Nodes = append(p.observed.Nodes, n)
	}
}

func (p *poller) list() {
	state := p.flow[p.lists]
	nodes, more, _ := p.s.world.List(p.s.clock, fakeironic.Query{State: state, Marker: p.page})
	p.s.requests.lists++
	p.show(nodes)
	if more {
		p.page = nodes[len(nodes)-1].UUID
	} else {
		p.page = ""
		p.lists++
	}
	if p.lists < len(p.flow) {
		p.request(len(nodes))
		return
	}
	p.fetch()
}

// fetch asks the view which nodes are to be fetched, and sends the first fetch.
func (p *poller) fetch() {
	p.s.requests.all++
	p.phase, p.keys = pollFetch, p.view.Fetch(p.s.clock, &p.observed)
	p.nextFetch()
}

// nextFetch sends the next fetch, or ends the poll when none is left.
func (p *poller) nextFetch() {
	if len(p.keys) == 0 {
		p.observe()
		return
	}
	p.mark = p.view.Begin(p.s.clock)
	p.request(1)
}

// fetched reads the node that fetch asked for.
func (p *poller) fetched() {
	key := p.keys[0]
	p.keys = p.keys[1:]
	n, found := p.s.world.Node(p.s.clock, key)
	p.observed.Fetched = append(p.observed.Fetched, ironic.NodeObservation{Key: key, Mark: p.mark, Found: found, Node: n})
	p.nextFetch()
}

func (p *poller) observe() {
	p.view.Observe(p.s.clock, p.observed)
	p.failed = false
	p.pause()
	p.s.meter.taken(p.s.rule.occupied(p.s.clock))
	p.s.meter.sizing.follow(p.s)
}

func (p *poller) fail() {
	p.resync.Failed()
	p.view.PollFailed(p.s.clock, errAway)
	p.failed = true
	p.pause()
}

// pause is what follows a poll: the interval, and less while somebody waits for a slot.
func (p *poller) pause() {
	d := pollInterval
	if !p.failed && p.view.Hurries(p.s.clock) {
		d /= 10
	}
	d += time.Duration((2*p.draw.Float() - 1) * pollJitter * float64(d))
	p.phase = pollBegin
	p.next(d)
}
