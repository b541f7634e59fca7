package admission

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var errAway = errors.New("ironic is away")

// put is Ironic's side of PUT states/provision: the state changes at once. by is the
// process whose yes it goes by, 0 where that does not matter.
func (w *world) put(m *machine, target ironic.Target, lawful bool, by int) int {
	if !m.exists || w.ending {
		return 404
	}
	if m.working {
		return 409
	}
	first, last, failed, ok := transition(m.state, target)
	if !ok {
		return 400
	}
	if first == "" {
		w.set(m, last)
		return 202
	}
	m.flow++
	w.set(m, first)
	m.working, m.lawful, m.agent, m.fresh, m.by = true, lawful, false, false, by
	m.erred, m.done = false, false
	if w.chance(.2) {
		m.agent = true // fast track
	}
	w.runs.Works++
	w.logf("host %d: %s accepted, %s (lawful %v)", m.n, target, first, lawful)
	w.law()
	if w.chance(.25) || w.style.brisk && w.chance(.25) {
		last = failed
	}
	if w.style.brisk && w.chance(.4) {
		w.after(w.between(0, 3*time.Second), func(flow int) func() { return func() { w.end(m, flow, last) } }(m.flow))
		return 202
	}
	w.steps(m, m.flow, target, last)
	return 202
}

// transition is the table of docs/dev/reference/ironic.md as far as these clients use it.
func transition(from ironic.State, target ironic.Target) (first, last, failed ironic.State, ok bool) {
	in := func(states ...ironic.State) bool {
		for _, s := range states {
			if s == from {
				return true
			}
		}
		return false
	}
	switch target {
	case ironic.TargetInspect:
		return ironic.Inspecting, ironic.Manageable, ironic.InspectFailed, in(ironic.Manageable, ironic.InspectFailed)
	case ironic.TargetProvide:
		return ironic.Cleaning, ironic.Available, ironic.CleanFailed, in(ironic.Manageable)
	case ironic.TargetClean:
		return ironic.Cleaning, ironic.Manageable, ironic.CleanFailed, in(ironic.Manageable)
	case ironic.TargetActive:
		return ironic.Deploying, ironic.Active, ironic.DeployFailed, in(ironic.Available, ironic.DeployFailed)
	case ironic.TargetDeleted:
		return ironic.Deleting, ironic.Available, ironic.Error, in(ironic.Active, ironic.Error, ironic.DeployFailed,
			ironic.Rescue, ironic.RescueFailed, ironic.UnrescueFailed, ironic.ServiceFailed)
	case ironic.TargetRescue:
		return ironic.Rescuing, ironic.Rescue, ironic.RescueFailed,
			in(ironic.Active, ironic.Rescue, ironic.RescueFailed, ironic.UnrescueFailed, ironic.ServiceFailed)
	case ironic.TargetUnrescue:
		return ironic.Unrescuing, ironic.Active, ironic.UnrescueFailed, in(ironic.Rescue, ironic.RescueFailed, ironic.UnrescueFailed)
	case ironic.TargetService:
		return ironic.Servicing, ironic.Active, ironic.ServiceFailed, in(ironic.Active, ironic.ServiceFailed)
	case ironic.TargetManage:
		return "", ironic.Manageable, "", in(ironic.Available, ironic.CleanFailed, ironic.InspectFailed)
	}
	return "", "", "", false
}

