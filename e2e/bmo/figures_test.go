//go:build e2e

package bmo

import (
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// period is a phase as the figures need it.
type period struct {
	phase      phase
	limit      int
	begin, end time.Time
	left       map[string]bool // nodes by name that do not count as waiting: deleted ones
	asked      []ask           // the operator's first request for work for each node, by time
}

// ask is a request to start work on the node of a UUID.
type ask struct {
	at   time.Time
	uuid string
}

// figures are those of one phase, from Ironic's own database.
type figures struct {
	Peak     int
	Makespan time.Duration // from the begin until the last node was at its goal
	// Use is the part of the slots that was in use while some node waited for its first
	// work of the phase. What is above the limit does not count.
	Use float64
	// Held is the same with hosts that are between two works of the phase.
	Held float64
	// Idle are the times for which slots that became free stayed so while nodes waited.
	Idle []time.Duration
	// Lull is the longest time without a start while a slot was free and a node waited.
	Lull time.Duration
	// Unheard is the same while the operator has asked for a node that waits: before, it was
	// busy with something else.
	Unheard time.Duration
	First   map[string]int // the first 20 starts by namespace
	Begun   int            // nodes that have begun their first work
	Starts  int            // works begun
	Busy    time.Duration  // of all nodes together
}

// firstStarts is how many starts show how fair the order is.
const firstStarts = 20

// node is one while the changes are gone through.
type node struct {
	state                          ironic.State
	waiting, begun, between, asked bool
}

// done is the state of a node at the end of a phase. The operator has a host inspected and
// calls it available while its node is manageable; cleaning comes before its first deploy.
var done = map[phase]ironic.State{inspect: ironic.Manageable, provision: ironic.Active, deprovision: ironic.Available}

// measure goes through the changes of a storm until the end of the period.
func measure(changes []realironic.Change, p period) figures {
	m := meter{period: p, nodes: map[string]*node{}, byUUID: map[string]*node{}, figures: figures{First: map[string]int{}}}
	for i, c := range changes {
		if c.At.After(p.end) {
			break
		}
		m.byUUID[c.UUID] = m.node(c.Name)
		if m.now.IsZero() && !c.At.Before(p.begin) {
			m.start()
		}
		if m.now.IsZero() {
			m.set(c)
			continue
		}
		m.hear(c.At)
		m.advance(c.At)
		m.change(c)
		// What one look has seen came about together: starts do not come before ends.
		if i+1 == len(changes) || changes[i+1].At.After(c.At) {
			m.settle()
		}
	}
	if m.now.IsZero() {
		m.start()
	}
	m.hear(p.end)
	m.advance(p.end)
	return m.figures
}

// meter is the state of measure.
type meter struct {
	period
	figures
	nodes  map[string]*node
	byUUID map[string]*node

	now                           time.Time
	busy, waiting, between, heard int           // heard: that wait, and for which the operator has asked
	wanted, used, held            time.Duration // slot time while somebody waits, and what of it is in use
	free                          []time.Time   // slots by when they became free; zero: before the begin
	lull, unheard                 time.Time     // since then no start, a free slot and somebody who waits, or is heard; zero: not so
	ended, starts                 int           // of the look that is gone through
}

func (m *meter) node(name string) *node {
	n := m.nodes[name]
	if n == nil {
		n = &node{}
		m.nodes[name] = n
	}
	return n
}

func (m *meter) set(c realironic.Change) { m.node(c.Name).state = ironic.State(c.State) }

// start is the begin of the phase: who is there wants something. Where hosts are yet to be
// registered, each does once it is.
func (m *meter) start() {
	m.now = m.begin
	for name, n := range m.nodes {
		if n.state.Busy() {
			m.busy++
			n.begun = true
		}
		m.wants(name, n)
	}
	m.Peak = m.busy
	m.settle()
}

func (m *meter) wants(name string, n *node) {
	ready := n.state == ironic.Manageable || m.phase == provision && n.state == ironic.Available || m.phase == deprovision && n.state == ironic.Active
	if ready && !n.begun && !n.waiting && !m.left[name] {
		m.wait(n, true)
	}
}

// wait notes that a node waits, or does so no more.
func (m *meter) wait(n *node, waits bool) {
	by := map[bool]int{true: 1, false: -1}[waits]
	n.waiting = waits
	m.waiting += by
	if n.asked {
		m.heard += by
	}
}

// hear takes what the operator has asked until then.
func (m *meter) hear(until time.Time) {
	for ; len(m.asked) > 0 && !m.asked[0].at.After(until); m.asked = m.asked[1:] {
		n := m.byUUID[m.asked[0].uuid]
		if n == nil || n.asked || m.asked[0].at.Before(m.now) {
			continue
		}
		m.advance(m.asked[0].at)
		n.asked = true
		if n.waiting {
			m.heard++
		}
		m.settle()
	}
}

// advance lets time pass in which nothing changes.
func (m *meter) advance(to time.Time) {
	d := to.Sub(m.now)
	if m.waiting > 0 {
		m.wanted += d * time.Duration(m.limit)
		m.used += d * time.Duration(min(m.busy, m.limit))
		m.held += d * time.Duration(min(m.busy+m.between, m.limit))
	}
	m.Busy += d * time.Duration(m.busy)
	m.now = to
	if !m.lull.IsZero() {
		m.Lull = max(m.Lull, to.Sub(m.lull))
	}
	if !m.unheard.IsZero() {
		m.Unheard = max(m.Unheard, to.Sub(m.unheard))
	}
	if m.wanted > 0 {
		m.Use, m.Held = float64(m.used)/float64(m.wanted), float64(m.held)/float64(m.wanted)
	}
}

func (m *meter) change(c realironic.Change) {
	n := m.node(c.Name)
	was := n.state
	n.state = ironic.State(c.State)
	switch {
	case !was.Busy() && n.state.Busy():
		m.busy++
		m.begins(c.Name, n)
	case was.Busy() && !n.state.Busy():
		m.busy--
		m.ended++
	}
	if n.waiting && c.State == "" {
		m.wait(n, false)
	}
	m.wants(c.Name, n)
	if between := n.begun && !n.state.Busy() && !n.state.Failed() && n.state != "" && n.state != done[m.phase]; between != n.between {
		n.between = between
		m.between += map[bool]int{true: 1, false: -1}[between]
	}
	if n.begun && n.state == done[m.phase] {
		m.Makespan = m.now.Sub(m.begin)
	}
}

func (m *meter) begins(name string, n *node) {
	m.Starts++
	m.starts++
	if n.begun {
		return
	}
	n.begun = true
	m.Begun++
	if m.Begun <= firstStarts {
		namespace, _, _ := strings.Cut(name, "~")
		m.First[namespace]++
	}
	if n.waiting {
		m.wait(n, false)
	}
}

// settle keeps the books of free slots at the end of each look.
func (m *meter) settle() {
	m.Peak = max(m.Peak, m.busy)
	free := max(0, m.limit-m.busy)
	if n := min(m.starts, len(m.free)); n > 0 {
		for _, since := range m.free[:n] {
			if !since.IsZero() && m.waiting+m.starts > 0 {
				m.Idle = append(m.Idle, m.now.Sub(since))
			}
		}
		m.free = slices.Delete(m.free, 0, n)
	} else if m.busy <= m.limit && m.waiting+m.starts > 0 { // freed and taken within one look
		m.Idle = append(m.Idle, make([]time.Duration, min(m.starts, m.ended))...)
	}
	for len(m.free) < free {
		since := m.now
		if m.ended == 0 {
			since = time.Time{}
		}
		m.free = append(m.free, since)
	}
	m.free = m.free[len(m.free)-free:]
	if m.waiting == 0 {
		// Nobody wants them: how long they stay free says nothing.
		clear(m.free)
	}
	m.since(&m.lull, free > 0 && m.waiting > 0)
	m.since(&m.unheard, free > 0 && m.heard > 0)
	m.ended, m.starts = 0, 0
}

// since keeps from when on something is so and nothing has started.
func (m *meter) since(at *time.Time, so bool) {
	switch {
	case !so:
		*at = time.Time{}
	case at.IsZero() || m.starts > 0:
		*at = m.now
	}
}

// quantile of durations; 0 of none.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
