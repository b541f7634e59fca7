package simulate

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/virtual"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// poller polls for one process of the throttle after the other.
type poller struct {
	s    *sim
	poll virtual.Poll
	life uint32 // of the process that polls
	draw draw.Stream
}

const (
	pollInterval = 5 * time.Second // POLL_INTERVAL
	pollJitter   = 0.1
)

// spanPoll is what one request of a poll takes, and pollPerNode each node in it more.
var spanPoll = draw.Span{Min: 5 * time.Millisecond, Max: 30 * time.Millisecond}

const pollPerNode = 100 * time.Microsecond

func newPoller(s *sim) *poller {
	p := &poller{s: s, draw: draw.NewStream(s.opt.Seed, 0)}
	p.start(nil)
	return p
}

// start begins to poll for a new process.
func (p *poller) start(v ironic.View) {
	now := func() time.Time { return p.s.clock }
	p.poll = virtual.Poll{
		World: p.s.world, View: v, Page: ironic.PageOfChanges, Now: now, Clock: now, Request: p.request, Observed: p.observed,
	}
	p.life++
	if v != nil {
		p.next(0, p.poll.Begin)
	}
}

// next lets the present process go on in d.
func (p *poller) next(d time.Duration, do func()) {
	life := p.life
	p.s.after(d, func() {
		if p.life == life {
			do()
		}
	})
}

// request takes the time of one request that shows so many nodes.
func (p *poller) request(s virtual.Stage, nodes int, then func()) {
	if s == virtual.Listed || s == virtual.Read {
		then()
		return
	}
	p.s.requests.all++
	p.next(p.draw.Tail(spanPoll)+pollPerNode*time.Duration(nodes), func() {
		if p.s.ironicDown > 0 {
			p.poll.Fail()
			p.pause(pollInterval)
			return
		}
		if s == virtual.FirstList || s == virtual.NextList {
			p.s.requests.lists++
		}
		then()
	})
}

func (p *poller) observed(ironic.Observation) {
	d := pollInterval
	if p.poll.View.Hurries(p.s.clock) { // somebody waits for a slot
		d /= 10
	}
	p.pause(d)
	p.s.meter.taken(p.s.rule.occupied(p.s.clock))
	p.s.meter.sizing.follow(p.s)
}

// pause is what follows a poll.
func (p *poller) pause(d time.Duration) {
	p.next(d+time.Duration((2*p.draw.Float()-1)*pollJitter*float64(d)), p.poll.Begin)
}