// steps plays the states of a piece of work: from some milliseconds to hours.
func (w *world) steps(m *machine, flow int, target ironic.Target, last ironic.State) {
	var states []ironic.State
	switch target {
	case ironic.TargetInspect:
		states = []ironic.State{ironic.InspectWait}
	case ironic.TargetProvide, ironic.TargetClean:
		states = []ironic.State{ironic.CleanWait, ironic.Cleaning, ironic.CleanWait}
	case ironic.TargetActive:
		states = []ironic.State{ironic.DeployWait, ironic.Deploying}
	case ironic.TargetDeleted:
		states = []ironic.State{ironic.Cleaning, ironic.CleanWait}
	case ironic.TargetRescue:
		states = []ironic.State{ironic.RescueWait, ironic.Rescuing}
	case ironic.TargetService:
		states = []ironic.State{ironic.ServiceWait, ironic.Servicing}
	}
	states = w.held(target, states)
	var d time.Duration
	quick := w.chance(.2)
	for _, s := range states {
		switch {
		case s.Extra() && s != ironic.ServiceWait && s != ironic.Servicing: // until somebody lets it go on
			d += w.between(time.Second, 20*time.Minute)
		case quick:
			d += w.between(0, 2*time.Second)
		default:
			d += w.between(time.Second, 4*time.Minute)
		}
		w.after(d, func() {
			if m.flow == flow {
				w.set(m, s)
				m.beat++
				m.agent = m.agent || w.rng.IntN(2) == 0
			}
		})
	}
	if w.style.stuck && w.chance(.2) {
		d += w.between(time.Hour, 4*time.Hour)
	}
	w.after(d+w.between(0, 30*time.Second), func() { w.end(m, flow, last) })
}

func (w *world) end(m *machine, flow int, last ironic.State) {
	if m.flow == flow && m.working {
		m.flow++
		w.set(m, last)
		m.working, m.lost, m.erred, m.done = false, false, last.Failed(), !last.Failed()
		if m.erred {
			w.failed(m)
		}
		w.logf("host %d: ends %s", m.n, last)
	}
}

// crash kills the conductor and starts it again. Of the nodes that it had the lock on some
// fail, and the others stay as they are without a lock, until somebody mends them.
func (w *world) crash() {
	for _, m := range w.hosts {
		failed := map[ironic.State]ironic.State{
			ironic.Inspecting: ironic.InspectFailed, ironic.Cleaning: ironic.CleanFailed, ironic.Deploying: ironic.DeployFailed,
			ironic.Deleting: ironic.Error, ironic.Rescuing: ironic.RescueFailed, ironic.Unrescuing: ironic.UnrescueFailed,
			ironic.Servicing: ironic.ServiceFailed,
		}[m.state]
		switch {
		case !m.working || m.lost || failed == "":
		case w.chance(.5):
			w.end(m, m.flow, failed)
		default:
			w.runs.Lost++
			m.lost = true
			m.flow++ // none of its steps comes any more
			w.logf("host %d: lost in %s", m.n, m.state)
			w.after(w.between(2*time.Minute, 3*time.Hour), func(flow int) func() { return func() { w.end(m, flow, failed) } }(m.flow))
		}
	}
}

// vanish takes the node out of Ironic.
func (w *world) vanish(m *machine) {
	w.leaves(m)
	m.exists, m.working, m.lost = false, false, false
	m.flow++
}

func (w *world) node(m *machine) ironic.Node {
	n := ironic.Node{UUID: m.uuid, Name: m.name, State: m.state, ProvisionUpdatedAt: m.stamp, AgentURL: m.agent && m.working, Unlocked: m.lost, ConductorGroup: m.group}
	if m.erred {
		n.LastError = "it failed"
	}
	if m.beat > 0 {
		n.AgentHeartbeat = string(rune('a' + m.beat%26))
	}
	return n
}

// poll is the Poller in slow motion: the world goes on between its requests.
func (w *world) poll(process int) {
	if w.process != process {
		return
	}
	p := &lookout{w: w, process: process, seen: map[string]ironic.Node{}}
	p.observed.Mark = w.c.Begin(w.clock())
	p.begun = w.clock()
	p.observed.Whole = w.c.Whole(p.begun)
	p.flow = ironic.PollOrder(w.cfg.Slots.CountExtra, p.observed.Whole)
	age := p.begun.Sub(w.listed)
	if w.style.probing && !p.observed.Whole && !w.c.Waits(p.begun) && age >= 0 && age < 25*time.Second {
		p.step(p.probe)
	} else {
		p.list(0)
	}
	interval := 5 * time.Second
	if w.style.slowPolls {
		interval = w.between(time.Second, 25*time.Second)
	}
	w.after(interval, func() { w.pollWhenFree(process, p) })
}

func (w *world) pollWhenFree(process int, p *lookout) {
	if w.process == process && !p.over {
		w.after(time.Second, func() { w.pollWhenFree(process, p) })
		return
	}
	w.poll(process)
}

type lookout struct {
	w        *world
	flow     []ironic.State
	process  int
	observed ironic.Observation
	order    []string
	seen     map[string]ironic.Node
	over     bool
	begun    time.Time
	stamps   map[string]string // what the probe showed, nil: none was sent
}

// probe asks what has changed since the lists, as the Poller does: what is deleted leaves
// no trace.
func (p *lookout) probe() {
	w := p.w
	p.stamps = map[string]string{}
	moved := w.stamps == nil
	for _, m := range w.hosts {
		if m.exists {
			stamp := fmt.Sprint(m.state, m.flow, m.beat, m.stamp)
			moved = moved || w.stamps[m.uuid] != stamp
			p.stamps[m.uuid] = stamp
		}
	}
	if moved {
		p.list(0)
		return
	}
	w.runs.Unmoved++
	p.observed.Unchanged = true
	p.wanted()
}

// step runs f after a request's time, unless the request fails.
func (p *lookout) step(f func()) {
	w := p.w
	d := w.between(0, 100*time.Millisecond)
	if w.style.slowPolls && w.chance(.1) {
		d = w.between(0, 8*time.Second)
	}
	w.after(d, func() {
		if w.process != p.process {
			p.over = true
			return
		}
		if w.now.Before(w.outage) || w.style.outages && w.chance(.005) {
			p.over = true
			w.c.PollFailed(w.clock(), errAway)
			return
		}
		f()
	})
}

func (p *lookout) list(i int) {
	w := p.w
	if i == len(p.flow) {
		nodes := make([]ironic.Node, 0, len(p.order))
		for _, uuid := range p.order {
			nodes = append(nodes, p.seen[uuid])
		}
		p.observed.Nodes = nodes
		p.fetch(w.c.Missing(w.clock(), nodes), p.wanted)
		return
	}
	p.step(func() {
		for _, m := range w.hosts {
			if m.exists && m.state == p.flow[i] {
				if _, ok := p.seen[m.uuid]; !ok {
					p.order = append(p.order, m.uuid)
				}
				p.seen[m.uuid] = w.node(m)
			}
		}
		p.list(i + 1)
	})
}

func (p *lookout) fetch(keys []string, then func()) {
	if len(keys) == 0 {
		then()
		return
	}
	w := p.w
	sight := ironic.NodeObservation{Key: keys[0], Mark: w.c.Begin(w.clock())}
	p.step(func() {
		read := w.read(keys[0])
		sight.Found, sight.Node = read.Found, read.Node
		p.observed.Fetched = append(p.observed.Fetched, sight)
		p.fetch(keys[1:], then)
	})
}

func (p *lookout) wanted() {
	keys := slices.DeleteFunc(p.w.c.Wanted(p.w.clock()), func(key string) bool {
		return slices.ContainsFunc(p.observed.Nodes, func(n ironic.Node) bool { return n.UUID == key || n.Name == key })
	})
	p.fetch(keys, p.observe)
}

func (p *lookout) observe() {
	p.step(func() {
		p.over = true
		if !p.observed.Unchanged {
			p.w.listed = p.begun
			if p.stamps != nil {
				p.w.stamps = p.stamps
			}
		}
		p.w.shows(func(c *Controller, now time.Time) {
			c.ledger.Observe(now, p.observed)
		}, sights(p.observed))
		if err := p.w.c.linesAgree(); err != nil && p.w.broken == "" {
			p.w.broken = err.Error()
		}
		p.w.show(p.observed.Mark.At)
		p.w.law()
	})
}

// read is GET /v1/nodes/<key>.
func (w *world) read(key string) ironic.NodeObservation {
	for _, m := range w.hosts {
		if m.exists && (m.uuid == key || m.name == key) {
			return ironic.NodeObservation{Found: true, Node: w.node(m)}
		}
	}
	return ironic.NodeObservation{}
}
